/* Results become recipes: what the compiled call pushes after its graph ran.
 *
 * Invariants:
 *  1. A tensor that several results share is one output of the graph.
 *  2. An object from outside is read again from its source, whose type is guarded (so that the source still leads to it).
 *  3. A table that the traced code made is rebuilt, and so may occur once. */
#include <string.h>

#include "capture/trace.h"

static tc_status make_recipe(struct tc_trace *t, struct tc_tracked value, int depth, struct tc_recipe *out);

static tc_status recipe_of_outside(struct tc_trace *t, const struct tc_tracked *value, struct tc_recipe *out) {
  tc_use_type(t, value);
  out->kind = TC_RECIPE_SOURCE;
  out->source = tc_is_scalar(value) ? value->source : value->origin->source;
  return TC_OK;
}

static tc_status recipe_of_text(struct tc_trace *t, const struct tc_text *text, struct tc_recipe *out) {
  char *bytes = tc_arena_bytes(t->out->recipes, text->length + 1);
  if (!bytes) return tc_trace_nomem(t);
  memcpy(bytes, text->bytes, text->length + 1);
  out->kind = TC_RECIPE_TEXT;
  out->text.bytes = bytes;
  out->text.length = text->length;
  return TC_OK;
}

static tc_status recipe_of_tensor(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_recipe *out) {
  struct tc_graph *graph = t->out->graph;
  if (!tensor->in_results) {
    if (!tc_graph_output(graph, tensor->node)) return tc_trace_nomem(t);
    tensor->in_results = true;
    tensor->output = (int)graph->outputs.len - 1;
  }
  out->kind = TC_RECIPE_OUTPUT;
  out->output = tensor->output;
  return TC_OK;
}

static tc_status recipe_of_table(struct tc_trace *t, struct tc_traced_table *table, int depth, struct tc_recipe *out) {
  if (depth > TC_MAX_RESULT_DEPTH || table->in_results) return tc_trace_break(t, TC_BREAK_RESULTS, "a new table that is returned twice, or contains itself");
  table->in_results = true;
  out->kind = TC_RECIPE_TABLE;
  out->table.metatable_source = TC_NO_SOURCE;
  if (table->metatable) {
    if (!table->metatable->origin.object) return tc_trace_break(t, TC_BREAK_RESULTS, "a table whose metatable is new too");
    const struct tc_tracked metatable = tc_tracked_table(table->metatable);
    tc_pin(t, &metatable);
    out->table.metatable_source = table->metatable->origin.source;
  }
  const struct tc_alloc *alloc = tc_arena_alloc(t->out->recipes);
  out->table.keys = TC_NEW_ARRAY(alloc, struct tc_recipe, table->entries.len + 1);
  out->table.values = TC_NEW_ARRAY(alloc, struct tc_recipe, table->entries.len + 1);
  out->table.count = 0;
  out->table.array_hint = table->array_hint;
  out->table.hash_hint = table->hash_hint;
  if (!out->table.keys || !out->table.values) return tc_trace_nomem(t);
  for (size_t i = 0; i < table->entries.len; i++) {
    const struct tc_table_entry *entry = &table->entries.data[i];
    const int at = out->table.count++;
    tc_status status = make_recipe(t, entry->key, depth + 1, &out->table.keys[at]);
    if (!status) status = make_recipe(t, entry->value, depth + 1, &out->table.values[at]);
    if (status) return status;
  }
  return TC_OK;
}

static tc_status make_recipe(struct tc_trace *t, struct tc_tracked value, int depth, struct tc_recipe *out) {
  if (tc_is_scalar(&value) ? value.source != TC_NO_SOURCE : value.origin->object != 0) return recipe_of_outside(t, &value, out);
  switch (value.kind) {
    case TC_IS_NIL: out->kind = TC_RECIPE_NIL; return TC_OK;
    case TC_IS_BOOL:
      out->kind = TC_RECIPE_BOOL;
      out->boolean = value.boolean;
      return TC_OK;
    case TC_IS_INT:
      out->kind = TC_RECIPE_INT;
      out->integer = value.integer;
      return TC_OK;
    case TC_IS_NUM:
      out->kind = TC_RECIPE_NUM;
      out->number = value.number;
      return TC_OK;
    case TC_IS_TEXT: return recipe_of_text(t, value.text, out);
    case TC_IS_TENSOR: return recipe_of_tensor(t, value.tensor, out);
    case TC_IS_TABLE: return recipe_of_table(t, value.table, depth, out);
    default: return tc_trace_break(t, TC_BREAK_RESULTS, "a function made in the captured code is returned");
  }
}

tc_status tc_make_results(struct tc_trace *t, size_t at, int count) {
  struct tc_capture *out = t->out;
  out->results = TC_NEW_ARRAY(tc_arena_alloc(out->recipes), struct tc_recipe, (size_t)count + 1);
  if (!out->results) return tc_trace_nomem(t);
  out->n_results = count;
  for (int i = 0; i < count; i++) {
    const tc_status status = make_recipe(t, t->slots[at + (size_t)i], 0, &out->results[i]);
    if (status) return status;
  }
  return TC_OK;
}

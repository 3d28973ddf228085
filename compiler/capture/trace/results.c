/* Results and effects become a replay: what the compiled call does after its graph ran.
 *
 * Invariants:
 *  1. A value is made once: a tensor that several places share is one output of the graph, an object one
 *     object of the replay. So tables may hold one another and themselves.
 *  2. What is from outside is read again from its source, whose type is guarded (so that the source still
 *     leads to it), before anything is written.
 *  3. A new closure's variable is its own where no closure before it has it; the others join it there.
 *  4. Metatables come before fields: at the call of setmetatable they had no __gc, and may have got one
 *     since. */
#include <lauxlib.h>
#include <string.h>

#include "capture/trace/library_seam.h"
#include "capture/trace/results.h"
#include "capture/trace/trace.h"

enum { MOST_PARTS = 1 << 16 }; /* objects and writes of a replay: they lie on Lua's stack */

/* A method of tensors: the function that any tensor from outside has under the name. */
static tc_status recipe_of_native(struct tc_trace *t, const struct tc_traced_native *native,
                                  struct tc_recipe *out) {
  lua_State *L = t->L;
  const char *name = native->function ? native->function->name : native->name;
  int object = 0, type = LUA_TNIL;
  for (size_t i = 0; i < t->records.len && !object; i++)
    if (t->records.data[i].kind == TC_IS_TENSOR) object = t->records.data[i].origin->object;
  if (object) {
    lua_rawgeti(L, t->objects, object);
    if (luaL_getmetafield(L, -1, "__index") != LUA_TNIL) {
      lua_pop(L, 1);
      type = lua_getfield(L, -1, name);
      lua_remove(L, -2);
    }
  }
  if (type != LUA_TFUNCTION)
    return tc_trace_break(t, TC_BREAK_RESULTS, "the function %s is returned or stored", name);
  out->kind = TC_RECIPE_SOURCE;
  out->source = tc_guards_object(t->guards, L, lua_gettop(L), TC_NO_SOURCE);
  lua_pop(L, 1);
  return TC_OK;
}

/* --- objects --- */

static tc_status add_object(struct tc_trace *t, const struct tc_tracked *value,
                            const struct tc_object *object, int *number) {
  struct tc_replay *replay = t->out->replay;
  if (replay->objects.len >= MOST_PARTS)
    return tc_trace_break(t, TC_BREAK_RESULTS, "more than %d new objects", (int)MOST_PARTS);
  const bool added = tc_vec_push(tc_arena_alloc(t->out->recipes), &replay->objects, *object) &&
                     tc_vec_push(tc_arena_alloc(t->arena), &t->made, *value);
  *number = (int)replay->objects.len;
  return added ? TC_OK : tc_trace_nomem(t);
}

static tc_status add_table(struct tc_trace *t, struct tc_traced_table *table) {
  const struct tc_object object = {.kind = TC_OBJECT_TABLE,
                                   .array_hint = table->array_hint,
                                   .hash_hint = table->hash_hint,
                                   .source = TC_NO_SOURCE};
  const struct tc_tracked value = tc_tracked_table(table);
  return add_object(t, &value, &object, &table->number);
}

/* Where the upvalue `place` of the new closure `number` comes from; false: it is a variable of its own. */
static bool find_join(struct tc_cell *cell, int number, int place, struct tc_join *join) {
  *join = (struct tc_join){.upvalue = place, .source = TC_NO_SOURCE};
  if (cell->state == TC_CELL_EXTERNAL) {
    join->source = cell->owner->origin.source;
    join->number = cell->number;
  } else if (cell->holder) {
    join->object = cell->holder - 1;
    join->number = cell->place;
  } else {
    cell->holder = number;
    cell->place = place;
    return false;
  }
  return true;
}

static tc_status add_closure(struct tc_trace *t, struct tc_traced_closure *closure) {
  const int count = closure->proto->n_upvalues;
  const struct tc_tracked value = tc_tracked_closure(closure);
  struct tc_object object = {.kind = TC_OBJECT_CLOSURE};
  tc_status status = tc_closure_factory(t, closure->proto, &object.source);
  if (status) return status;
  object.joins = TC_NEW_ARRAY(tc_arena_alloc(t->out->recipes), struct tc_join, (size_t)count + 1);
  if (!object.joins) return tc_trace_nomem(t);
  const int number = (int)t->out->replay->objects.len + 1;
  for (int i = 0; i < count; i++)
    if (find_join(closure->cells[i], number, i + 1, &object.joins[object.n_joins])) object.n_joins++;
  return add_object(t, &value, &object, &closure->number);
}

static tc_status add_iterator(struct tc_trace *t, struct tc_traced_native *native) {
  const struct tc_object object = {.kind = TC_OBJECT_CLOSURE, .source = tc_iterator_factory(t, native)};
  const struct tc_tracked value = tc_tracked_native(native);
  return add_object(t, &value, &object, &native->number);
}

tc_status tc_make_target(struct tc_trace *t, const struct tc_tracked *value, int *number) {
  if (*number) return TC_OK;
  tc_use_type(t, value);
  return add_object(t, value,
                    &(struct tc_object){.kind = TC_OBJECT_EXTERNAL, .source = value->origin->source}, number);
}

static tc_status recipe_of_object(tc_status status, const int *number, struct tc_recipe *out) {
  out->kind = TC_RECIPE_OBJECT;
  out->object = *number - 1;
  return status;
}

tc_status tc_make_recipe(struct tc_trace *t, struct tc_tracked value, struct tc_recipe *out) {
  if (tc_is_scalar(&value) ? value.source != TC_NO_SOURCE : value.origin->object != 0) {
    tc_use_type(t, &value);
    out->kind = TC_RECIPE_SOURCE;
    out->source = tc_is_scalar(&value) ? value.source : value.origin->source;
    return TC_OK;
  }
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
    case TC_IS_TEXT: {
      char *bytes = tc_arena_bytes(t->out->recipes, value.text->length + 1);
      if (!bytes) return tc_trace_nomem(t);
      memcpy(bytes, value.text->bytes, value.text->length + 1);
      out->kind = TC_RECIPE_TEXT;
      out->text.bytes = bytes;
      out->text.length = value.text->length;
      return TC_OK;
    }
    case TC_IS_TENSOR: {
      struct tc_graph *graph = t->out->graph;
      if (!value.tensor->in_results) {
        if (!tc_graph_output(graph, value.tensor->node)) return tc_trace_nomem(t);
        value.tensor->in_results = true;
        value.tensor->output = (int)graph->outputs.len - 1;
      }
      out->kind = TC_RECIPE_OUTPUT;
      out->output = value.tensor->output;
      return TC_OK;
    }
    case TC_IS_TABLE:
      return recipe_of_object(value.table->number ? TC_OK : add_table(t, value.table), &value.table->number,
                              out);
    case TC_IS_CLOSURE:
      return recipe_of_object(value.closure->number ? TC_OK : add_closure(t, value.closure),
                              &value.closure->number, out);
    default:
      if (!value.native->iterator) return recipe_of_native(t, value.native, out);
      return recipe_of_object(value.native->number ? TC_OK : add_iterator(t, value.native),
                              &value.native->number, out);
  }
}

/* --- writes --- */

tc_status tc_add_write(struct tc_trace *t, const struct tc_write *write, bool is_effect) {
  struct tc_replay *replay = t->out->replay;
  const struct tc_alloc *alloc = tc_arena_alloc(t->out->recipes);
  if (replay->effects.len >= MOST_PARTS)
    return tc_trace_break(t, TC_BREAK_SIDE_EFFECT, "more than %d writes", (int)MOST_PARTS);
  const bool added =
      is_effect ? tc_vec_push(alloc, &replay->effects, *write) : tc_vec_push(alloc, &replay->own, *write);
  return added ? TC_OK : tc_trace_nomem(t);
}

tc_status tc_make_metatable(struct tc_trace *t, const struct tc_traced_table *table, bool is_effect) {
  struct tc_write write = {.kind = TC_WRITE_METATABLE, .object = table->number - 1};
  const struct tc_tracked value = table->metatable ? tc_tracked_table(table->metatable) : tc_nil();
  if (!table->metatable && !is_effect) return TC_OK;
  const tc_status status = tc_make_recipe(t, value, &write.value);
  return status ? status : tc_add_write(t, &write, is_effect);
}

tc_status tc_make_fields(struct tc_trace *t, const struct tc_traced_table *table, bool is_effect) {
  for (size_t i = 0; i < table->steps.len; i++) {
    const struct tc_table_step step = table->steps.data[i];
    const struct tc_table_entry *entry = &table->entries.data[step.entry];
    struct tc_write write = {.kind = TC_WRITE_FIELD, .object = table->number - 1};
    struct tc_tracked value = tc_nil();
    if (step.present)
      value = entry->value.kind == TC_IS_NIL ? tc_bool(true)
                                             : entry->value; /* what goes again only holds its place */
    tc_status status = tc_make_recipe(t, entry->key, &write.key);
    if (!status) status = tc_make_recipe(t, value, &write.value);
    if (!status) status = tc_add_write(t, &write, is_effect);
    if (status) return status;
  }
  return TC_OK;
}

/* The values of the variables that the closure is the first to have. */
static tc_status make_variables(struct tc_trace *t, const struct tc_traced_closure *closure) {
  for (int i = 0; i < closure->proto->n_upvalues; i++) {
    const struct tc_cell *cell = closure->cells[i];
    struct tc_write write = {.kind = TC_WRITE_UPVALUE, .object = closure->number - 1, .upvalue = i + 1};
    if (cell->state == TC_CELL_EXTERNAL || cell->holder != closure->number || cell->place != i + 1) continue;
    tc_status status =
        tc_make_recipe(t, cell->state == TC_CELL_OPEN ? t->slots[cell->slot] : cell->value, &write.value);
    if (!status) status = tc_add_write(t, &write, false);
    if (status) return status;
  }
  return TC_OK;
}

/* The parts of the new objects, which may bring further ones. */
static tc_status make_parts(struct tc_trace *t) {
  tc_status status = TC_OK;
  for (size_t i = 0; i < t->made.len && !status; i++) {
    const struct tc_tracked value = t->made.data[i];
    if (tc_is_external(&value)) continue;
    if (value.kind == TC_IS_TABLE) {
      status = tc_make_metatable(t, value.table, false);
      if (!status) status = tc_make_fields(t, value.table, false);
    } else if (value.kind == TC_IS_CLOSURE) {
      status = make_variables(t, value.closure);
    }
  }
  return status;
}

tc_status tc_make_results(struct tc_trace *t, size_t at, int count) {
  struct tc_capture *out = t->out;
  const struct tc_alloc *alloc = tc_arena_alloc(out->recipes);
  out->replay = tc_new_zeroed(alloc, 1, sizeof *out->replay);
  if (!out->replay || !(out->replay->results = TC_NEW_ARRAY(alloc, struct tc_recipe, (size_t)count + 1)))
    return tc_trace_nomem(t);
  out->replay->n_results = count;
  for (int i = 0; i < count; i++) {
    const tc_status status = tc_make_recipe(t, t->slots[at + (size_t)i], &out->replay->results[i]);
    if (status) return status;
  }
  const tc_status status = tc_make_effects(t);
  return status ? status : make_parts(t);
}

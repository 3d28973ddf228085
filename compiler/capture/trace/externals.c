/* What comes from outside of the traced code: its objects, one record each, and the guards that reading them
 * needs.
 *
 * Invariants:
 *  1. An object has one record. When it is reached by a second source, a guard ties that source to the first
 *     one at once; so all facts may be put on the record's own source.
 *  2. Upvalues are read from functions alone that are pinned, or whose code is guarded: closures that the
 *     program makes anew, as far as an earlier recompile has shown it. What is read from those is guarded as
 *     it is used, call by call; and so is which of their upvalues are one variable.
 *  3. A tensor gets its TENSOR guard when it becomes a graph input or its shape is looked at, not before. */
#include "capture/trace/externals.h"
#include "base/hash.h"
#include "capture/trace/lazy.h"
#include "capture/trace/library_seam.h"
#include "capture/trace/shapes.h"
#include "capture/trace/trace.h"

/* `type`: LUA_T…, since a light userdata may hold the address of another object; LUA_TNONE for natives of the
 * tracer. */
static uint64_t hash_identity(const void *pointer, int type) {
  return tc_hash_u64((uint64_t)(unsigned)type, (uint64_t)(uintptr_t)pointer);
}

static struct tc_tracked *find_record(struct tc_trace *t, const void *pointer, int type) {
  const uint64_t hash = hash_identity(pointer, type);
  size_t at = tc_hash_index_first(&t->by_pointer, hash);
  for (int i; (i = tc_hash_index_next(&t->by_pointer, hash, &at)) >= 0;)
    if (t->identities.data[i].pointer == pointer && t->identities.data[i].type == type)
      return &t->records.data[i];
  return NULL;
}

static tc_status keep_record(struct tc_trace *t, const void *pointer, int type,
                             const struct tc_tracked *record) {
  const struct tc_alloc *alloc = tc_arena_alloc(t->arena);
  const struct tc_identity identity = {pointer, type};
  const int item = (int)t->records.len;
  const bool kept = tc_vec_push(alloc, &t->records, *record) &&
                    tc_vec_push(alloc, &t->identities, identity) &&
                    tc_hash_index_add(alloc, &t->by_pointer, hash_identity(pointer, type), item);
  return kept ? TC_OK : tc_trace_nomem(t);
}

static void *new_record(struct tc_trace *t, size_t bytes) {
  return tc_new_zeroed(tc_arena_alloc(t->arena), 1, bytes);
}

/* A record for the object at the stack top, without an origin. */
static tc_status make_record(struct tc_trace *t, struct tc_tracked *out) {
  lua_State *L = t->L;
  const int top = lua_gettop(L);
  *out = tc_nil();
  if (lua_istable(L, top)) {
    *out = tc_tracked_table(new_record(t, sizeof *out->table));
  } else if (lua_iscfunction(L, top)) {
    *out = tc_tracked_native(new_record(t, sizeof *out->native));
    if (!out->native) return tc_trace_nomem(t);
    out->native->function = t->host->function_at(L, top);
    if (!out->native->function) out->native->library = tc_library_find(t, top, &out->native->name);
  } else if (lua_isfunction(L, top)) {
    *out = tc_tracked_closure(new_record(t, sizeof *out->closure));
  } else {
    const struct tc_tensor *tensor = t->host->tensor_at(L, top);
    *out = tc_tracked_tensor(new_record(t, tensor ? sizeof *out->tensor : sizeof *out->origin));
    if (!tensor)
      out->kind = TC_IS_OPAQUE;
    else if (out->tensor)
      out->tensor->external = tensor;
  }
  return out->origin ? TC_OK : tc_trace_nomem(t);
}

static tc_status import_new(struct tc_trace *t, int source, struct tc_tracked *out) {
  const void *pointer = lua_topointer(t->L, -1);
  tc_status status = make_record(t, out);
  if (!status) status = keep_record(t, pointer, lua_type(t->L, -1), out);
  if (status) return status;
  out->origin->source = source;
  out->origin->object = ++t->n_objects;
  lua_rawseti(t->L, t->objects, t->n_objects);
  return TC_OK;
}

tc_status tc_import(struct tc_trace *t, int source, struct tc_tracked *out) {
  bool is_scalar;
  const tc_status status = tc_pop_scalar(t, &is_scalar, out);
  if (status) return status;
  if (is_scalar) {
    out->source = source;
    tc_lazy_import(t, out);
    return TC_OK;
  }
  const struct tc_tracked *known = find_record(t, lua_topointer(t->L, -1), lua_type(t->L, -1));
  if (!known) return import_new(t, source, out);
  const struct tc_origin *origin = known->origin;
  if (origin->source != source) {
    if (origin->pinned)
      tc_guards_identity(t->guards, t->L, source, lua_gettop(t->L));
    else
      tc_guards_same(t->guards, source, origin->source);
  }
  lua_pop(t->L, 1);
  *out = *known;
  return TC_OK;
}

tc_status tc_import_pinned(struct tc_trace *t, int origin, struct tc_tracked *out) {
  const struct tc_tracked *known = find_record(t, lua_topointer(t->L, -1), lua_type(t->L, -1));
  if (known) {
    *out = *known;
    lua_pop(t->L, 1);
    tc_pin(t, out);
    return TC_OK;
  }
  const int source = tc_guards_object(t->guards, t->L, lua_gettop(t->L), origin);
  const tc_status status = import_new(t, source, out);
  if (!status) out->origin->pinned = true;
  return status;
}

void tc_pin(struct tc_trace *t, const struct tc_tracked *v) {
  struct tc_origin *origin = v->origin;
  if (!origin->object || origin->pinned) return;
  lua_rawgeti(t->L, t->objects, origin->object);
  const int top = lua_gettop(t->L);
  tc_guards_identity(t->guards, t->L, origin->source, top);
  origin->source = tc_guards_object(t->guards, t->L, top, origin->source);
  origin->pinned = true;
  lua_pop(t->L, 1);
}

static bool are_pinned(const struct tc_traced_closure *a, const struct tc_traced_closure *b) {
  return a->origin.pinned && b->origin.pinned;
}

/* The upvalue is the cell's variable: pinned closures that share one always do (but for
 * debug.upvaluejoin). */
static void tie(struct tc_trace *t, const struct tc_cell *cell, const struct tc_traced_closure *closure,
                int number) {
  if (are_pinned(cell->owner, closure)) return;
  tc_guards_one_variable(t->guards, cell->owner->origin.source, cell->number, closure->origin.source, number);
}

void tc_guard_other_variable(struct tc_trace *t, const struct tc_cell *a, const struct tc_cell *b) {
  if (!are_pinned(a->owner, b->owner))
    tc_guards_two_variables(t->guards, a->owner->origin.source, a->number, b->owner->origin.source,
                            b->number);
}

/* The cell of an upvalue of the closure at the stack top. Closures that share the variable share the cell. */
static tc_status external_cell(struct tc_trace *t, struct tc_traced_closure *closure, int number,
                               struct tc_cell **out) {
  const struct tc_alloc *alloc = tc_arena_alloc(t->arena);
  const void *variable = lua_upvalueid(t->L, -1, number);
  const uint64_t hash = tc_hash_u64(0, (uint64_t)(uintptr_t)variable);
  size_t at = tc_hash_index_first(&t->by_variable, hash);
  for (int i; (i = tc_hash_index_next(&t->by_variable, hash, &at)) >= 0;) {
    *out = t->cells.data[i];
    if ((*out)->variable != variable) continue;
    tie(t, *out, closure, number);
    return TC_OK;
  }
  struct tc_cell *cell = TC_NEW(alloc, struct tc_cell);
  if (!cell) return tc_trace_nomem(t);
  *cell =
      (struct tc_cell){.state = TC_CELL_EXTERNAL, .number = number, .variable = variable, .owner = closure};
  *out = cell;
  const int item = (int)t->cells.len;
  return tc_vec_push(alloc, &t->cells, cell) && tc_hash_index_add(alloc, &t->by_variable, hash, item)
             ? TC_OK
             : tc_trace_nomem(t);
}

static tc_status make_external_cells(struct tc_trace *t, struct tc_traced_closure *closure) {
  const int count = closure->proto->n_upvalues;
  tc_status status = TC_OK;
  closure->cells = tc_new_zeroed(tc_arena_alloc(t->arena), (size_t)count + 1, sizeof(struct tc_cell *));
  if (!closure->cells) return tc_trace_nomem(t);
  for (int i = 0; i < count && !status; i++) status = external_cell(t, closure, i + 1, &closure->cells[i]);
  return status;
}

/* Was there another closure of the code in its place, or is it an upvalue of one of which there was? */
static bool is_made_anew(const struct tc_trace *t, const struct tc_traced_closure *closure) {
  const int source = closure->origin.source;
  const struct tc_capture_options *options = t->options;
  if (!closure->origin.object || closure->origin.pinned) return false;
  if (tc_guards_is_by_code(t->guards, source) || tc_guards_in_code(t->guards, source)) return true;
  const uint64_t path = options->n_changed ? tc_guards_path(t->guards, source) : 0;
  for (int i = 0; i < options->n_changed; i++)
    if (options->changed[i].is_code && options->changed[i].path == path) return true;
  return false;
}

tc_status tc_closure_prepare(struct tc_trace *t, struct tc_traced_closure *closure) {
  const struct tc_tracked value = tc_tracked_closure(closure);
  const bool by_code = is_made_anew(t, closure);
  if (!by_code) tc_pin(t, &value);
  if (closure->proto) return TC_OK;
  tc_push(t, &value);
  if (by_code) tc_guards_code(t->guards, t->L, closure->origin.source, lua_gettop(t->L));
  tc_status status = tc_bytecode_of_function(t->arena, t->L, &closure->proto, t->err);
  if (!status) status = make_external_cells(t, closure);
  lua_pop(t->L, 1);
  return status;
}

tc_status tc_cell_get(struct tc_trace *t, struct tc_cell *cell, struct tc_tracked *out) {
  if (cell->state == TC_CELL_EXTERNAL && !cell->is_read) {
    const struct tc_tracked owner = tc_tracked_closure(cell->owner);
    tc_push(t, &owner);
    if (!lua_getupvalue(t->L, -1, cell->number)) lua_pushnil(t->L);
    lua_remove(t->L, -2);
    const char *name = cell->owner->proto->upvalues[cell->number - 1].name;
    const int source = tc_guards_upvalue(t->guards, cell->owner->origin.source, cell->number, name);
    const tc_status status = tc_import(t, source, &cell->value);
    if (status) return status;
    cell->is_read = true;
  }
  *out = cell->state == TC_CELL_OPEN ? t->slots[cell->slot] : cell->value;
  return TC_OK;
}

tc_status tc_cell_set(struct tc_trace *t, struct tc_cell *cell, const struct tc_tracked *value) {
  if (cell->state == TC_CELL_OPEN) {
    t->slots[cell->slot] = *value;
    return TC_OK;
  }
  cell->value = *value;
  cell->is_read = cell->is_written = true; /* external: it is written after the graph ran */
  return TC_OK;
}

tc_status tc_tensor_node(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_node **out) {
  if (!tensor->node) {
    const struct tc_traced_shape *shape;
    struct tc_meta meta;
    const tc_status status = tc_shape_of(t, tensor, &shape);
    if (status) return status;
    tc_meta_of_tensor(tensor->external, &meta);
    if (meta.device && t->ctx->device && meta.device != t->ctx->device)
      return tc_trace_break(t, TC_BREAK_UNSUPPORTED_VALUE, "a tensor on %s, where graphs run on %s",
                            tc_device_base_of(meta.device)->name, tc_device_base_of(t->ctx->device)->name);
    for (int d = 0; d < meta.ndim; d++) meta.sizes[d] = shape->sizes[d];
    tc_guards_input(t->guards, tensor->origin.source);
    t->n_graph_inputs++;
    tensor->node = tc_graph_input(t->out->graph, &meta, shape->strides);
    if (!tensor->node) return tc_trace_nomem(t);
  }
  *out = tensor->node;
  return TC_OK;
}

tc_status tc_new_tensor(struct tc_trace *t, struct tc_node *node, struct tc_tracked *out) {
  *out = tc_tracked_tensor(new_record(t, sizeof *out->tensor));
  if (!out->tensor) return tc_trace_nomem(t);
  out->tensor->origin.source = TC_NO_SOURCE;
  out->tensor->node = node;
  return TC_OK;
}

tc_status tc_new_native(struct tc_trace *t, const struct tc_function *function, tc_library_fn library,
                        const char *name, struct tc_tracked *out) {
  const void *pointer = function ? (const void *)function : name; /* both static */
  const struct tc_tracked *known = find_record(t, pointer, LUA_TNONE);
  if (known) {
    *out = *known;
    return TC_OK;
  }
  *out = tc_tracked_native(new_record(t, sizeof *out->native));
  if (!out->native) return tc_trace_nomem(t);
  *out->native = (struct tc_traced_native){
      .origin.source = TC_NO_SOURCE, .function = function, .library = library, .name = name};
  return keep_record(t, pointer, LUA_TNONE, out);
}

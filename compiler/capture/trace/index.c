/* Accesses as Lua makes them, with metatables: reads, writes, lengths. */
#include <string.h>

#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/tables.h"
#include "capture/trace/tensors.h"
#include "capture/trace/trace.h"

const char *tc_event_field(enum tc_event event) {
  static const char *const fields[] = {
#define TC_EVENT(NAME, field) field,
#include "capture/trace/events.def"
#undef TC_EVENT
  };
  return fields[event];
}

static tc_status event_name(struct tc_trace *t, enum tc_event event, struct tc_tracked *out) {
  struct tc_tracked *name = &t->events[event];
  if (name->kind != TC_IS_TEXT) {
    const tc_status status = tc_text_of(t, tc_event_field(event), strlen(tc_event_field(event)), name);
    if (status) return status;
  }
  *out = *name;
  return TC_OK;
}

tc_status tc_string_metatable(struct tc_trace *t, struct tc_traced_table **out) {
  if (!t->string_metatable) {
    struct tc_tracked metatable;
    lua_pushliteral(t->L, "");
    const int top = lua_gettop(t->L), source = tc_guards_object(t->guards, t->L, top, TC_NO_SOURCE);
    const bool has = lua_getmetatable(t->L, top);
    tc_guards_metatable(t->guards, t->L, source, has ? top + 1 : 0);
    const tc_status status = has ? tc_import_pinned(t, source, &metatable) : TC_OK;
    lua_settop(t->L, top - 1);
    if (status) return status;
    t->string_metatable = has ? metatable.table : NULL;
  }
  *out = t->string_metatable;
  return TC_OK;
}

tc_status tc_metamethod(struct tc_trace *t, const struct tc_tracked *v, enum tc_event event,
                        struct tc_tracked *out) {
  struct tc_traced_table *metatable = NULL;
  struct tc_tracked name;
  tc_status status = TC_OK;
  *out = tc_nil();
  if (v->kind == TC_IS_TABLE)
    status = tc_table_metatable(t, v->table, &metatable);
  else if (v->kind == TC_IS_TEXT)
    status = tc_string_metatable(t, &metatable);
  if (!status && v->kind == TC_IS_OPAQUE)
    return tc_trace_break(t, TC_BREAK_UNSUPPORTED_VALUE, "an operation on a foreign userdata or thread");
  if (!status && metatable) status = event_name(t, event, &name);
  return status || !metatable ? status : tc_table_get(t, metatable, name, out);
}

static tc_status index_nothing(struct tc_trace *t, const struct tc_tracked *object,
                               const struct tc_tracked *key) {
  char name[128];
  tc_use_type(t, object);
  if (object->kind == TC_IS_OPAQUE)
    return tc_trace_break(t, TC_BREAK_UNSUPPORTED_VALUE, "a field of a foreign userdata or thread");
  tc_describe(t, object, name, sizeof name);
  if (key->kind == TC_IS_TEXT) return tc_trace_raises(t, "field %s of %s", key->text->bytes, name);
  return tc_trace_raises(t, "an element of %s", name);
}

static bool is_function(const struct tc_tracked *v) {
  return v->kind == TC_IS_CLOSURE || v->kind == TC_IS_NATIVE;
}

tc_status tc_index(struct tc_trace *t, const struct tc_tracked *object, struct tc_tracked key,
                   struct tc_tracked *out) {
  struct tc_tracked at = *object;
  for (int i = 0; i < TC_MAX_META_CHAIN; i++) {
    struct tc_tracked handler;
    tc_status status = TC_OK;
    if (at.kind == TC_IS_TENSOR) return tc_tensor_index(t, at.tensor, &key, out);
    if (at.kind == TC_IS_TABLE) {
      status = tc_table_get(t, at.table, key, out);
      if (status || out->kind != TC_IS_NIL) return status;
    } else if (at.kind != TC_IS_TEXT) {
      return index_nothing(t, &at, &key);
    } else if ((status = tc_use(t, &at))) {
      return status;
    }
    status = tc_metamethod(t, &at, TC_EVENT_INDEX, &handler);
    if (status) return status;
    if (handler.kind == TC_IS_NIL) {
      *out = tc_nil();
      return at.kind == TC_IS_TABLE ? TC_OK : index_nothing(t, &at, &key);
    }
    if (is_function(&handler)) return tc_call_values(t, &handler, 2, (struct tc_tracked[]){at, key}, 1, out);
    at = handler;
  }
  return tc_trace_raises(t, "'__index' chain too long");
}

tc_status tc_set_index(struct tc_trace *t, const struct tc_tracked *object, struct tc_tracked key,
                       const struct tc_tracked *value) {
  struct tc_tracked at = *object;
  for (int i = 0; i < TC_MAX_META_CHAIN; i++) {
    struct tc_tracked handler, old;
    tc_status status;
    if (at.kind == TC_IS_TENSOR) return tc_trace_raises(t, "assignment to an element of a tensor");
    if (at.kind != TC_IS_TABLE) return index_nothing(t, &at, &key);
    struct tc_traced_table *metatable;
    if ((status = tc_table_metatable(t, at.table, &metatable))) return status;
    if (!metatable) return tc_table_set(t, at.table, key, value);
    if ((status = tc_table_get(t, at.table, key, &old))) return status;
    tc_use_type(t, &old);
    if (old.kind != TC_IS_NIL) return tc_table_set(t, at.table, key, value);
    if ((status = tc_metamethod(t, &at, TC_EVENT_NEWINDEX, &handler))) return status;
    if (handler.kind == TC_IS_NIL) return tc_table_set(t, at.table, key, value);
    if (is_function(&handler))
      return tc_call_values(t, &handler, 3, (struct tc_tracked[]){at, key, *value}, 0, NULL);
    at = handler;
  }
  return tc_trace_raises(t, "'__newindex' chain too long");
}

tc_status tc_length(struct tc_trace *t, const struct tc_tracked *v, struct tc_tracked *out) {
  struct tc_tracked operand = *v, handler;
  if (operand.kind == TC_IS_TENSOR) return tc_tensor_length(t, operand.tensor, out);
  tc_status status = tc_use(t, &operand);
  if (status) return status;
  if (operand.kind == TC_IS_TEXT) {
    *out = tc_int((lua_Integer)operand.text->length);
    return TC_OK;
  }
  if (operand.kind != TC_IS_TABLE) return tc_trace_raises(t, "length of a value that has none");
  if ((status = tc_metamethod(t, &operand, TC_EVENT_LEN, &handler))) return status;
  if (handler.kind != TC_IS_NIL)
    return tc_call_values(t, &handler, 2, (struct tc_tracked[]){operand, operand}, 1, out);
  return tc_table_open_length(t, operand.table, out);
}

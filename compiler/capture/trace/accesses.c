/* Instructions that read and write tables. */
#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/tables.h"
#include "capture/trace/trace.h"

static tc_status register_or_constant(struct tc_trace *t, struct tc_activation *a, uint32_t code,
                                      struct tc_tracked *out) {
  if (tc_code_k(code)) return tc_constant(t, a, tc_code_c(code), out);
  *out = *tc_register(t, a, tc_code_c(code));
  return TC_OK;
}

static tc_status get(struct tc_trace *t, struct tc_activation *a, uint32_t code, struct tc_tracked object,
                     struct tc_tracked key) {
  struct tc_tracked value;
  const tc_status status = tc_index(t, &object, key, &value);
  if (!status) tc_set_register(t, a, code, value);
  return status;
}

tc_status tc_do_get_global(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked object, key;
  tc_status status = tc_cell_get(t, a->closure->cells[tc_code_b(code)], &object);
  if (!status) status = tc_constant(t, a, tc_code_c(code), &key);
  return status ? status : get(t, a, code, object, key);
}

tc_status tc_do_get_table(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return get(t, a, code, *tc_register(t, a, tc_code_b(code)), *tc_register(t, a, tc_code_c(code)));
}

tc_status tc_do_get_integer(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return get(t, a, code, *tc_register(t, a, tc_code_b(code)), tc_int(tc_code_c(code)));
}

tc_status tc_do_get_field(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked key;
  const tc_status status = tc_constant(t, a, tc_code_c(code), &key);
  return status ? status : get(t, a, code, *tc_register(t, a, tc_code_b(code)), key);
}

tc_status tc_do_self(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const struct tc_tracked object = *tc_register(t, a, tc_code_b(code));
  struct tc_tracked key;
  const tc_status status = register_or_constant(t, a, code, &key);
  if (status) return status;
  *tc_register(t, a, tc_code_a(code) + 1) = object;
  return get(t, a, code, object, key);
}

static tc_status put(struct tc_trace *t, struct tc_activation *a, uint32_t code, struct tc_tracked object,
                     struct tc_tracked key) {
  struct tc_tracked value;
  const tc_status status = register_or_constant(t, a, code, &value);
  return status ? status : tc_set_index(t, &object, key, &value);
}

tc_status tc_do_set_global(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked object, key;
  tc_status status = tc_cell_get(t, a->closure->cells[tc_code_a(code)], &object);
  if (!status) status = tc_constant(t, a, tc_code_b(code), &key);
  return status ? status : put(t, a, code, object, key);
}

tc_status tc_do_set_table(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return put(t, a, code, *tc_register(t, a, tc_code_a(code)), *tc_register(t, a, tc_code_b(code)));
}

tc_status tc_do_set_integer(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return put(t, a, code, *tc_register(t, a, tc_code_a(code)), tc_int(tc_code_b(code)));
}

tc_status tc_do_set_field(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked key;
  const tc_status status = tc_constant(t, a, tc_code_b(code), &key);
  return status ? status : put(t, a, code, *tc_register(t, a, tc_code_a(code)), key);
}

enum {
  EXTRA_FACTOR = 256, /* an EXTRAARG counts in units of what C can hold */
  MOST_LOG_HASH =
      30, /* B of NEWTABLE is one more than the logarithm of a size, which Lua's compiler keeps below 2^30 */
};

static int extra(const struct tc_activation *a, uint32_t code) {
  return tc_code_k(code) && a->pc < a->proto->n_code ? tc_code_ax(a->proto->code[a->pc]) * EXTRA_FACTOR : 0;
}

tc_status tc_do_new_table(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const int log_hash = tc_code_b(code) <= MOST_LOG_HASH ? tc_code_b(code) : 0;
  struct tc_tracked table;
  const tc_status status =
      tc_new_table(t, tc_code_c(code) + extra(a, code), log_hash ? 1 << (log_hash - 1) : 0, &table);
  a->pc++; /* an EXTRAARG always follows */
  if (!status) tc_set_register(t, a, code, table);
  return status;
}

tc_status tc_do_set_list(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const size_t first = a->base + (size_t)tc_code_a(code);
  const size_t count = tc_code_b(code) ? (size_t)tc_code_b(code) : a->top - first - 1;
  const struct tc_tracked table = t->slots[first];
  const lua_Integer before = tc_code_c(code) + (lua_Integer)extra(a, code);
  if (tc_code_k(code)) a->pc++;
  if (table.kind != TC_IS_TABLE)
    return tc_fail(t->err, TC_CORRUPT, "capture", "bytecode: SETLIST on no table");
  if (!tc_code_b(code)) {
    const tc_status status = tc_table_open_list(t, table.table, before + (lua_Integer)count);
    if (status) return status;
  }
  for (size_t i = 1; i <= count; i++) {
    const tc_status status =
        tc_table_set_index(t, table.table, before + (lua_Integer)i, &t->slots[first + i]);
    if (status) return status;
  }
  return TC_OK;
}

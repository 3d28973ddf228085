/* Instructions of operators: arithmetic on numbers, else the MMBIN behind it; unary operators;
 * concatenation. */
#include "capture/trace/frames.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/trace.h"

static tc_status arith(struct tc_trace *t, struct tc_activation *a, uint32_t code, enum tc_event event,
                       struct tc_tracked left, struct tc_tracked right) {
  struct tc_tracked result;
  bool done;
  const tc_status status = tc_arith(t, event, &left, &right, &result, &done);
  if (status || !done) return status; /* the MMBIN behind it goes on */
  tc_set_register(t, a, code, result);
  a->pc++;
  return TC_OK;
}

tc_status tc_do_arith(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const enum tc_event event = TC_EVENT_ADD + (tc_code_op(code) - TC_LUA_ADD);
  return arith(t, a, code, event, *tc_register(t, a, tc_code_b(code)), *tc_register(t, a, tc_code_c(code)));
}

tc_status tc_do_arith_constant(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const enum tc_event event = TC_EVENT_ADD + (tc_code_op(code) - TC_LUA_ADDK);
  struct tc_tracked right;
  const tc_status status = tc_constant(t, a, tc_code_c(code), &right);
  return status ? status : arith(t, a, code, event, *tc_register(t, a, tc_code_b(code)), right);
}

tc_status tc_do_arith_integer(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const enum tc_event event = tc_code_op(code) == TC_LUA_ADDI ? TC_EVENT_ADD : TC_EVENT_SHR;
  return arith(t, a, code, event, *tc_register(t, a, tc_code_b(code)), tc_int(tc_code_signed_c(code)));
}

tc_status tc_do_arith_shift_left(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return arith(t, a, code, TC_EVENT_SHL, tc_int(tc_code_signed_c(code)), *tc_register(t, a, tc_code_b(code)));
}

/* MMBIN…: C names the event; the result goes to A of the instruction before. */
static tc_status meta(struct tc_trace *t, struct tc_activation *a, uint32_t code, struct tc_tracked left,
                      struct tc_tracked right) {
  const int event = tc_code_c(code);
  struct tc_tracked result;
  if (event < TC_EVENT_ADD || event > TC_EVENT_SHR || a->pc < 2)
    return tc_fail(t->err, TC_CORRUPT, "capture", "bytecode: an operator without its event");
  const tc_status status = tc_arith_meta(t, (enum tc_event)event, &left, &right, &result);
  if (!status) tc_set_register(t, a, a->proto->code[a->pc - 2], result);
  return status;
}

tc_status tc_do_meta_binary(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return meta(t, a, code, *tc_register(t, a, tc_code_a(code)), *tc_register(t, a, tc_code_b(code)));
}

static tc_status meta_flipped(struct tc_trace *t, struct tc_activation *a, uint32_t code,
                              struct tc_tracked other) {
  const struct tc_tracked operand = *tc_register(t, a, tc_code_a(code));
  return tc_code_k(code) ? meta(t, a, code, other, operand) : meta(t, a, code, operand, other);
}

tc_status tc_do_meta_integer(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return meta_flipped(t, a, code, tc_int(tc_code_signed_b(code)));
}

tc_status tc_do_meta_constant(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked other;
  const tc_status status = tc_constant(t, a, tc_code_b(code), &other);
  return status ? status : meta_flipped(t, a, code, other);
}

tc_status tc_do_unary(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const enum tc_event event = tc_code_op(code) == TC_LUA_UNM ? TC_EVENT_UNM : TC_EVENT_BNOT;
  struct tc_tracked operand = *tc_register(t, a, tc_code_b(code)), result;
  bool done;
  tc_status status = tc_arith(t, event, &operand, &operand, &result, &done);
  if (!status && !done) status = tc_arith_meta(t, event, &operand, &operand, &result);
  if (!status) tc_set_register(t, a, code, result);
  return status;
}

tc_status tc_do_logical_not(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  bool truth;
  const tc_status status = tc_truth(t, tc_register(t, a, tc_code_b(code)), &truth);
  if (!status) tc_set_register(t, a, code, tc_bool(!truth));
  return status;
}

tc_status tc_do_length(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const struct tc_tracked operand = *tc_register(t, a, tc_code_b(code));
  struct tc_tracked result;
  const tc_status status = tc_length(t, &operand, &result);
  if (!status) tc_set_register(t, a, code, result);
  return status;
}

tc_status tc_do_concat(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const int count = tc_code_b(code);
  if (count < 1) return tc_fail(t->err, TC_CORRUPT, "capture", "bytecode: CONCAT of nothing");
  struct tc_tracked result = *tc_register(t, a, tc_code_a(code) + count - 1);
  for (int i = count - 2; i >= 0; i--) {
    struct tc_tracked left = *tc_register(t, a, tc_code_a(code) + i), right = result;
    const tc_status status = tc_concat(t, &left, &right, &result);
    if (status) return status;
  }
  tc_set_register(t, a, code, result);
  return TC_OK;
}

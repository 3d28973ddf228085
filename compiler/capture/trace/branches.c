/* Jumps and conditions. A conditional instruction is followed by the jump that it guards: it skips that jump
 * when the condition is not what k says. Conditions rest on constants and guarded values, so that each branch
 * has one way. */
#include "capture/trace/frames.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/trace.h"

tc_status tc_do_jump(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const int by = tc_code_jump(code);
  a->pc += by;
  return by < 0 ? tc_turn(t) : TC_OK;
}

static void decide(struct tc_activation *a, uint32_t code, bool condition) {
  if (condition != tc_code_k(code)) a->pc++;
}

static tc_status equal_to(struct tc_trace *t, struct tc_activation *a, uint32_t code,
                          struct tc_tracked other) {
  struct tc_tracked operand = *tc_register(t, a, tc_code_a(code));
  bool equal;
  const tc_status status = tc_equal(t, &operand, &other, &equal);
  if (!status) decide(a, code, equal);
  return status;
}

tc_status tc_do_equal(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return equal_to(t, a, code, *tc_register(t, a, tc_code_b(code)));
}

tc_status tc_do_equal_constant(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked other;
  const tc_status status = tc_constant(t, a, tc_code_b(code), &other);
  return status ? status : equal_to(t, a, code, other);
}

tc_status tc_do_equal_integer(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return equal_to(t, a, code, tc_int(tc_code_signed_b(code)));
}

static tc_status less(struct tc_trace *t, struct tc_activation *a, uint32_t code, enum tc_event event,
                      struct tc_tracked left, struct tc_tracked right) {
  bool truth;
  const tc_status status = tc_less(t, event, &left, &right, &truth);
  if (!status) decide(a, code, truth);
  return status;
}

tc_status tc_do_less(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const enum tc_event event = tc_code_op(code) == TC_LUA_LT ? TC_EVENT_LT : TC_EVENT_LE;
  return less(t, a, code, event, *tc_register(t, a, tc_code_a(code)), *tc_register(t, a, tc_code_b(code)));
}

/* The immediate was a float in the source when C says so: metamethods see it. */
tc_status tc_do_less_integer(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const int op = tc_code_op(code), immediate = tc_code_signed_b(code);
  const struct tc_tracked operand = *tc_register(t, a, tc_code_a(code));
  const struct tc_tracked other = tc_code_c(code) ? tc_num(immediate) : tc_int(immediate);
  const enum tc_event event = op == TC_LUA_LTI || op == TC_LUA_GTI ? TC_EVENT_LT : TC_EVENT_LE;
  const bool flipped = op == TC_LUA_GTI || op == TC_LUA_GEI;
  return flipped ? less(t, a, code, event, other, operand) : less(t, a, code, event, operand, other);
}

tc_status tc_do_test(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  bool truth;
  const tc_status status = tc_truth(t, tc_register(t, a, tc_code_a(code)), &truth);
  if (!status) decide(a, code, truth);
  return status;
}

tc_status tc_do_test_set(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked *value = tc_register(t, a, tc_code_b(code));
  bool truth;
  const tc_status status = tc_truth(t, value, &truth);
  if (status) return status;
  if (truth == tc_code_k(code)) tc_set_register(t, a, code, *value);
  decide(a, code, truth);
  return TC_OK;
}

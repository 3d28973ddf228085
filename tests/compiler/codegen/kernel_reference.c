#include "tests/compiler/codegen/kernel_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/compiler/codegen/reference_math.h"

/* --- values --- */

struct value {
  double real;
  int64_t integer;
}; /* floats: real (an F32 is held exactly); I64 and BOOL: integer */

struct point {
  const struct tc_kernel *k;
  void *const *buffers;
  const int64_t *sizes;
  int64_t outer[TC_MAX_KERNEL_DIMS], inner[TC_MAX_KERNEL_DIMS];
  struct value *acc;
  const struct tc_phase *phase; /* that is under way, */
  int turn;                     /* and its turn */
};

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static int64_t sym_at(const struct point *p, tc_sym s) {
  switch (tc_sym_kind(s)) {
    case TC_SYM_CONST: return tc_sym_value(s);
    case TC_SYM_SIZE: return p->sizes[tc_sym_id(s)];
    case TC_SYM_INDEX:
      for (int i = 0; i < p->k->n_outer; i++)
        if (tc_sym_same(s, p->k->outer[i].var)) return p->outer[i];
      for (int i = 0; i < p->k->n_inner; i++)
        if (tc_sym_same(s, p->k->inner[i].var)) return p->inner[i];
      for (int c = 0; p->phase && c < p->phase->n_columns; c++)
        if (tc_sym_same(s, p->phase->columns[c])) return p->phase->table[p->turn * p->phase->n_columns + c];
      abort();
    default: break;
  }
  const int64_t a = sym_at(p, tc_sym_left(s)), b = sym_at(p, tc_sym_right(s));
  switch (tc_sym_kind(s)) {
    case TC_SYM_ADD: return a + b;
    case TC_SYM_MUL: return a * b;
    case TC_SYM_DIV: return floor_div(a, b);
    case TC_SYM_MOD: return a - floor_div(a, b) * b;
    case TC_SYM_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
  }
}

static bool is_real(tc_dtype d) { return tc_dtype_is_float(d); }
static struct value real(tc_dtype d, double x) {
  return (struct value){.real = d == TC_F64 ? x : (double)(float)x};
}
static struct value whole(int64_t x) { return (struct value){.integer = x}; }

static struct value read_element(tc_dtype stored, const void *base, int64_t at) {
  switch (stored) {
    case TC_BOOL: return whole(((const uint8_t *)base)[at] != 0);
    case TC_I64: {
      int64_t x;
      return memcpy(&x, (const char *)base + at * 8, 8), whole(x);
    }
    case TC_BF16: {
      uint16_t x;
      return memcpy(&x, (const char *)base + at * 2, 2), (struct value){.real = (double)tc_bf16_to_f32(x)};
    }
    case TC_F32: {
      float x;
      return memcpy(&x, (const char *)base + at * 4, 4), (struct value){.real = (double)x};
    }
    default: {
      double x;
      return memcpy(&x, (const char *)base + at * 8, 8), (struct value){.real = x};
    }
  }
}

static int64_t to_integer(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; }

static struct value cast(struct value v, tc_dtype from, tc_dtype to) {
  if (from == to) return v;
  if (to == TC_BOOL) return whole(is_real(from) ? v.real != 0 : v.integer != 0);
  if (to == TC_I64) return whole(is_real(from) ? to_integer(v.real) : v.integer);
  if (is_real(from)) return real(to, v.real);
  return (struct value){.real = to == TC_F64 ? (double)v.integer : (double)(float)v.integer};
}

static void write_element(tc_dtype stored, void *base, int64_t at, struct value v, tc_dtype from) {
  const struct value c = cast(v, from, tc_compute_dtype(stored));
  const uint8_t truth = c.integer != 0;
  const float narrow = (float)c.real;
  const uint16_t half = tc_f32_to_bf16(narrow);
  switch (stored) {
    case TC_BOOL: memcpy((char *)base + at, &truth, 1); break;
    case TC_I64: memcpy((char *)base + at * 8, &c.integer, 8); break;
    case TC_BF16: memcpy((char *)base + at * 2, &half, 2); break;
    case TC_F32: memcpy((char *)base + at * 4, &narrow, 4); break;
    default: memcpy((char *)base + at * 8, &c.real, 8); break;
  }
}

/* --- random numbers --- */

static void philox(uint64_t seed, uint64_t element, uint64_t draw, uint32_t out[4]) {
  uint32_t c[4] = {(uint32_t)element, (uint32_t)(element >> 32), (uint32_t)draw, (uint32_t)(draw >> 32)};
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int i = 0; i < 10; i++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
    const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                              (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
    memcpy(c, next, sizeof c);
  }
  memcpy(out, c, sizeof c);
}

static double draw_number(const struct point *p, const struct tc_expr *x) {
  int rng = 0;
  while (p->k->buffers[rng].role != TC_ROLE_RNG) rng++;
  const uint64_t *state = p->buffers[rng];
  uint32_t w[4];
  philox(state[0], (uint64_t)sym_at(p, x->address), state[1] + (uint64_t)x->acc, w);
  const float step = 0x1p-24f;
  if (x->op == TC_E_UNIFORM) return (double)((float)(w[0] >> 8) * step);
  const float u1 = (float)((w[0] >> 8) + 1) * step, u2 = (float)(w[1] >> 8) * step;
  return (double)reference_normal(u1, u2);
}

/* --- expressions --- */

static struct value eval(const struct point *p, const struct tc_expr *x);

static double function1(enum tc_expr_op op, tc_dtype d, double a) {
  switch (op) {
    case TC_E_ROUND: return (double)tc_bf16_to_f32(tc_f32_to_bf16((float)a));
    case TC_E_NEG: return -a;
    case TC_E_ABS: return fabs(a);
    case TC_E_SIGN: return a > 0 ? 1 : a < 0 ? -1 : 0;
    case TC_E_FLOOR: return floor(a);
    case TC_E_CEIL: return ceil(a);
    case TC_E_RECIPROCAL: return 1 / a;
    case TC_E_SQRT: return sqrt(a);
    case TC_E_RELU: return 0 > a ? 0 : a;
    default: return reference_function(op, d, a);
  }
}

static double function2(enum tc_expr_op op, tc_dtype d, double a, double b) {
  switch (op) {
    case TC_E_ADD: return a + b;
    case TC_E_SUB: return a - b;
    case TC_E_MUL: return a * b;
    case TC_E_DIV: return a / b;
    case TC_E_FLOORDIV:
      return d == TC_F64 ? reference_floor_divide(a, b)
                         : (double)reference_floor_divide_f32((float)a, (float)b);
    case TC_E_REMAINDER:
      return d == TC_F64 ? reference_remainder(a, b) : (double)reference_remainder_f32((float)a, (float)b);
    case TC_E_POW: return reference_power(d, a, b);
    case TC_E_MAX: return isnan(a) ? a : a > b ? a : b;
    case TC_E_MIN: return isnan(a) ? a : a < b ? a : b;
    default: abort();
  }
}

static int64_t power(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  uint64_t result = 1;
  for (uint64_t base = (uint64_t)a; b; b >>= 1, base *= base)
    if (b & 1) result *= base;
  return (int64_t)result;
}

static int64_t integer2(enum tc_expr_op op, int64_t a, int64_t b) {
  switch (op) {
    case TC_E_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case TC_E_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case TC_E_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TC_E_FLOORDIV: return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : floor_div(a, b);
    case TC_E_REMAINDER: return b == 0 || b == -1 ? 0 : a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b;
    case TC_E_POW: return power(a, b);
    case TC_E_MAX: return a > b ? a : b;
    case TC_E_MIN: return a < b ? a : b;
    default: abort();
  }
}

static int64_t integer1(enum tc_expr_op op, int64_t a) {
  switch (op) {
    case TC_E_NEG: return (int64_t)(0 - (uint64_t)a);
    case TC_E_ABS: return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
    case TC_E_SIGN: return (a > 0) - (a < 0);
    case TC_E_RELU: return a > 0 ? a : 0;
    default: return a; /* FLOOR, CEIL */
  }
}

static bool compare(enum tc_expr_op op, tc_dtype d, struct value a, struct value b) {
  const bool less = is_real(d) ? a.real < b.real : a.integer < b.integer,
             equal = is_real(d) ? a.real == b.real : a.integer == b.integer;
  const bool greater = is_real(d) ? a.real > b.real : a.integer > b.integer;
  switch (op) {
    case TC_E_EQ: return equal;
    case TC_E_NE: return !equal;
    case TC_E_LT: return less;
    case TC_E_LE: return less || equal;
    case TC_E_GT: return greater;
    default: return greater || equal;
  }
}

static struct value load(const struct point *p, const struct tc_expr *x) {
  if (x->args[1] && !eval(p, x->args[1]).integer) return (struct value){0};
  const int64_t at = sym_at(p, x->address) + (x->args[0] ? eval(p, x->args[0]).integer : 0);
  const tc_dtype stored = p->k->buffers[x->buffer].dtype;
  return cast(read_element(stored, p->buffers[x->buffer], at), tc_compute_dtype(stored), x->dtype);
}

static void raise_flag(const struct point *p, int flag) {
  int status = 0;
  while (p->k->buffers[status].role != TC_ROLE_STATUS) status++;
  *(int64_t *)p->buffers[status] |= INT64_C(1) << 8 * flag;
}

static struct value divisor(const struct point *p, const struct tc_expr *x) {
  const struct value v = eval(p, x->args[0]);
  if (!v.integer) raise_flag(p, x->acc);
  return v;
}

static struct value check(const struct point *p, const struct tc_expr *x) {
  const int64_t limit = sym_at(p, x->address), i = eval(p, x->args[0]).integer;
  if (i < 0 || i >= limit) raise_flag(p, TC_FLAG_INDEX);
  const int64_t low = i >= limit ? limit - 1 : i;
  return whole(low < 0 ? 0 : low);
}

static struct value eval(const struct point *p, const struct tc_expr *x) {
  struct value v[TC_EXPR_ARGS] = {0};
  const tc_dtype operand = x->args[0] ? x->args[0]->dtype : x->dtype;
  if (x->op == TC_E_LOAD) return load(p, x);
  if (x->op == TC_E_CHECK) return check(p, x);
  if (x->op == TC_E_DIVISOR) return divisor(p, x);
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (x->args[i]) v[i] = eval(p, x->args[i]);
  switch (x->op) {
    case TC_E_CONST: return is_real(x->dtype) ? real(x->dtype, x->number) : whole(x->integer);
    case TC_E_INDEX: return whole(sym_at(p, x->address));
    case TC_E_ACC: return p->acc[x->acc];
    case TC_E_UNIFORM:
    case TC_E_NORMAL: return (struct value){.real = draw_number(p, x)};
    case TC_E_CAST: return cast(v[0], operand, x->dtype);
    case TC_E_ISNAN: return whole(is_real(operand) && isnan(v[0].real));
    case TC_E_ISINF: return whole(is_real(operand) && isinf(v[0].real));
    case TC_E_NOT: return whole(!cast(v[0], operand, TC_BOOL).integer);
    case TC_E_AND: return whole(v[0].integer & v[1].integer);
    case TC_E_OR: return whole(v[0].integer | v[1].integer);
    case TC_E_XOR: return whole(v[0].integer ^ v[1].integer);
    case TC_E_EQ:
    case TC_E_NE:
    case TC_E_LT:
    case TC_E_LE:
    case TC_E_GT:
    case TC_E_GE: return whole(compare(x->op, operand, v[0], v[1]));
    case TC_E_SELECT: return v[0].integer ? v[1] : v[2];
    case TC_E_FMA:
      return x->dtype == TC_F64
                 ? real(TC_F64, fma(v[0].real, v[1].real, v[2].real))
                 : real(TC_F32, (double)fmaf((float)v[0].real, (float)v[1].real, (float)v[2].real));
    default: break;
  }
  if (is_real(x->dtype))
    return real(x->dtype, x->args[1] ? function2(x->op, x->dtype, v[0].real, v[1].real)
                                     : function1(x->op, x->dtype, v[0].real));
  return whole(x->args[1] ? integer2(x->op, v[0].integer, v[1].integer) : integer1(x->op, v[0].integer));
}

/* --- reductions, phases, items --- */

struct running {
  struct value v;
  int64_t position;
  bool any;
};

static bool better(const struct tc_kernel_reduction *r, struct value best, struct value v) {
  const bool max = r->op == TC_RED_ARGMAX;
  if (!is_real(r->value->dtype)) return max ? v.integer > best.integer : v.integer < best.integer;
  if (isnan(best.real)) return false;
  return isnan(v.real) || (max ? v.real > best.real : v.real < best.real);
}

static void take(const struct point *p, const struct tc_kernel_reduction *r, struct running *s) {
  const tc_dtype d = r->value->dtype;
  const struct value v = eval(p, r->value);
  const bool truth = is_real(d) ? v.real != 0 : v.integer != 0;
  switch (r->op) {
    case TC_RED_SUM:
      s->v.real += v.real, s->v.integer = (int64_t)((uint64_t)s->v.integer + (uint64_t)v.integer);
      break;
    case TC_RED_PROD:
      if (!s->any) s->v = (struct value){1, 1};
      s->v.real *= v.real, s->v.integer = (int64_t)((uint64_t)s->v.integer * (uint64_t)v.integer);
      break;
    case TC_RED_MAX:
    case TC_RED_MIN: {
      const enum tc_expr_op op = r->op == TC_RED_MAX ? TC_E_MAX : TC_E_MIN;
      if (!s->any)
        s->v = v;
      else if (is_real(d))
        s->v.real = isnan(v.real) ? v.real : function2(op, d, s->v.real, v.real);
      else
        s->v.integer = integer2(op, s->v.integer, v.integer);
      break;
    }
    case TC_RED_ANY: s->v.integer |= truth; break;
    case TC_RED_ALL: s->v.integer = (s->any ? s->v.integer : 1) & truth; break;
    default:
      if (!s->any || better(r, s->v, v)) s->v = v, s->position = sym_at(p, r->index);
  }
  s->any = true;
}

static struct value empty_value(const struct tc_kernel_reduction *r) {
  switch (r->op) {
    case TC_RED_PROD: return (struct value){1, 1};
    case TC_RED_MAX: return (struct value){-INFINITY, INT64_MIN};
    case TC_RED_MIN: return (struct value){INFINITY, INT64_MAX};
    case TC_RED_ALL: return whole(1);
    default: return (struct value){0};
  }
}

static struct value finished(const struct tc_kernel_reduction *r, const struct running *s) {
  if (r->op == TC_RED_ARGMAX || r->op == TC_RED_ARGMIN) return whole(s->position);
  if (!s->any) return empty_value(r);
  return is_real(r->value->dtype) && r->op != TC_RED_ANY && r->op != TC_RED_ALL
             ? real(r->value->dtype, s->v.real)
             : s->v;
}

static void point_of_turn(struct point *p, const struct tc_phase *phase, struct running *running) {
  struct value values[16];
  for (int i = 0; i < phase->n_stores; i++) values[i] = eval(p, phase->stores[i].value);
  for (int i = 0; i < phase->n_reductions; i++) take(p, &phase->reductions[i], &running[i]);
  for (int i = 0; i < phase->n_stores; i++) {
    const struct tc_kernel_store *s = &phase->stores[i];
    write_element(p->k->buffers[s->buffer].dtype, p->buffers[s->buffer], sym_at(p, s->address), values[i],
                  s->value->dtype);
  }
}

static void point_of_phase(struct point *p, const struct tc_phase *phase, struct running *running) {
  p->phase = phase;
  for (p->turn = 0; p->turn < (phase->n_turns ? phase->n_turns : 1); p->turn++) {
    const int64_t at = tc_sym_valid(phase->var) ? sym_at(p, phase->var) : 0;
    if (!tc_sym_valid(phase->var) || (sym_at(p, phase->from) <= at && at < sym_at(p, phase->to)))
      point_of_turn(p, phase, running);
  }
}

static void inner_points(struct point *p, const struct tc_phase *phase, struct running *running, int dim) {
  if (dim == p->k->n_inner) {
    point_of_phase(p, phase, running);
    return;
  }
  const int64_t extent = sym_at(p, p->k->inner[dim].extent);
  for (int64_t i = 0; i < extent; i++) {
    p->inner[dim] = i;
    inner_points(p, phase, running, dim + 1);
  }
}

static void one_item(struct point *p) {
  for (int i = 0; i < p->k->n_phases; i++) {
    const struct tc_phase *phase = &p->k->phases[i];
    struct running running[16];
    memset(running, 0, sizeof running);
    if (phase->over_inner)
      inner_points(p, phase, running, p->k->split_inner ? p->k->n_inner : 0);
    else
      point_of_phase(p, phase, running);
    for (int r = 0; r < phase->n_reductions; r++)
      p->acc[phase->reductions[r].acc] = finished(&phase->reductions[r], &running[r]);
  }
}

static void decode(struct point *p, int64_t item, int n) {
  for (int d = n - 1; d >= 0; d--) {
    const int64_t extent = sym_at(p, p->k->outer[d].extent);
    p->outer[d] = item % extent;
    item /= extent;
  }
}

void reference_run(const struct tc_kernel *k, void *const *buffers, const int64_t *sizes, int64_t first,
                   int64_t last) {
  struct value acc[16];
  struct point p = {.k = k, .buffers = buffers, .sizes = sizes, .acc = acc};
  for (int64_t item = first; item < last; item++) {
    if (k->split_inner) {
      p.inner[0] = item;
      one_item(&p);
    } else if (k->lanes == TC_LANES_OUTER) {
      const int64_t extent = sym_at(&p, k->outer[k->n_outer - 1].extent),
                    blocks = (extent + k->block - 1) / k->block;
      decode(&p, item / blocks, k->n_outer - 1);
      for (int64_t lane = item % blocks * k->block; lane < extent && lane < (item % blocks + 1) * k->block;
           lane++) {
        p.outer[k->n_outer - 1] = lane;
        one_item(&p);
      }
    } else {
      decode(&p, item, k->n_outer);
      one_item(&p);
    }
  }
}

int64_t reference_items(const struct tc_kernel *k, const int64_t *sizes) {
  const struct point p = {.k = k, .sizes = sizes};
  if (k->split_inner) return sym_at(&p, k->inner[0].extent);
  int64_t items = 1;
  for (int i = 0; i < k->n_outer; i++) {
    int64_t extent = sym_at(&p, k->outer[i].extent);
    if (k->lanes == TC_LANES_OUTER && i == k->n_outer - 1) extent = (extent + k->block - 1) / k->block;
    items *= extent;
  }
  return items;
}

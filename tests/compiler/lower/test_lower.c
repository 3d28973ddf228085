/* Lowering and scheduling against a reference: every family of operations, results of every kind, empty
 * tensors, bad indices, and random graphs. Each case runs fused and unfused, its items in one and in
 * several parts, with every access checked against its buffer. */
#include "lower/loops.h"
#include "tests/compiler/ir/random_graph.h"

static void check_text(const char *text, double scale) {
  for (int fuse = 1; fuse >= 0; fuse--)
    for (int parts = 1; parts <= 3; parts += 2) {
      struct lowered l = lower_text(text, fuse);
      run_and_compare(&l, parts, scale);
      tc_arena_free(l.arena);
    }
}

/* --- expressions --- */

static void test_equal_expressions_are_one(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_expr_table *t = tc_expr_table_new(arena);
  const struct tc_expr *x =
      tc_expr_make(t, &(struct tc_expr){.op = TC_E_LOAD, .dtype = TC_F32, .address = tc_sym_const(3)});
  const struct tc_expr *y =
      tc_expr_make(t, &(struct tc_expr){.op = TC_E_LOAD, .dtype = TC_F32, .address = tc_sym_const(4)});
  assert_ptr_equal(tc_expr_2(t, TC_E_ADD, x, y), tc_expr_2(t, TC_E_ADD, x, y));
  assert_ptr_not_equal(tc_expr_2(t, TC_E_ADD, x, y), tc_expr_2(t, TC_E_ADD, y, x));
  assert_ptr_not_equal(tc_expr_num(t, TC_F32, 0.0), tc_expr_num(t, TC_F32, -0.0));
  assert_ptr_equal(tc_expr_num(t, TC_F32, 0.1), tc_expr_num(t, TC_F32, (double)0.1f));
  assert_true(tc_expr_2(t, TC_E_ADD, x, y)->id > x->id);
  assert_int_equal(tc_expr_2(t, TC_E_LT, x, y)->dtype, TC_BOOL);
  tc_arena_free(arena);
}

/* By code that was made at build time, or by patterns parsed now. */
static void check_folding(bool parsed) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_expr_table *t = tc_expr_table_new(arena);
  if (parsed) assert_true(tc_expr_table_parse(t));
  const struct tc_expr *x =
      tc_expr_make(t, &(struct tc_expr){.op = TC_E_LOAD, .dtype = TC_F32, .address = tc_sym_const(0)});
  const struct tc_expr *zero = tc_expr_num(t, TC_F32, 0), *one = tc_expr_num(t, TC_F32, 1),
                       *yes = tc_expr_int(t, TC_BOOL, 1);
  assert_ptr_equal(tc_expr_2(t, TC_E_MUL, x, one), x);
  assert_ptr_equal(tc_expr_2(t, TC_E_SUB, x, zero), x);
  assert_ptr_not_equal(tc_expr_2(t, TC_E_ADD, x, zero), x);    /* −0 + 0 = 0 */
  assert_ptr_not_equal(tc_expr_2(t, TC_E_MUL, x, zero), zero); /* NaN · 0 */
  assert_ptr_equal(tc_expr_3(t, TC_E_SELECT, yes, x, one), x);
  assert_ptr_equal(tc_expr_cast(t, tc_expr_cast(t, x, TC_F64), TC_F32), x);
  assert_ptr_equal(tc_expr_cast(t, x, TC_F32), x);
  const struct tc_expr *third = tc_expr_2(t, TC_E_DIV, one, tc_expr_num(t, TC_F32, 3));
  assert_true(third->op == TC_E_CONST && third->number == (double)(1.0f / 3.0f));
  assert_int_equal(tc_expr_1(t, TC_E_EXP, one)->op, TC_E_EXP);
  const struct tc_expr *nan = tc_expr_num(t, TC_F32, NAN);
  assert_true(isnan(tc_expr_2(t, TC_E_MAX, nan, one)->number));
  assert_ptr_equal(tc_expr_2(t, TC_E_NE, nan, nan), yes);
  const struct tc_expr *n =
      tc_expr_make(t, &(struct tc_expr){.op = TC_E_LOAD, .dtype = TC_I64, .address = tc_sym_const(0)});
  const struct tc_expr *nothing = tc_expr_int(t, TC_I64, 0), *unit = tc_expr_int(t, TC_I64, 1),
                       *no = tc_expr_int(t, TC_BOOL, 0);
  const struct tc_expr *b = tc_expr_2(t, TC_E_LT, x, one);
  assert_ptr_equal(tc_expr_1(t, TC_E_NEG, tc_expr_1(t, TC_E_NEG, x)), x);
  assert_ptr_equal(tc_expr_1(t, TC_E_NOT, tc_expr_1(t, TC_E_NOT, b)), b);
  assert_ptr_equal(tc_expr_2(t, TC_E_ADD, n, nothing), n);
  assert_ptr_equal(tc_expr_2(t, TC_E_ADD, nothing, n), n);
  assert_ptr_equal(tc_expr_2(t, TC_E_FLOORDIV, n, unit), n);
  assert_ptr_not_equal(tc_expr_2(t, TC_E_FLOORDIV, x, one), x);
  assert_ptr_equal(tc_expr_2(t, TC_E_DIV, x, one), x);
  assert_ptr_equal(tc_expr_2(t, TC_E_AND, b, b), b);
  assert_ptr_equal(tc_expr_2(t, TC_E_AND, b, no), no);
  assert_ptr_equal(tc_expr_2(t, TC_E_OR, yes, b), yes);
  assert_ptr_equal(tc_expr_2(t, TC_E_OR, no, b), b);
  assert_ptr_equal(tc_expr_2(t, TC_E_XOR, b, yes), tc_expr_1(t, TC_E_NOT, b));
  assert_ptr_not_equal(tc_expr_2(t, TC_E_XOR, b, b), b);
  assert_ptr_equal(tc_expr_3(t, TC_E_SELECT, no, x, one), one);
  assert_ptr_equal(tc_expr_3(t, TC_E_SELECT, b, x, x), x);
  tc_arena_free(arena);
}

static void test_folding_keeps_every_bit(void **state) {
  (void)state;
  check_folding(false);
  check_folding(true);
}

/* --- families --- */

static void test_pointwise(void **state) {
  (void)state;
  check_text("graph {\n v0 = input [0] : f32[3, 5] strides [5, 1]\n v1 = input [1] : f32[5] strides [1]\n v2 "
             "= input [2] : f32[3, 1] strides [2, 1]\n"
             " v3 = mul v0 v1 : f32[3, 5]\n v4 = add v3 v2 : f32[3, 5]\n v5 = tanh v4 : f32[3, 5]\n v6 = gt "
             "v5 v0 : bool[3, 5]\n"
             " v7 = where v6 v5 v1 : f32[3, 5]\n v8 = logical_not v6 : bool[3, 5]\n v9 = cast v7 [1] : "
             "i64[3, 5]\n return v7 v8 v9\n}\n",
             1);
  check_text("graph {\n v0 = input [0] : f64[4, 6] strides [6, 1]\n v1 = gelu v0 : f64[4, 6]\n v2 = silu v1 "
             ": f64[4, 6]\n v3 = softplus v2 : f64[4, 6]\n"
             " v4 = gelu_tanh v3 : f64[4, 6]\n v5 = sigmoid v4 : f64[4, 6]\n v6 = pow v5 v3 : f64[4, 6]\n v7 "
             "= remainder v0 v5 : f64[4, 6]\n"
             " v8 = isnan v6 : bool[4, 6]\n return v6 v7 v8\n}\n",
             1e3);
  check_text("graph {\n v0 = input [0] : bf16[40] strides [1]\n v1 = mul v0 v0 : bf16[40]\n v2 = add v1 v0 : "
             "bf16[40]\n return v2\n}\n",
             1);
  check_text("graph {\n v0 = input [0] : i64[7, 3] strides [3, 1]\n v1 = full [1, 3, 1] (3) : i64[1]\n v2 = "
             "add v0 v1 : i64[7, 3]\n v3 = floor_divide v2 v1 : i64[7, 3]\n"
             " v4 = remainder v2 v1 : i64[7, 3]\n v5 = mul v3 v4 : i64[7, 3]\n v6 = maximum v5 v0 : i64[7, "
             "3]\n return v5 v6\n}\n",
             1);
}

static void test_reductions(void **state) {
  (void)state;
  check_text("graph {\n v0 = input [0] : f32[4, 5, 6] strides [30, 6, 1]\n v1 = sum v0 [0, 1] : f32[4, 6]\n "
             "v2 = amax v0 [1, 2] : f32[4, 5, 1]\n"
             " v3 = amin v0 [0, 0, 1, 2] : f32[]\n v4 = prod v0 [0, 0] : f32[5, 6]\n v5 = argmax v0 [0, 2] : "
             "i64[4, 5]\n v6 = argmin v0 [1, 0] : i64[1, 5, 6]\n"
             " return v1 v2 v3 v4 v5 v6\n}\n",
             1);
  check_text("graph {\n v0 = input [0] : bool[9, 8] strides [8, 1]\n v1 = any v0 [0, 1] : bool[9]\n v2 = all "
             "v0 [0, 0] : bool[8]\n v3 = sum v0 [0, 0, 1] : i64[]\n"
             " return v1 v2 v3\n}\n",
             1);
  check_text(
      "graph {\n v0 = input [0] : f64[6, 7] strides [7, 1]\n v1 = var v0 [0, 1] (1) : f64[6]\n v2 = mean v0 "
      "[1, 0] : f64[1, 7]\n v3 = sub v0 v2 : f64[6, 7]\n"
      " v4 = logsumexp v3 [0, 1] : f64[6]\n v5 = log_softmax v0 [0] : f64[6, 7]\n return v1 v3 v4 v5\n}\n",
      1);
}

/* Long reductions are made in two stages: even chunks, uneven ones, over leading dims. */
static void test_two_stages(void **state) {
  (void)state;
  check_text("graph {\n v0 = input [0] : f64[300007] strides [1]\n v1 = sum v0 [0, 0] : f64[]\n v2 = amax v0 "
             "[1, 0] : f64[1]\n v3 = sub v0 v2 : f64[300007]\n return v1 v3\n}\n",
             1e3);
  check_text("graph {\n v0 = input [0] : f64[8192, 40] strides [40, 1]\n v1 = mul v0 v0 : f64[8192, 40]\n v2 "
             "= sum v1 [0, 0] : f64[40]\n v3 = sum v1 [0, 0, 1] : f64[]\n"
             " return v2 v3\n}\n",
             1e3);
  check_text("graph {\n v0 = input [0] : f64[2, 150000] strides [150000, 1]\n v1 = softmax v0 [1] : f64[2, "
             "150000]\n return v1\n}\n",
             1e3);
  struct lowered l = lower_text(
      "graph {\n v0 = input [0] : f64[300000] strides [1]\n v1 = sum v0 [0, 0] : f64[]\n return v1\n}\n",
      true);
  assert_int_equal(count_launches(l.list, TC_LAUNCH_KERNEL), 2);
  tc_arena_free(l.arena);
}

static void test_views_and_copies(void **state) {
  (void)state;
  check_text("graph {\n v0 = input [0] : f32[4, 6, 5] strides [30, 5, 1]\n v1 = permute v0 [2, 0, 1] : "
             "f32[5, 4, 6]\n v2 = reshape v1 [20, 6] : f32[20, 6]\n"
             " v3 = slice v2 [0, 1, 9, 2] : f32[9, 6]\n v4 = flip v3 [0, 1] : f32[9, 6]\n v5 = pad v4 [1, 2, "
             "0, 1] (0.5) : f32[12, 7]\n v6 = exp v5 : f32[12, 7]\n"
             " v7 = unsqueeze v6 [1] : f32[12, 1, 7]\n v8 = expand v7 [12, 2, 7] : f32[12, 2, 7]\n v9 = neg "
             "v8 : f32[12, 2, 7]\n return v3 v6 v9\n}\n",
             1);
  check_text("graph {\n v0 = input [0] : f32[3, 4] strides [4, 1]\n v1 = input [1] : f32[3, 2] strides [1, "
             "3]\n v2 = exp v1 : f32[3, 2]\n v3 = cat v0 v2 v0 [1] : f32[3, 10]\n"
             " v4 = tril v3 [1] : f32[3, 10]\n v5 = triu v3 [-1] : f32[3, 10]\n v6 = add v4 v5 : f32[3, "
             "10]\n v7 = clone v0 : f32[3, 4]\n return v3 v6 v7\n}\n",
             1);
  /* An operation under a pad must not leak its value at 0 into the border. */
  check_text("graph {\n v0 = input [0] : f32[5] strides [1]\n v1 = exp v0 : f32[5]\n v2 = pad v1 [2, 2] (0) "
             ": f32[9]\n return v2\n}\n",
             1);
}

static void test_create_and_random(void **state) {
  (void)state;
  check_text("graph {\n v0 = arange [3, 9] (0.5, 0.25) : f32[9]\n v1 = arange [1, 9] (3, 2) : i64[9]\n v2 = "
             "full [3, 0, 2, 3] (2.5) : f32[2, 3]\n"
             " v3 = rand [3, 9] : f32[9]\n v4 = randn [4, 9] : f64[9]\n v5 = add v0 v0 : f32[9]\n return v0 "
             "v1 v2 v5\n}\n",
             1);
  check_text("graph {\n v0 = rand [3, 4, 9] : f32[4, 9]\n v1 = randn [3, 4, 9] : f32[4, 9]\n v2 = rand [4, "
             "3] : f64[3]\n v3 = mul v0 v1 : f32[4, 9]\n"
             " v4 = sum v3 [0, 1] : f32[4]\n return v1 v2 v4\n}\n",
             1);
}

static void test_gathers(void **state) {
  (void)state;
  check_text("graph {\n v0 = input [0] : f32[6, 8] strides [8, 1]\n v1 = input [1] : i64[3, 2] strides [2, "
             "1]\n v2 = embedding v0 v1 : f32[3, 2, 8]\n"
             " v3 = exp v0 : f32[6, 8]\n v4 = permute v3 [1, 0] : f32[8, 6]\n v5 = gather v4 v1 [0] : f32[3, "
             "2]\n v6 = input [2] : i64[4] strides [1]\n"
             " v7 = index_select v0 v6 [1] : f32[6, 4]\n v8 = sin v7 : f32[6, 4]\n return v2 v5 v8\n}\n",
             1);
  /* Gathering from a reshape that is no strided view. */
  check_text("graph {\n v0 = input [0] : f32[4, 6] strides [1, 4]\n v1 = reshape v0 [24] : f32[24]\n v2 = "
             "input [1] : i64[5] strides [1]\n v3 = index_select v1 v2 [0] : f32[5]\n return v3\n}\n",
             1);
}

static void test_bad_index_sets_status(void **state) {
  (void)state;
  struct lowered l = lower_text("graph {\n v0 = input [0] : f32[2, 8] strides [8, 1]\n v1 = input [1] : "
                                "i64[64] strides [1]\n v2 = embedding v0 v1 : f32[64, 8]\n return v2\n}\n",
                                true);
  assert_int_not_equal(run_and_compare(&l, 1, 1), 0); /* indices go up to 4: some of 64 are outside */
  tc_arena_free(l.arena);
}

static void test_matmuls(void **state) {
  (void)state;
  check_text("graph {\n v0 = input [0] : f64[5, 7] strides [7, 1]\n v1 = input [1] : f64[4, 7] strides [7, "
             "1]\n v2 = permute v1 [1, 0] : f64[7, 4]\n v3 = matmul v0 v2 : f64[5, 4]\n return v3\n}\n",
             1);
  check_text("graph {\n v0 = input [0] : f64[2, 3, 5, 7] strides [105, 35, 7, 1]\n v1 = input [1] : f64[3, "
             "7, 4] strides [28, 4, 1]\n v2 = matmul v0 v1 : f64[2, 3, 5, 4]\n"
             " v3 = permute v2 [0, 2, 1, 3] : f64[2, 5, 3, 4]\n v4 = reshape v3 [2, 5, 12] : f64[2, 5, 12]\n "
             "v5 = input [2] : f64[12, 3] strides [3, 1]\n v6 = matmul v4 v5 : f64[2, 5, 3]\n return v6\n}\n",
             1);
  /* Operands without a unit stride, an expanded one, one row, one column, a sum of one. */
  check_text("graph {\n v0 = input [0] : f64[5, 6] strides [12, 2]\n v1 = input [1] : f64[6, 1] strides [3, "
             "1]\n v2 = matmul v0 v1 : f64[5, 1]\n v3 = input [2] : f64[1, 5] strides [5, 1]\n"
             " v4 = matmul v3 v0 : f64[1, 6]\n v5 = matmul v2 v3 : f64[5, 5]\n v6 = expand v3 [4, 5] : "
             "f64[4, 5]\n v7 = matmul v6 v5 : f64[4, 5]\n return v2 v4 v5 v7\n}\n",
             1);
  check_text("graph {\n v0 = input [0] : bf16[6, 8] strides [8, 1]\n v1 = input [1] : bf16[8, 5] strides [5, "
             "1]\n v2 = matmul v0 v1 : bf16[6, 5]\n v3 = relu v2 : bf16[6, 5]\n return v3\n}\n",
             1);
}

static void test_results_of_every_kind(void **state) {
  (void)state;
  /* An input itself, a view of an input, a reshape of it that is no view, the same result twice, a view of a
   * result. */
  check_text("graph {\n v0 = input [0] : f32[4, 6] strides [6, 1]\n v1 = permute v0 [1, 0] : f32[6, 4]\n v2 "
             "= reshape v1 [24] : f32[24]\n v3 = exp v0 : f32[4, 6]\n"
             " v4 = slice v3 [1, 2, 3, 1] : f32[4, 3]\n v5 = permute v4 [1, 0] : f32[3, 4]\n return v0 v1 v2 "
             "v3 v3 v5\n}\n",
             1);
  struct lowered l = lower_text("graph {\n v0 = input [0] : f32[4, 6] strides [6, 1]\n v1 = permute v0 [1, "
                                "0] : f32[6, 4]\n return v0 v1\n}\n",
                                true);
  assert_int_equal(l.list->n_launches, 0);
  assert_int_equal(l.list->n_allocated, 0);
  assert_int_equal(l.list->slots[l.list->outputs[1].slot].kind, TC_SLOT_INPUT);
  tc_arena_free(l.arena);
}

static void test_empty_tensors(void **state) {
  (void)state;
  check_text("graph {\n v0 = input [0] : f32[0, 5] strides [5, 1]\n v1 = exp v0 : f32[0, 5]\n v2 = sum v1 "
             "[0, 0] : f32[5]\n v3 = view v1 [5, 0] : f32[5, 0]\n v4 = sum v3 [0, 1] : f32[5]\n"
             " v5 = add v2 v4 : f32[5]\n v6 = permute v0 [1, 0] : f32[5, 0]\n v7 = matmul v6 v0 : f32[5, "
             "5]\n v8 = relu v7 : f32[5, 5]\n return v1 v2 v5 v8\n}\n",
             1);
}

static void test_memory_is_reused(void **state) {
  (void)state;
  struct lowered l =
      lower_text("graph {\n v0 = input [0] : f32[64, 64] strides [64, 1]\n v1 = matmul v0 v0 : f32[64, 64]\n "
                 "v2 = relu v1 : f32[64, 64]\n v3 = matmul v2 v0 : f32[64, 64]\n"
                 " v4 = relu v3 : f32[64, 64]\n v5 = matmul v4 v0 : f32[64, 64]\n v6 = relu v5 : f32[64, "
                 "64]\n return v6\n}\n",
                 true);
  const int64_t matrix = 64 * 64 * 4;
  assert_int_equal(tc_sym_value(l.list->pool_bytes),
                   2 * matrix); /* relu in place, and the next product beside it */
  assert_int_equal(l.list->pool_bytes_without_reuse, 5 * matrix);
  run_and_compare(&l, 2, 1e3);
  assert_int_equal(l.list->n_codes, 1); /* the pool's two, and the result's, are one kernel */
  tc_arena_free(l.arena);
}

/* More operands than a kernel has buffers: a long cat is made in groups, a long sum in several kernels. */
static void test_many_operands(void **state) {
  (void)state;
  enum { OPERANDS = 60 };
  struct tc_strbuf cat, sum;
  tc_strbuf_init(&cat, tc_alloc_system());
  tc_strbuf_init(&sum, tc_alloc_system());
  tc_strbuf_puts(&cat, "graph {\n");
  for (int i = 0; i < OPERANDS; i++) tc_strbuf_printf(&cat, " v%d = input [%d] : f64[7] strides [1]\n", i, i);
  for (int i = 0; i < OPERANDS; i++) tc_strbuf_printf(&cat, " v%d = sin v%d : f64[7]\n", OPERANDS + i, i);
  tc_strbuf_puts(&sum, tc_strbuf_text(&cat));
  tc_strbuf_printf(&cat, " v%d = cat", 2 * OPERANDS);
  for (int i = 0; i < OPERANDS; i++) tc_strbuf_printf(&cat, " v%d", OPERANDS + i);
  tc_strbuf_printf(&cat, " [0] : f64[%d]\n return v%d\n}\n", 7 * OPERANDS, 2 * OPERANDS);
  for (int i = 1; i < OPERANDS; i++)
    tc_strbuf_printf(&sum, " v%d = add v%d v%d : f64[7]\n", 2 * OPERANDS + i - 1,
                     i == 1 ? OPERANDS : 2 * OPERANDS + i - 2, OPERANDS + i);
  tc_strbuf_printf(&sum, " return v%d\n}\n", 3 * OPERANDS - 2);
  check_text(tc_strbuf_text(&cat), 1);
  check_text(tc_strbuf_text(&sum), 1);
  tc_strbuf_free(&cat);
  tc_strbuf_free(&sum);
}

/* One launch list with a size variable serves every value of it. */
static void check_symbolic(const char *text) {
  for (int fuse = 1; fuse >= 0; fuse--) {
    struct lowered symbolic = lower_text(text, fuse);
    assert_int_equal(symbolic.list->n_sizes, 1);
    for (int64_t size = 2; size < 40; size += 9) {
      struct tc_strbuf concrete;
      tc_strbuf_init(&concrete, tc_alloc_system());
      for (const char *at = text; *at; at++) {
        if (at[0] == 's' && at[1] == '0')
          tc_strbuf_printf(&concrete, "%d", (int)size), at++;
        else
          tc_strbuf_printf(&concrete, "%c", *at);
      }
      struct lowered plain = lower_text(tc_strbuf_text(&concrete), fuse);
      lowered_sizes[0] = size;
      run_against(symbolic.list, plain.graph, 2, 1e3);
      tc_arena_free(plain.arena);
      tc_strbuf_free(&concrete);
    }
    tc_arena_free(symbolic.arena);
  }
}

static void test_size_variables(void **state) {
  (void)state;
  check_symbolic("graph {\n v0 = input [0] : f64[s0, 24] strides [24, 1]\n v1 = input [1] : f64[24] strides "
                 "[1]\n v2 = mul v0 v1 : f64[s0, 24]\n v3 = softmax v2 [1] : f64[s0, 24]\n"
                 " v4 = input [2] : f64[24, 7] strides [7, 1]\n v5 = matmul v3 v4 : f64[s0, 7]\n v6 = relu "
                 "v5 : f64[s0, 7]\n v7 = sum v6 [0, 0] : f64[7]\n return v6 v7\n}\n");
  check_symbolic("graph {\n v0 = input [0] : f64[s0, 6, 4] strides [24, 4, 1]\n v1 = permute v0 [1, 0, 2] : "
                 "f64[6, s0, 4]\n v2 = tanh v1 : f64[6, s0, 4]\n v3 = amax v2 [1, 1] : f64[6, 1, 4]\n"
                 " v4 = sub v2 v3 : f64[6, s0, 4]\n v5 = slice v4 [0, 1, 4, 1] : f64[4, s0, 4]\n v6 = cat v5 "
                 "v2 [0] : f64[10, s0, 4]\n v7 = softmax v6 [1] : f64[10, s0, 4]\n return v4 v7\n}\n");
}

/* The specification of loops finds what is wrong with them. */
static void test_loop_specification(void **state) {
  (void)state;
  struct lowered l = lower_text("graph {\n v0 = input [0] : f32[4, 8] strides [8, 1]\n v1 = exp v0 : f32[4, "
                                "8]\n v2 = sum v1 [0, 1] : f32[4]\n return v2\n}\n",
                                true);
  struct tc_error err = {0};
  assert_int_equal(tc_loops_verify(l.loops, &err), TC_OK);
  struct tc_loop *last = l.loops->items.data[l.loops->items.len - 1];
  const struct tc_expr *value = last->value;
  last->value = NULL;
  assert_int_equal(tc_loops_verify(l.loops, &err), TC_VERIFY);
  last->value = value;
  last->id++;
  assert_int_equal(tc_loops_verify(l.loops, &err), TC_VERIFY);
  last->id--;
  l.loops->outputs[0].loop = (int)l.loops->items.len;
  assert_int_equal(tc_loops_verify(l.loops, &err), TC_VERIFY);
  tc_arena_free(l.arena);
}

enum { RANDOM_GRAPHS = 400 };
static void test_random_graphs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= RANDOM_GRAPHS; seed++)
    for (int fuse = 1; fuse >= 0; fuse--) {
      struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
      lower_graph(&l, random_graph(l.arena, seed, TC_F64), fuse);
      run_and_compare(&l, 1 + (int)(seed % 3), 1e3);
      tc_arena_free(l.arena);
    }
}

/* The same with size variables: one list for all sizes. Facts may refuse some, but few. */
static void test_random_sizes(void **state) {
  (void)state;
  int served = 0, refused = 0;
  for (uint64_t seed = 1; seed <= RANDOM_GRAPHS; seed++)
    for (int fuse = 1; fuse >= 0; fuse--) run_symbolic_graph(seed, TC_F64, fuse, 1e3, &served, &refused);
  assert_true(served > 20 * refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_expressions_are_one),
      cmocka_unit_test(test_folding_keeps_every_bit),
      cmocka_unit_test(test_pointwise),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_two_stages),
      cmocka_unit_test(test_views_and_copies),
      cmocka_unit_test(test_create_and_random),
      cmocka_unit_test(test_gathers),
      cmocka_unit_test(test_bad_index_sets_status),
      cmocka_unit_test(test_matmuls),
      cmocka_unit_test(test_results_of_every_kind),
      cmocka_unit_test(test_empty_tensors),
      cmocka_unit_test(test_memory_is_reused),
      cmocka_unit_test(test_size_variables),
      cmocka_unit_test(test_many_operands),
      cmocka_unit_test(test_loop_specification),
      cmocka_unit_test(test_random_graphs),
      cmocka_unit_test(test_random_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

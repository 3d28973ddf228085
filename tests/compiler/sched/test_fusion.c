/* What fusion makes of the patterns that the suites rest on: how many kernels and library calls, how many
 * phases, and the text of some kernels. Each is also run against the reference. */
#include "tests/compiler/ir/lowered.h"

static struct lowered check_counts(const char *text, int kernels, int calls, double scale) {
  struct lowered l = lower_text(text, true);
  run_and_compare(&l, 2, scale);
  assert_int_equal(count_launches(l.list, TC_LAUNCH_KERNEL), kernels);
  assert_int_equal(count_launches(l.list, TC_LAUNCH_GEMM), calls);
  return l;
}
static const struct tc_kernel *kernel_at(const struct lowered *l, int launch) {
  return l->list->codes[l->list->launches[launch].code].kernel;
}

/* Text of a kernel with its variables numbered by their place. */
static void assert_kernel(const struct lowered *l, int launch, const char *want) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  const struct tc_kernel *k = kernel_at(l, launch);
  tc_kernel_print(&text, k);
  const char *got = tc_strbuf_text(&text);
  struct tc_strbuf plain;
  tc_strbuf_init(&plain, tc_alloc_system());
  while (*got) {
    int place = -1, used = 0;
    for (int i = 0; i < k->n_outer + k->n_inner && place < 0; i++) {
      const tc_sym var = i < k->n_outer ? k->outer[i].var : k->inner[i - k->n_outer].var;
      char name[32];
      used = snprintf(name, sizeof name, "i%d", tc_sym_id(var));
      if (!strncmp(got, name, (size_t)used) && (got[used] < '0' || got[used] > '9')) place = i;
    }
    if (place < 0)
      tc_strbuf_printf(&plain, "%c", *got++);
    else
      tc_strbuf_printf(&plain, "%s%d", place < k->n_outer ? "o" : "r",
                       place < k->n_outer ? place : place - k->n_outer),
          got += used;
  }
  assert_string_equal(tc_strbuf_text(&plain), want);
  tc_strbuf_free(&text);
  tc_strbuf_free(&plain);
}

static void test_pointwise_chain(void **state) {
  (void)state;
  struct lowered l =
      check_counts("graph {\n v0 = input [0] : f32[8, 32] strides [32, 1]\n v1 = mul v0 v0 : f32[8, 32]\n v2 "
                   "= relu v1 : f32[8, 32]\n v3 = exp v2 : f32[8, 32]\n return v3\n}\n",
                   1, 0, 1);
  assert_kernel(&l, 0,
                "kernel fused_mul_relu_exp outer() inner(r0 < 256) lanes inner split {\n"
                "  b0: write f32[256]\n"
                "  b1: read f32[256]\n"
                "  over inner:\n"
                "    b0[r0] = exp(relu(mul(load b1[r0], load b1[r0])))\n"
                "}\n");
  tc_arena_free(l.arena);
  /* A chain of functions may run in stages over short rows; it is one kernel, and reads and writes once. */
  l = check_counts("graph {\n v0 = input [0] : f32[64, 32] strides [32, 1]\n v1 = sin v0 : f32[64, 32]\n v2 "
                   "= cos v1 : f32[64, 32]\n v3 = tan v2 : f32[64, 32]\n v4 = exp v3 : f32[64, 32]\n"
                   " v5 = log v4 : f32[64, 32]\n return v5\n}\n",
                   1, 0, 1);
  assert_int_equal(l.list->launches[0].bytes, 2 * 64 * 32 * 4);
  assert_int_equal(l.list->launches[0].n_ops, 5);
  tc_arena_free(l.arena);
}

static void test_gelu_affine_residual(void **state) {
  (void)state;
  struct lowered l = check_counts(
      "graph {\n v0 = input [0] : f32[64, 64] strides [64, 1]\n v1 = input [1] : f32[64, 64] strides [64, "
      "1]\n v2 = input [2] : f32[64, 64] strides [64, 1]\n"
      " v3 = input [3] : f32[64, 64] strides [64, 1]\n v4 = mul v0 v1 : f32[64, 64]\n v5 = add v4 v2 : "
      "f32[64, 64]\n v6 = gelu v5 : f32[64, 64]\n v7 = add v6 v3 : f32[64, 64]\n return v7\n}\n",
      1, 0, 1);
  assert_int_equal(l.list->launches[0].bytes, 5 * 64 * 64 * 4);
  tc_arena_free(l.arena);
}

/* A vector along columns and one along rows: two loops, no division in any address. */
static void test_three_inputs_with_broadcasts(void **state) {
  (void)state;
  struct lowered l = check_counts("graph {\n v0 = input [0] : f32[100, 48] strides [48, 1]\n v1 = input [1] "
                                  ": f32[48] strides [1]\n v2 = input [2] : f32[100, 1] strides [1, 1]\n"
                                  " v3 = mul v0 v1 : f32[100, 48]\n v4 = add v3 v2 : f32[100, 48]\n v5 = "
                                  "tanh v4 : f32[100, 48]\n return v5\n}\n",
                                  1, 0, 1);
  assert_kernel(&l, 0,
                "kernel fused_mul_add_tanh outer(o0 < 100) inner(r0 < 48) lanes inner {\n"
                "  b0: write f32[4800]\n"
                "  b1: read f32[4800]\n"
                "  b2: read f32[48]\n"
                "  b3: read f32[100]\n"
                "  over inner:\n"
                "    b0[o0*48 + r0] = tanh(add(mul(load b1[o0*48 + r0], load b2[r0]), load b3[o0]))\n"
                "}\n");
  tc_arena_free(l.arena);
}

static void test_softmax(void **state) {
  (void)state;
  struct lowered l = check_counts("graph {\n v0 = input [0] : f32[64, 100] strides [100, 1]\n v1 = softmax "
                                  "v0 [1] : f32[64, 100]\n return v1\n}\n",
                                  1, 0, 1);
  assert_kernel(&l, 0,
                "kernel fused_amax_sub_exp_sum_div outer(o0 < 64) inner(r0 < 100) lanes inner {\n"
                "  b0: read f32[6400]\n"
                "  b1: write f32[6400]\n"
                "  b2: scratch f32[100]\n"
                "  over inner:\n"
                "    acc0 = max load b0[o0*100 + r0]\n"
                "  over inner:\n"
                "    v3 = exp(sub(load b0[o0*100 + r0], acc0))\n"
                "    acc1 = sum v3\n"
                "    b2[r0] = v3\n"
                "  over inner:\n"
                "    b1[o0*100 + r0] = div(load b2[r0], acc1)\n"
                "}\n");
  tc_arena_free(l.arena);
  /* Over the first dim: vectors lie along what is kept. */
  l = check_counts("graph {\n v0 = input [0] : f32[30, 256] strides [256, 1]\n v1 = softmax v0 [0] : f32[30, "
                   "256]\n return v1\n}\n",
                   1, 0, 1);
  assert_int_equal(kernel_at(&l, 0)->lanes, TC_LANES_OUTER);
  tc_arena_free(l.arena);
  /* Four values a row fill no vector: vectors lie along the rows. */
  l = check_counts("graph {\n v0 = input [0] : f32[1000, 4] strides [4, 1]\n v1 = softmax v0 [1] : f32[1000, "
                   "4]\n return v1\n}\n",
                   1, 0, 1);
  assert_int_equal(kernel_at(&l, 0)->lanes, TC_LANES_OUTER);
  tc_arena_free(l.arena);
}

static void test_entropy(void **state) {
  (void)state;
  struct lowered l =
      check_counts("graph {\n v0 = input [0] : f32[4, 9, 70] strides [630, 70, 1]\n v1 = softmax v0 [2] : "
                   "f32[4, 9, 70]\n v2 = log v1 : f32[4, 9, 70]\n v3 = mul v1 v2 : f32[4, 9, 70]\n"
                   " v4 = sum v3 [0, 2] : f32[4, 9]\n v5 = neg v4 : f32[4, 9]\n return v5\n}\n",
                   1, 0, 1);
  assert_int_equal(kernel_at(&l, 0)->n_phases, 4);
  assert_int_equal(kernel_at(&l, 0)->n_accs, 3);
  assert_int_equal(tc_sym_value(l.list->launches[0].items), 36);
  tc_arena_free(l.arena);
}

static void test_layer_norm_gelu_residual(void **state) {
  (void)state;
  struct lowered l = check_counts("graph {\n v0 = input [0] : f32[16, 128] strides [128, 1]\n v1 = input [1] "
                                  ": f32[128] strides [1]\n v2 = input [2] : f32[128] strides [1]\n"
                                  " v3 = layer_norm v0 v1 v2 [1, 1, 1] (1e-5) : f32[16, 128]\n v4 = gelu v3 "
                                  ": f32[16, 128]\n v5 = add v4 v0 : f32[16, 128]\n return v5\n}\n",
                                  1, 0, 1);
  assert_int_equal(kernel_at(&l, 0)->n_phases,
                   3); /* mean, variance, result: loads are cheaper than a scratch row */
  assert_int_equal(kernel_at(&l, 0)->n_buffers, 4);
  tc_arena_free(l.arena);
}

static void test_mlp(void **state) {
  (void)state;
  struct lowered l = check_counts(
      "graph {\n v0 = input [0] : f64[8, 10] strides [10, 1]\n v1 = input [1] : f64[40, 10] strides [10, "
      "1]\n v2 = input [2] : f64[40] strides [1]\n"
      " v3 = input [3] : f64[40, 40] strides [40, 1]\n v4 = input [4] : f64[40] strides [1]\n v5 = input [5] "
      ": f64[10, 40] strides [40, 1]\n v6 = input [6] : f64[10] strides [1]\n"
      " v7 = linear v0 v1 v2 : f64[8, 40]\n v8 = relu v7 : f64[8, 40]\n v9 = linear v8 v3 v4 : f64[8, 40]\n "
      "v10 = relu v9 : f64[8, 40]\n v11 = linear v10 v5 v6 : f64[8, 10]\n return v11\n}\n",
      3, 3, 1e3);
  assert_int_equal(l.list->n_codes, 2); /* the two bias + relu are one kernel */
  const struct tc_gemm *g = &l.list->launches[0].gemm;
  assert_true(tc_sym_is(g->b.row_stride, 1) && tc_sym_is(g->b.col_stride, 10)); /* the weight as it lies */
  tc_arena_free(l.arena);
}

static void test_softmax_matmul(void **state) {
  (void)state;
  struct lowered l = check_counts(
      "graph {\n v0 = input [0] : f64[20, 20] strides [20, 1]\n v1 = input [1] : f64[20, 20] strides [20, "
      "1]\n v2 = softmax v0 [1] : f64[20, 20]\n v3 = matmul v2 v1 : f64[20, 20]\n return v3\n}\n",
      1, 1, 1);
  tc_arena_free(l.arena);
}

/* Eight loads of shifted slices, one kernel. */
static void test_sobel_by_slices(void **state) {
  (void)state;
  struct lowered l = check_counts(
      "graph {\n v0 = input [0] : f32[2, 18, 34] strides [612, 34, 1]\n v1 = slice v0 [1, 0, 16, 1] : f32[2, "
      "16, 34]\n v2 = slice v1 [2, 0, 32, 1] : f32[2, 16, 32]\n"
      " v3 = slice v1 [2, 2, 32, 1] : f32[2, 16, 32]\n v4 = sub v3 v2 : f32[2, 16, 32]\n v5 = slice v0 [1, "
      "2, 16, 1] : f32[2, 16, 34]\n v6 = slice v5 [2, 0, 32, 1] : f32[2, 16, 32]\n"
      " v7 = sub v6 v2 : f32[2, 16, 32]\n v8 = mul v4 v4 : f32[2, 16, 32]\n v9 = mul v7 v7 : f32[2, 16, "
      "32]\n v10 = add v8 v9 : f32[2, 16, 32]\n v11 = sqrt v10 : f32[2, 16, 32]\n return v11\n}\n",
      1, 0, 1);
  assert_int_equal(kernel_at(&l, 0)->n_buffers, 2);
  tc_arena_free(l.arena);
}

static void test_query_content_attention(void **state) {
  (void)state;
  struct lowered l = check_counts(
      "graph {\n v0 = input [0] : f64[3, 1, 64] strides [64, 64, 1]\n v1 = input [1] : f64[3, 20, 64] "
      "strides [1280, 64, 1]\n v2 = mul v0 v1 : f64[3, 20, 64]\n"
      " v3 = sum v2 [0, 2] : f64[3, 20]\n v4 = softmax v3 [1] : f64[3, 20]\n v5 = unsqueeze v4 [2] : f64[3, "
      "20, 1]\n v6 = mul v5 v1 : f64[3, 20, 64]\n v7 = sum v6 [0, 1] : f64[3, 64]\n return v7\n}\n",
      3, 0, 1e3);
  assert_int_equal(kernel_at(&l, 0)->lanes, TC_LANES_INNER);
  assert_int_equal(kernel_at(&l, 2)->lanes, TC_LANES_OUTER);
  tc_arena_free(l.arena);
}

static void test_attention(void **state) {
  (void)state;
  struct lowered l = check_counts(
      "graph {\n v0 = input [0] : f64[2, 3, 12, 8] strides [288, 96, 8, 1]\n v1 = input [1] : f64[2, 3, 12, "
      "8] strides [288, 96, 8, 1]\n v2 = input [2] : f64[2, 3, 12, 8] strides [288, 96, 8, 1]\n"
      " v3 = sdpa v0 v1 v2 [1] (0.35) : f64[2, 3, 12, 8]\n return v3\n}\n",
      1, 2, 1e3);
  assert_int_equal(l.list->launches[0].gemm.n_batch, 1); /* batch and heads walk as one */
  tc_arena_free(l.arena);
}

static const char *const block_text =
    "graph {\n v0 = input [0] : f64[2, 6, 16] strides [96, 16, 1]\n v1 = input [1] : f64[16] strides [1]\n "
    "v2 = input [2] : f64[16] strides [1]\n v3 = input [3] : f64[16, 16] strides [16, 1]\n"
    " v4 = input [4] : f64[16] strides [1]\n v5 = input [5] : f64[16, 16] strides [16, 1]\n v6 = input [6] : "
    "f64[16] strides [1]\n v7 = input [7] : f64[16, 16] strides [16, 1]\n v8 = input [8] : f64[16] strides "
    "[1]\n"
    " v9 = input [9] : f64[16, 16] strides [16, 1]\n v10 = input [10] : f64[16] strides [1]\n v11 = input "
    "[11] : f64[64, 16] strides [16, 1]\n v12 = input [12] : f64[64] strides [1]\n v13 = input [13] : "
    "f64[16, 64] strides [64, 1]\n"
    " v14 = layer_norm v0 v1 v2 [1, 1, 1] (1e-5) : f64[2, 6, 16]\n"
    " v15 = linear v14 v3 v4 : f64[2, 6, 16]\n v16 = view v15 [2, 6, 4, 4] : f64[2, 6, 4, 4]\n v17 = permute "
    "v16 [0, 2, 1, 3] : f64[2, 4, 6, 4]\n"
    " v18 = linear v14 v5 v6 : f64[2, 6, 16]\n v19 = view v18 [2, 6, 4, 4] : f64[2, 6, 4, 4]\n v20 = permute "
    "v19 [0, 2, 1, 3] : f64[2, 4, 6, 4]\n"
    " v21 = linear v14 v7 v8 : f64[2, 6, 16]\n v22 = view v21 [2, 6, 4, 4] : f64[2, 6, 4, 4]\n v23 = permute "
    "v22 [0, 2, 1, 3] : f64[2, 4, 6, 4]\n"
    " v24 = sdpa v17 v20 v23 [0] (0.5) : f64[2, 4, 6, 4]\n v25 = permute v24 [0, 2, 1, 3] : f64[2, 6, 4, "
    "4]\n v26 = reshape v25 [2, 6, 16] : f64[2, 6, 16]\n"
    " v27 = linear v26 v9 v10 : f64[2, 6, 16]\n v28 = add v0 v27 : f64[2, 6, 16]\n v29 = layer_norm v28 v1 "
    "v2 [1, 1, 1] (1e-5) : f64[2, 6, 16]\n"
    " v30 = linear v29 v11 v12 : f64[2, 6, 64]\n v31 = gelu v30 : f64[2, 6, 64]\n v32 = linear v31 v13 v4 : "
    "f64[2, 6, 16]\n v33 = add v28 v32 : f64[2, 6, 16]\n return v33\n}\n";

static void test_transformer_block(void **state) {
  (void)state;
  /* norm; three biases; softmax; bias, residual and norm; bias and gelu; bias and residual. */
  struct lowered l = check_counts(block_text, 6, 8, 1e4);
  const struct tc_gemm *attended = &l.list->launches[7].gemm;
  assert_true(tc_sym_is(attended->c.row_stride, 16) &&
              tc_sym_is(attended->c.batch_strides[1], 4)); /* written in [B, T, H, D] */
  for (int i = 0; i < l.list->n_launches; i++)             /* batch is folded into rows but in attention */
    if (l.list->launches[i].kind == TC_LAUNCH_GEMM && i != 5 && i != 7)
      assert_int_equal(l.list->launches[i].gemm.n_batch, 0);
  assert_true((uint64_t)tc_sym_value(l.list->pool_bytes) * 2 < l.list->pool_bytes_without_reuse);
  tc_arena_free(l.arena);
}

/* What two kernels would read apart is fused only where no path leads through a third. */
static void test_no_cycles(void **state) {
  (void)state;
  struct lowered l =
      check_counts("graph {\n v0 = input [0] : f64[12, 12] strides [12, 1]\n v1 = exp v0 : f64[12, 12]\n v2 "
                   "= matmul v1 v0 : f64[12, 12]\n v3 = add v1 v2 : f64[12, 12]\n v4 = sin v1 : f64[12, 12]\n"
                   " return v3 v4\n}\n",
                   2, 1, 1e3);
  tc_arena_free(l.arena);
}

/* Independent small kernels of one shape are launched as one; a residual that is used again is stored
 * once. */
static void test_side_by_side(void **state) {
  (void)state;
  struct lowered l = check_counts(
      "graph {\n v0 = input [0] : f32[40] strides [1]\n v1 = input [1] : f32[40] strides [1]\n v2 = exp v0 : "
      "f32[40]\n v3 = sin v1 : f32[40]\n v4 = mul v2 v3 : f32[40]\n return v2 v3 v4\n}\n",
      1, 0, 1);
  assert_int_equal(kernel_at(&l, 0)->phases[0].n_stores, 3);
  tc_arena_free(l.arena);
}

static void test_fuse_off(void **state) {
  (void)state;
  struct lowered l = lower_text("graph {\n v0 = input [0] : f32[64, 100] strides [100, 1]\n v1 = softmax v0 "
                                "[1] : f32[64, 100]\n return v1\n}\n",
                                false);
  assert_int_equal(l.list->n_launches, 5);
  tc_arena_free(l.arena);
}

/* Switches that bound a kernel: what is one kernel by default becomes several, and stays right. */
static void test_bounded_kernels(void **state) {
  (void)state;
  static const char text[] = "graph {\n v0 = input [0] : f32[40] strides [1]\n v1 = input [1] : f32[40] "
                             "strides [1]\n v2 = input [2] : f32[40] strides [1]\n"
                             " v3 = input [3] : f32[40] strides [1]\n v4 = mul v0 v1 : f32[40]\n v5 = exp v4 "
                             ": f32[40]\n v6 = mul v5 v2 : f32[40]\n"
                             " v7 = sin v6 : f32[40]\n v8 = mul v7 v3 : f32[40]\n return v8\n}\n";
  static const struct {
    const char *name, *value;
    int least;
  } rows[] = {{"fuse", "on", 1}, {"fuse_max_reads", "2", 2}, {"fuse_max_ops", "1", 5}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lowered l = lower_switched(text, rows[i].name, rows[i].value);
    if (rows[i].least == 1) assert_int_equal(l.list->n_launches, 1);
    assert_true(l.list->n_launches >= rows[i].least);
    run_and_compare(&l, 1, 1);
    tc_arena_free(l.arena);
  }
}

/* The residual is computed in the first pass, stored, and read back: not recomputed from three operands. */
static void test_stored_value_is_read_back(void **state) {
  (void)state;
  struct lowered l =
      check_counts("graph {\n v0 = input [0] : f32[16, 64] strides [64, 1]\n v1 = input [1] : f32[16, 64] "
                   "strides [64, 1]\n v2 = input [2] : f32[64] strides [1]\n v3 = add v1 v2 : f32[16, 64]\n"
                   " v4 = add v0 v3 : f32[16, 64]\n v5 = amax v4 [1, 1] : f32[16, 1]\n v6 = sub v4 v5 : "
                   "f32[16, 64]\n return v4 v6\n}\n",
                   1, 0, 1);
  const struct tc_kernel *k = kernel_at(&l, 0);
  int read_back = 0;
  for (int i = 0; i < k->n_buffers; i++) read_back += k->buffers[i].role == TC_ROLE_READ_WRITE;
  assert_int_equal(read_back, 1);
  tc_arena_free(l.arena);
}

/* A split image is folded back: the partial sums ride with the pixels. */
static void test_long_sum_rides_with_its_producer(void **state) {
  (void)state;
  struct lowered l = check_counts("graph {\n v0 = input [0] : f64[512, 600] strides [600, 1]\n v1 = exp v0 : "
                                  "f64[512, 600]\n v2 = mean v1 [0, 0, 1] : f64[]\n return v1 v2\n}\n",
                                  2, 0, 1e3);
  assert_int_equal(kernel_at(&l, 0)->n_accs, 1);
  tc_arena_free(l.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pointwise_chain),
      cmocka_unit_test(test_gelu_affine_residual),
      cmocka_unit_test(test_three_inputs_with_broadcasts),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_entropy),
      cmocka_unit_test(test_layer_norm_gelu_residual),
      cmocka_unit_test(test_mlp),
      cmocka_unit_test(test_softmax_matmul),
      cmocka_unit_test(test_sobel_by_slices),
      cmocka_unit_test(test_query_content_attention),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_transformer_block),
      cmocka_unit_test(test_no_cycles),
      cmocka_unit_test(test_side_by_side),
      cmocka_unit_test(test_fuse_off),
      cmocka_unit_test(test_bounded_kernels),
      cmocka_unit_test(test_stored_value_is_read_back),
      cmocka_unit_test(test_long_sum_rides_with_its_producer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

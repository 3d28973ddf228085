/* Graphs as text: what is printed parses to the same text; bad text is refused with its line; specs notice
 * damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph.h"

static const char mlp[] = "graph {\n"
                          "  v0 = input [0] : f32[8, 16] strides [16, 1]\n"
                          "  v1 = input [1] : f32[32, 16] strides [16, 1]\n"
                          "  v2 = input [2] : f32[32] strides [1]\n"
                          "  v3 = linear v0 v1 v2 : f32[8, 32]\n"
                          "  v4 = relu v3 : f32[8, 32]\n"
                          "  v5 = full [3, 0] (0.5) : f32[]\n"
                          "  v6 = mul v4 v5 : f32[8, 32]\n"
                          "  v7 = sum v6 [0, 1] : f32[8]\n"
                          "  return v7 v6\n"
                          "}\n";

static struct tc_graph *parse(struct tc_arena *arena, const char *text, tc_status expected,
                              struct tc_error *err) {
  struct tc_graph *g = NULL;
  memset(err, 0, sizeof *err);
  const tc_status status = tc_graph_parse(arena, text, &g, err);
  if (status != expected) fail_msg("%s: %s", tc_status_name(status), err->message);
  return g;
}

static void test_round_trip(void **state) {
  (void)state;
  struct tc_error err;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_graph *g = parse(arena, mlp, TC_OK, &err);
  struct tc_strbuf out;
  tc_strbuf_init(&out, tc_arena_alloc(arena));
  tc_graph_print(&out, g);
  assert_string_equal(tc_strbuf_text(&out), mlp);
  assert_int_equal(tc_graph_verify(g, TC_SPEC_CAPTURED, &err), TC_OK);
  assert_int_equal(tc_graph_verify(g, TC_SPEC_DECOMPOSED, &err), TC_VERIFY); /* linear has a decomposition */
  tc_arena_free(arena);
}

/* The example at the head of graph.h is a graph. */
static void test_example(void **state) {
  (void)state;
  enum { HEAD = 4096, INDENT = 3 };
  static char head[HEAD], text[HEAD];
  struct tc_error err;
  FILE *file = fopen(TB_SRCDIR "/compiler/ir/graph.h", "re");
  assert_non_null(file);
  head[fread(head, 1, sizeof head - 1, file)] = '\0';
  fclose(file);
  char *line = strstr(head, "graph {");
  assert_non_null(line);
  for (char *end; (end = strchr(line, '\n')); line = end + 1 + INDENT) { /* without " * " */
    strncat(text, line, (size_t)(end - line) + 1);
    if (end[-1] == '}') break;
  }
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  const struct tc_graph *g = parse(arena, text, TC_OK, &err);
  assert_int_equal(g->nodes.len, 3);
  assert_int_equal(tc_graph_verify(g, TC_SPEC_CAPTURED, &err), TC_OK);
  tc_arena_free(arena);
}

static void test_bad_text(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
    tc_status status;
  } rows[] = {
      {"", "graph", TC_PARSE},
      {"graph { v0 = input [0] : f32[2]\n  v1 = add v0 v9\n return v1 }", "operand", TC_PARSE},
      {"graph {\n v0 = input [0] : f99[2] return v0 }", "line 2: unknown dtype", TC_PARSE},
      {"graph { v0 = input [0] : f32[2] v1 = nonsense v0 return v1 }", "unknown operation", TC_PARSE},
      {"graph { v0 = input [0] : f32[2] v1 = relu v0 : f32[3] return v1 }", "differs", TC_PARSE},
      {"graph { v0 = input [0] : f32[2] v1 = input [1] : f32[3] v2 = add v0 v1 return v2 }", "[2]", TC_SHAPE},
      {"graph { v0 = input [0] : f32[2] return v0", "expected }", TC_PARSE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tc_error err;
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    parse(arena, rows[i].text, rows[i].status, &err);
    if (!strstr(err.message, rows[i].says)) fail_msg("'%s' does not say '%s'", err.message, rows[i].says);
    tc_arena_free(arena);
  }
}

static void test_dead_nodes(void **state) {
  (void)state;
  struct tc_error err;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_graph *g = parse(
      arena, "graph { v0 = input [0] : f32[4] v1 = exp v0 v2 = log v1 v3 = relu v0 return v3 }", TC_OK, &err);
  tc_graph_count_uses(g);
  tc_graph_remove_unused(g);
  assert_int_equal(g->nodes.len, 2);
  assert_int_equal(g->nodes.data[1]->op, TC_OP_relu);
  assert_int_equal(g->nodes.data[1]->id, 1);
  assert_int_equal(tc_graph_verify(g, TC_SPEC_DECOMPOSED, &err), TC_OK);
  tc_arena_free(arena);
}

static void test_verify_notices(void **state) {
  (void)state;
  struct tc_error err;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_graph *g = parse(arena, mlp, TC_OK, &err);
  struct tc_node *relu = g->nodes.data[4];
  struct tc_node *const operand = relu->in[0];
  relu->in[0] = g->nodes.data[6];
  assert_int_equal(tc_graph_verify(g, TC_SPEC_CAPTURED, &err), TC_VERIFY);
  relu->in[0] = operand;
  relu->meta.sizes[0] = tc_sym_const(9);
  assert_int_equal(tc_graph_verify(g, TC_SPEC_CAPTURED, &err), TC_VERIFY);
  tc_arena_free(arena);
}

/* Random damage of the text is refused or gives some other graph; it never crashes. */
static void test_damaged_text(void **state) {
  (void)state;
  char text[sizeof mlp];
  srand(7);
  for (int i = 0; i < 5000; i++) {
    memcpy(text, mlp, sizeof mlp);
    for (int k = 0; k < 1 + i % 3; k++) text[(size_t)rand() % (sizeof mlp - 1)] = (char)(32 + rand() % 95);
    struct tc_error err;
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    struct tc_graph *g;
    (void)tc_graph_parse(arena, text, &g, &err);
    tc_arena_free(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_example),
      cmocka_unit_test(test_bad_text),       cmocka_unit_test(test_dead_nodes),
      cmocka_unit_test(test_verify_notices), cmocka_unit_test(test_damaged_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

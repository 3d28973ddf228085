/* Calls tensor functions over the recording builder and says what they emitted, as one line:
 * "cast add -> [2, 3] f32", results separated by ";", or "error TC_NAME: message". */
#ifndef TESTS_OPS_RECORDER_H
#define TESTS_OPS_RECORDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph.h"
#include "ops/function.h"

struct recorder {
  struct tc_arena *arena;
  struct tc_graph *graph;
  struct tc_graph_builder gb;
  struct tc_results results;
  char line[1024];
};

static inline void recorder_open(struct recorder *r) {
  r->arena = tc_arena_new(tc_alloc_system());
  assert_non_null(r->arena);
  r->graph = tc_graph_new(r->arena);
  assert_non_null(r->graph);
  tc_graph_builder_init(&r->gb, r->graph);
}
static inline void recorder_close(struct recorder *r) { tc_arena_free(r->arena); }

/* An input of the given sizes. */
static inline struct tc_value *recorder_input(struct recorder *r, tc_dtype dtype, int ndim,
                                              const int64_t *sizes) {
  struct tc_meta meta = {.dtype = dtype, .ndim = ndim};
  int64_t strides[TC_MAX_DIMS];
  tc_sym sym_strides[TC_MAX_DIMS];
  tc_contiguous_strides(ndim, sizes, strides);
  for (int d = 0; d < ndim; d++) {
    meta.sizes[d] = tc_sym_const(sizes[d]);
    sym_strides[d] = tc_sym_const(strides[d]);
  }
  struct tc_node *node = tc_graph_input(r->graph, &meta, sym_strides);
  assert_non_null(node);
  return tc_value_of(node);
}
#define INPUT(r, dtype, ...)                                                                                 \
  recorder_input((r), (dtype), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                    \
                 (const int64_t[]){__VA_ARGS__})
#define INPUT0(r, dtype) recorder_input((r), (dtype), 0, NULL)

#define A_NIL      {.kind = TC_ARG_NIL}
#define A_VALUE(v) {TC_ARG_VALUE, .value = (v)}
#define A_INT(i)   {TC_ARG_INT, .integer = tc_sym_const(i)}
#define A_NUM(n)   {TC_ARG_NUM, .number = (n)}
#define A_TEXT(t)  {TC_ARG_TEXT, .text = (t)}
#define A_BOOL(b)  {TC_ARG_BOOL, .boolean = (b)}
#define A_LIST(...)                                                                                          \
  {                                                                                                          \
    TC_ARG_LIST, .list = {                                                                                   \
      (const struct tc_arg[]){__VA_ARGS__},                                                                  \
      (int)(sizeof((const struct tc_arg[]){__VA_ARGS__}) / sizeof(struct tc_arg))                            \
    }                                                                                                        \
  }
#define A_EMPTY {TC_ARG_LIST, .list = {NULL, 0}}

static inline void append_results(struct recorder *r, struct tc_strbuf *out, size_t mark) {
  for (size_t i = mark; i < r->graph->nodes.len; i++)
    tc_strbuf_printf(out, "%s ", tc_op_row(r->graph->nodes.data[i]->op)->name);
  for (int i = 0; i < r->results.count; i++) {
    struct tc_meta meta;
    tc_value_meta(&r->gb.builder, r->results.values[i], &meta);
    tc_strbuf_puts(out, i ? "; " : "-> ");
    tc_meta_print(out, &meta);
  }
}

static inline const char *record_named(struct recorder *r, const char *name, const struct tc_arg *args, int n,
                                       const struct tc_named_arg *named, int n_named) {
  const struct tc_function *f = tc_function_find(name);
  assert_non_null(f);
  struct tc_arg bound[TC_MAX_ARGS];
  memset(bound, 0xA5, sizeof bound); /* the binder has to fill what is read */
  struct tc_error err = {0};
  const size_t mark = r->graph->nodes.len;
  tc_status status = tc_function_bind(f, args, n, named, n_named, bound, &err);
  if (!status) status = f->run(&r->gb.builder, bound, n, &r->results, &err);
  if (status) {
    snprintf(r->line, sizeof r->line, "error %s: %s", tc_status_name(status), err.message);
    return r->line;
  }
  struct tc_strbuf out;
  tc_strbuf_init(&out, tc_alloc_system());
  append_results(r, &out, mark);
  const char *text = tc_strbuf_text(&out);
  assert_non_null(text);
  snprintf(r->line, sizeof r->line, "%s", text);
  tc_strbuf_free(&out);
  return r->line;
}

#define ARGS(...)                                                                                            \
  (const struct tc_arg[]){__VA_ARGS__},                                                                      \
      (int)(sizeof((const struct tc_arg[]){__VA_ARGS__}) / sizeof(struct tc_arg))
#define CALL(r, name, ...) record_named((r), (name), ARGS(__VA_ARGS__), NULL, 0)
#define NAMED(...)                                                                                           \
  (const struct tc_named_arg[]){__VA_ARGS__},                                                                \
      (int)(sizeof((const struct tc_named_arg[]){__VA_ARGS__}) / sizeof(struct tc_named_arg))

#endif

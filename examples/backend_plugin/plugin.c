/* A backend as a plug-in: it runs graphs of f32 additions, multiplications and relu, one loop for each, and
 * refuses any other operation by its name. Built and used:
 *
 *     cc -std=c17 -O2 -shared -fPIC -I compiler -o plugin.so examples/backend_plugin/plugin.c
 *
 *     tb.register_backend("loops", "./plugin.so")
 *     local f = tb.compile(function(x, y) return (x * y + x):relu() end, { backend = "loops" })
 *
 * The test of plug-ins builds it, also as damaged ones (EXAMPLE_…). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

enum { MAX_DIMS = 16 };
enum kind { INPUT, ADD, MUL, RELU };

struct value {
  enum kind kind;
  int left, right, input; /* values; the number of an input */
  int n_dims;
  int64_t sizes[MAX_DIMS], count;
  float *data; /* of its own, but for inputs */
};

struct program {
  int n_values, n_inputs, n_outputs;
  struct value *values;
  int *outputs;
};

static void release_program(void *compiled) {
  struct program *p = compiled;
  for (int i = 0; p->values && i < p->n_values; i++) free(p->values[i].data);
  free(p->values);
  free(p->outputs);
  free(p);
}

static int kind_of(const char *op) {
  static const char *const names[] = {"input", "add", "mul", "relu"};
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
    if (!strcmp(op, names[i])) return i;
  return -1;
}

static int same_sizes(const struct value *a, const struct value *b) {
  return a->n_dims == b->n_dims && !memcmp(a->sizes, b->sizes, sizeof *a->sizes * (size_t)a->n_dims);
}

/* Reads a node; 0: it does, else `error` tells why not. */
static int read_node(struct program *p, int number, const struct tc_plugin_node *node, char *error,
                     size_t bytes) {
  struct value *v = &p->values[number];
  const int kind = kind_of(node->op);
  if (kind < 0) return snprintf(error, bytes, "loops: no operation %s (line %d)", node->op, node->line);
  if (strcmp(node->dtype, "f32"))
    return snprintf(error, bytes, "loops: %s of %s, only f32 is taken", node->op, node->dtype);
  if (node->n_dims > MAX_DIMS) return snprintf(error, bytes, "loops: more than %d dimensions", MAX_DIMS);
  *v = (struct value){.kind = (enum kind)kind, .n_dims = node->n_dims, .count = 1};
  memcpy(v->sizes, node->sizes, sizeof *v->sizes * (size_t)node->n_dims);
  for (int d = 0; d < node->n_dims; d++) v->count *= node->sizes[d];
  if (node->n_inputs) v->left = v->right = node->inputs[0];
  if (node->n_inputs == 2) v->right = node->inputs[1];
  if (kind == INPUT)
    v->input = p->n_inputs++;
  else if (!same_sizes(v, &p->values[v->left]) || !same_sizes(v, &p->values[v->right]))
    return snprintf(error, bytes, "loops: %s of two shapes", node->op);
  v->data = malloc(sizeof(float) * (size_t)(v->count ? v->count : 1));
  return v->data ? 0 : snprintf(error, bytes, "loops: no memory");
}

static void *compile_graph(const struct tc_plugin_graph *graph, char *error, size_t bytes) {
  struct program *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->values = calloc((size_t)graph->n_nodes + 1, sizeof *p->values);
  p->outputs = calloc((size_t)graph->n_outputs + 1, sizeof *p->outputs);
  p->n_outputs = graph->n_outputs;
  int bad = !p->values || !p->outputs;
  if (!bad) memcpy(p->outputs, graph->outputs, sizeof *p->outputs * (size_t)graph->n_outputs);
  for (; !bad && p->n_values < graph->n_nodes; p->n_values++)
    bad = read_node(p, p->n_values, &graph->nodes[p->n_values], error, bytes);
  if (!bad) return p;
  release_program(p);
  return NULL;
}

/* Copies an input of any strides, row by row. */
static float *gather(const struct value *v, int dim, const float *from, const int64_t *strides, float *to) {
  if (dim == v->n_dims) {
    *to = *from;
    return to + 1;
  }
  for (int64_t i = 0; i < v->sizes[dim]; i++) to = gather(v, dim + 1, from + i * strides[dim], strides, to);
  return to;
}

static void run_value(const struct value *v, const float *a, const float *b) {
  for (int64_t i = 0; i < v->count; i++)
    v->data[i] = v->kind == ADD ? a[i] + b[i] : v->kind == MUL ? a[i] * b[i] : a[i] < 0 ? 0 : a[i];
}

static int run_program(void *compiled, const struct tc_plugin_tensor *inputs,
                       const struct tc_plugin_tensor *outputs, char *error, size_t bytes) {
  const struct program *p = compiled;
#ifdef EXAMPLE_RUN_FAILS
  return snprintf(error, bytes, "loops: a run fails");
#endif
  (void)error, (void)bytes;
  for (int i = 0; i < p->n_values; i++) {
    const struct value *v = &p->values[i];
    if (v->kind != INPUT)
      run_value(v, p->values[v->left].data, p->values[v->right].data);
    else if (v->count)
      gather(v, 0, inputs[v->input].data, inputs[v->input].strides, v->data);
  }
  for (int i = 0; i < p->n_outputs; i++) {
    const struct value *v = &p->values[p->outputs[i]];
    memcpy(outputs[i].data, v->data, sizeof *v->data * (size_t)v->count);
  }
  return 0;
}

#ifndef EXAMPLE_VERSION
#define EXAMPLE_VERSION TC_PLUGIN_VERSION
#endif
#ifdef EXAMPLE_NO_RUN
#define RUN NULL
#else
#define RUN run_program
#endif
#ifndef EXAMPLE_NO_SYMBOL
#define INTERFACE tbench_plugin
#else
#define INTERFACE some_other_name
#endif
extern const struct tc_plugin INTERFACE;
const struct tc_plugin INTERFACE = {EXAMPLE_VERSION, "loops", compile_graph, RUN, release_program};
/* Without one of its uses it would be unused. */
int (*const tbench_example_run)(void *, const struct tc_plugin_tensor *, const struct tc_plugin_tensor *,
                                char *, size_t) = run_program;

/* The operation graph: SSA, topologically ordered, functional. A node is one operation with one result.
 *
 * Ownership: everything lies in the graph's arena. Threads: one at a time. Text form (printed and
 * parsed, the form of test cases and of dumps), one line a node; ops.def says what its attributes mean:
 *
 *     graph {
 *       v0 = input [0] : f32[8, 1024] strides [1024, 1]
 *       v1 = full [3, 0] (2.5) : f32[]        -- attributes: ints in [], nums in ()
 *       v2 = add v0 v1 : f32[8, 1024]
 *       return v2
 *     }
 */
#ifndef TC_IR_GRAPH_H
#define TC_IR_GRAPH_H

#include "base/arena.h"
#include "base/products.h"
#include "base/vec.h"
#include "ops/builder.h"

struct tc_node {
  tc_op op;
  int id; /* position in graph->nodes */
  int n_in;
  struct tc_node **in;
  struct tc_attrs attrs;
  struct tc_meta meta;
  tc_sym *strides;         /* INPUT nodes only: element strides, else NULL */
  int draw;                /* RANDOM: how many draws of the graph come before it */
  int line;                /* in source, or 0 */
  const char *source;      /* chunk name, or NULL */
  int uses;                /* set by tc_graph_count_uses */
  enum tc_product product; /* matmul: how it is computed; set by tune/ */
  void *scratch;           /* of the pass that runs; meaningless between passes */
};

struct tc_graph {
  struct tc_arena *arena;
  struct tc_symtab *tab;
  TC_VEC(struct tc_node *) nodes;
  TC_VEC(struct tc_node *) inputs;  /* in input order */
  TC_VEC(struct tc_node *) outputs; /* the same node may occur twice */
  int draws;                        /* random draws that a call consumes */
};

/* The graph and its symbols live in `arena`. NULL when memory is out. */
struct tc_graph *tc_graph_new(struct tc_arena *arena);
/* An empty graph in the same arena and with the same symbols. */
struct tc_graph *tc_graph_sibling(struct tc_graph *g);
struct tc_node *tc_graph_input(struct tc_graph *g, const struct tc_meta *meta, const tc_sym *strides);
/* Infers the meta and appends. `attrs` and `in` are copied. */
tc_status tc_graph_add(struct tc_graph *g, tc_op op, int n_in, struct tc_node *const *in,
                       const struct tc_attrs *attrs, struct tc_node **out, struct tc_error *err);
bool tc_graph_output(struct tc_graph *g, struct tc_node *node);
void tc_graph_count_uses(struct tc_graph *g); /* outputs count as uses */
/* Removes nodes that no output needs (inputs stay), by their uses, which are counted; renumbers. */
void tc_graph_remove_unused(struct tc_graph *g);
/* The same as another graph, made of copies; g's ids stay. NULL when memory is out. */
struct tc_graph *tc_graph_without_unused(struct tc_graph *g);

/* A builder that appends to the graph; values are nodes. `line` and `source` mark what it adds. */
struct tc_graph_builder {
  struct tc_builder builder;
  struct tc_graph *graph;
  int line;
  const char *source;
};
void tc_graph_builder_init(struct tc_graph_builder *b, struct tc_graph *g);
static inline struct tc_node *tc_node_of(struct tc_value *value) { return (struct tc_node *)value; }
static inline struct tc_value *tc_value_of(struct tc_node *node) { return (struct tc_value *)node; }

void tc_graph_print(struct tc_strbuf *out, const struct tc_graph *g);
/* Without lines of the source: equal graphs have equal text, wherever they come from. */
void tc_graph_print_plain(struct tc_strbuf *out, const struct tc_graph *g);
tc_status tc_graph_parse(struct tc_arena *arena, const char *text, struct tc_graph **out,
                         struct tc_error *err);

/* The specs of the stages (see passes.def): what holds of a graph at each border. */
enum tc_graph_spec { TC_SPEC_CAPTURED, TC_SPEC_DECOMPOSED };
tc_status tc_graph_verify(const struct tc_graph *g, enum tc_graph_spec spec, struct tc_error *err);

#endif

/* The C interface of a backend in a shared object, for tb.register_backend(name, "path.so"). It stands alone:
 * a plug-in includes this header and links nothing of tbench. examples/backend_plugin/ is a whole one.
 *
 * The shared object defines the symbol `tbench_plugin`, a struct tc_plugin. Its functions are called on the
 * thread of the Lua state, one at a time for one compiled graph. Whatever a pointer here leads to is
 * tbench's, and only valid during the call, but for what `compile` returns, which is the plug-in's. They must
 * neither raise nor exit: they tell of a failure in `error` (a text of at most `bytes` bytes, its final zero
 * included). */
#ifndef TC_PLUGIN_H
#define TC_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Raised with every change of what stands below. */
#define TC_PLUGIN_VERSION 1
#define TC_PLUGIN_SYMBOL  "tbench_plugin"

/* One operation, with one result. */
struct tc_plugin_node {
  const char *op; /* "input", "add", … (ops.def) */
  int n_inputs;
  const int *inputs; /* nodes, from 0 */
  int n_integers;    /* attributes, in the order that ops.def tells */
  const int64_t *integers;
  int n_numbers;
  const double *numbers;
  const char *dtype; /* of the result: "f32", "f64", "bf16", "i64", "bool" (one byte, 0 or 1) */
  int n_dims;
  const int64_t *sizes;
  int line; /* of the Lua code; 0: unknown */
};

/* Nodes come after what they take. A node may be an output twice, and an input may be one. */
struct tc_plugin_graph {
  int n_nodes;
  const struct tc_plugin_node *nodes;
  int n_inputs;
  const int *inputs; /* nodes, in the order in which the call gives tensors */
  int n_outputs;
  const int *outputs;
};

/* Memory of a tensor, whose dtype and sizes are those of its node. */
struct tc_plugin_tensor {
  void *data;             /* of its first element */
  const int64_t *strides; /* in elements; outputs are row-major without gaps */
};

struct tc_plugin {
  uint32_t version; /* TC_PLUGIN_VERSION */
  const char *name; /* for messages */
  /* What `run` and `release` take; NULL: it cannot, and `error` tells why. */
  void *(*compile)(const struct tc_plugin_graph *graph, char *error, size_t bytes);
  /* Reads inputs, writes outputs, whose memory is there. 0: done; anything else: `error` tells why not. */
  int (*run)(void *compiled, const struct tc_plugin_tensor *inputs, const struct tc_plugin_tensor *outputs,
             char *error, size_t bytes);
  void (*release)(void *compiled);
};

#endif

/* What a compile says of itself: the figures of what came out, and the names of backends and caches' answers.
 */
#include <string.h>

#include "pipeline.h"
#include "pipeline_text.h"
#include "runtime/compiled.h"
#include "tcompile.h"

/* The pool, and what the threads hold while tiles run. */
static uint64_t peak_bytes(const struct tc_launch_list *list, int threads) {
  int64_t tile = 0;
  for (int i = 0; i < list->n_tiles; i++)
    if (tc_sym_hint(list->tiles[i].bytes) > tile) tile = tc_sym_hint(list->tiles[i].bytes);
  return (uint64_t)tc_sym_hint(list->pool_bytes) + (uint64_t)tile * (uint64_t)threads;
}

void tc_report_figures(const struct tc_compiled *compiled, int threads, struct tc_compile_report *r) {
  const struct tc_launch_list *list = tc_compiled_list(compiled);
  if (!list) return;
  r->kernels = r->library_calls = 0;
  r->bytes_moved = r->flops = 0;
  for (int i = 0; i < list->n_launches; i++) {
    const struct tc_launch *l = &list->launches[i];
    if (l->kind == TC_LAUNCH_KERNEL)
      r->kernels++;
    else
      r->library_calls++;
    r->bytes_moved += l->bytes;
    r->flops += l->flops;
  }
  r->code_bytes = tc_compiled_code_bytes(compiled);
  r->graph_ops = list->n_graph_ops;
  r->peak_bytes = peak_bytes(list, threads);
  r->peak_bytes_without_reuse = list->pool_bytes_without_reuse;
}

/* --- tables --- */

static const struct {
  const char *name, *help;
  bool built;
} backend_rows[] = {
#define TC_BACKEND(name, built, help) {#name, help, built},
#include "backends.def"
#undef TC_BACKEND
};
const char *tc_backend_name(enum tc_backend backend) { return backend_rows[backend].name; }
const char *tc_backend_help(enum tc_backend backend) { return backend_rows[backend].help; }
bool tc_backend_built(enum tc_backend backend) { return backend_rows[backend].built; }
int tc_backend_find(const char *name) {
  for (int i = 0; i < TC_BACKEND_COUNT; i++)
    if (!strcmp(backend_rows[i].name, name)) return i;
  return -1;
}

const char *tc_cache_answer_name(enum tc_cache_answer answer) {
  static const char *const names[] = {"none", "miss", "disk", "memory"};
  return names[answer];
}

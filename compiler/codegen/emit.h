/* Drives the generators: every kernel of a launch list becomes code, in parallel.
 *
 * Each kernel goes to the first generator that supports it (recorded in its tc_code); kernels are dealt
 * to at most `threads` modules by estimated cost, one thread a module. */
#ifndef TC_CODEGEN_EMIT_H
#define TC_CODEGEN_EMIT_H

#include "codegen/codegen.h"
#include "sched/launch.h"

enum { TC_MAX_MODULES = 8 };

struct tc_blobs { int count; struct tc_blob blob[TC_MAX_MODULES]; };

/* Fills *out (freed by tc_blobs_free, also after a failure) and list->codes[].generator. `text` (may be
 * NULL) receives the generators' readable form. Threads: `alloc` is used by all modules' threads at once, so it must be
 * thread-safe where config->compile_threads is not 1 (a test that fails or counts allocations sets it to 1). */
tc_status tc_emit_kernels(const struct tc_alloc *alloc, const struct tc_codegen *const *codegens, const struct tc_target *target,
                          const struct tc_config *config, struct tc_launch_list *list, struct tc_blobs *out, struct tc_strbuf *text,
                          struct tc_error *err);
void tc_blobs_free(struct tc_blobs *blobs);

#endif

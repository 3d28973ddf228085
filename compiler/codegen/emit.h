/* Drives the generators: every kernel of a launch list becomes code, in parallel.
 *
 * Each kernel goes to the first generator that supports it (recorded in its tc_code); kernels are dealt to at
 * most as many modules as threads (switch compile_threads, or the target's) by estimated cost, one thread a
 * module. With more than one thread `alloc` is used by several at a time. */
#ifndef TC_CODEGEN_EMIT_H
#define TC_CODEGEN_EMIT_H

#include "codegen/codegen.h"
#include "sched/launch.h"

enum { TC_MAX_MODULES = 8 };

struct tc_blobs {
  int count;
  struct tc_blob blob[TC_MAX_MODULES];
};

/* What people read of the code: the generators' own form, and assembly of the generators that have it. The
 * buffers are the caller's. */
struct tc_code_text {
  struct tc_strbuf code, assembly;
};

/* Fills *out (freed by tc_blobs_free, also after a failure) and list->codes[].generator. `text` may be
 * NULL. */
tc_status tc_emit_kernels(const struct tc_alloc *alloc, const struct tc_codegen *const *codegens,
                          const struct tc_target *target, const struct tc_config *config,
                          struct tc_launch_list *list, struct tc_blobs *out, struct tc_code_text *text,
                          struct tc_error *err);
void tc_blobs_free(struct tc_blobs *blobs);

#endif

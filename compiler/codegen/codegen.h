/* The contract of code generators: kernels in, one loadable blob out.
 *
 * A module is used by one thread; several modules may be built at the same time by different threads
 * (a generator keeps no mutable globals). A blob belongs to the caller. Kernel ABI on CPU:
 *
 *     void kernel(void *const *buffers, const int64_t *sizes, int64_t first, int64_t last);
 *
 * buffers[i] is kernel->buffers[i]'s first element (aligned to its dtype at least; fresh storages to 64
 * bytes); sizes[] are the graph's size variables; [first, last) are items (see sched/kernel.h). A blob calls
 * nothing but memcpy, memset, memmove and the functions of codegen/slow_path.h, by name. */
#ifndef TC_CODEGEN_CODEGEN_H
#define TC_CODEGEN_CODEGEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/config.h"
#include "base/error.h"
#include "base/target.h"
#include "sched/kernel.h"

struct tc_blob {
  unsigned char *bytes;
  size_t size;
  const struct tc_alloc *alloc;
}; /* an ELF relocatable object on CPU */
static inline void tc_blob_free(struct tc_blob *b) {
  tc_free_bytes(b->alloc, b->bytes, b->size);
  b->bytes = 0;
  b->size = 0;
}

struct tc_module; /* the generator's own */

struct tc_codegen {
  const char *name;    /* "llvm" */
  const char *version; /* enters the cache key: changes whenever emitted code may change */
  /* Can this generator make the kernel for the target? If not, `why` says what is missing. */
  bool (*supports)(const struct tc_target *target, const struct tc_kernel *kernel, char *why,
                   size_t why_bytes);
  tc_status (*begin)(const struct tc_alloc *alloc, const struct tc_target *target,
                     const struct tc_config *config, struct tc_module **out, struct tc_error *err);
  tc_status (*emit)(struct tc_module *module, const struct tc_kernel *kernel, struct tc_error *err);
  /* Appends the module as assembly, before `finish`; NULL: the generator has none. For people: a failure
   * leaves it out. */
  void (*assembly)(struct tc_module *module, struct tc_strbuf *text);
  /* Frees the module, also after a failure. `text` (may be NULL) receives the generator's readable form. */
  tc_status (*finish)(struct tc_module *module, struct tc_blob *out, struct tc_strbuf *text,
                      struct tc_error *err);
  /* Frees a module without finishing it. */
  void (*discard)(struct tc_module *module);
};

extern const struct tc_codegen tc_codegen_llvm; /* codegen/llvm */
extern const struct tc_codegen
    tc_codegen_null; /* codegen/null: an interpreter's program, for tests without LLVM */

#endif

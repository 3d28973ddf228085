/* The null generator: a program for the interpreter, so that the stages around code generation are tested
 * without LLVM. Its blob is the text of the module's kernels; tc_interpret_kernel runs the kernels
 * themselves, so the text is evidence (equal blobs: equal programs) and not loadable code. */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "codegen/codegen.h"

struct tc_module {
  const struct tc_alloc *alloc;
  struct tc_strbuf program;
};

/* What satisfies a kernel's specification can be interpreted. */
static bool null_supports(const struct tc_target *target, const struct tc_kernel *kernel, char *why,
                          size_t why_bytes) {
  (void)target;
  struct tc_error err;
  if (tc_kernel_verify(kernel, &err) == TC_OK) return true;
  snprintf(why, why_bytes, "%s", err.message);
  return false;
}

static tc_status null_begin(const struct tc_alloc *alloc, const struct tc_target *target,
                            const struct tc_config *config, struct tc_module **out, struct tc_error *err) {
  (void)target, (void)config;
  struct tc_module *module = TC_NEW(alloc, struct tc_module);
  if (!module) return tc_fail_memory(err, "null");
  module->alloc = alloc;
  tc_strbuf_init(&module->program, alloc);
  *out = module;
  return TC_OK;
}

static tc_status null_emit(struct tc_module *module, const struct tc_kernel *kernel, struct tc_error *err) {
  tc_kernel_print(&module->program, kernel);
  return module->program.failed ? tc_fail_memory(err, "null") : TC_OK;
}

static void null_discard(struct tc_module *module) {
  tc_strbuf_free(&module->program);
  TC_FREE(module->alloc, module);
}

static tc_status null_finish(struct tc_module *module, struct tc_blob *out, struct tc_strbuf *text,
                             struct tc_error *err) {
  const char *program = tc_strbuf_text(&module->program);
  const size_t size = module->program.len;
  *out = (struct tc_blob){.alloc = module->alloc};
  if (program && size) out->bytes = tc_new_bytes(module->alloc, size);
  const bool failed = !program || (size && !out->bytes);
  if (out->bytes) {
    memcpy(out->bytes, program, size);
    out->size = size;
  }
  if (text && !failed) tc_strbuf_bytes(text, program, size);
  null_discard(module);
  return failed ? tc_fail_memory(err, "null") : TC_OK;
}

const struct tc_codegen tc_codegen_null = {
    .name = "null",
    .version = "3",
    .supports = null_supports,
    .begin = null_begin,
    .emit = null_emit,
    .finish = null_finish,
    .discard = null_discard,
};

/* What this generator can make: see struct tc_codegen. */
#ifndef TC_CODEGEN_LLVM_SUPPORTS_H
#define TC_CODEGEN_LLVM_SUPPORTS_H

#include "codegen/codegen.h"

bool ll_supports(const struct tc_target *target, const struct tc_kernel *kernel, char *why, size_t why_bytes);

#endif

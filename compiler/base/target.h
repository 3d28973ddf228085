/* What a generator knows of a machine: data, read from the device. */
#ifndef TC_BASE_TARGET_H
#define TC_BASE_TARGET_H

#include <stdint.h>

enum tc_arch { TC_ARCH_X86_64 };

struct tc_target {
  enum tc_arch arch;
  const char *device;   /* "cpu"; this and the next enter the cache key */
  const char *name;     /* "avx512", "avx2" */
  const char *llvm_cpu; /* a name that LLVM knows: "x86-64-v4" */
  const char *llvm_features;
  int vector_bytes;                     /* 64, 32 */
  int vector_registers;                 /* 32, 16 */
  int threads;                          /* that a launch may use */
  int64_t l1_bytes, l2_bytes, l3_bytes; /* l2: one core's; l3: reachable from one core */
};

#endif

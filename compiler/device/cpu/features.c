/* Processor features by cpuid (with the operating system's consent to the registers, XCR0), caches by sysconf
 * and sysfs.
 *
 * The model's name is not used: under a hypervisor it misleads. */
#include "device/cpu/features.h"

#include <cpuid.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LEAF_BASIC = 1, LEAF_EXTENDED = 7, MANY_CPUS = 1 << 14 };
enum {
  XCR0_SSE = 1 << 1,
  XCR0_AVX = 1 << 2,
  XCR0_OPMASK = 1 << 5,
  XCR0_ZMM_LOW = 1 << 6,
  XCR0_ZMM_HIGH = 1 << 7
};
static const unsigned XCR0_YMM = XCR0_SSE | XCR0_AVX,
                      XCR0_ZMM = XCR0_SSE | XCR0_AVX | XCR0_OPMASK | XCR0_ZMM_LOW | XCR0_ZMM_HIGH;

struct features {
  bool avx2, fma, f16c, avx512f, avx512bw, avx512dq, avx512vl;
};

static unsigned enabled_registers(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static struct features read_features(void) {
  unsigned a, b, c, d;
  struct features f = {0};
  if (!__get_cpuid(LEAF_BASIC, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return f;
  const unsigned registers = enabled_registers();
  if ((registers & XCR0_YMM) != XCR0_YMM) return f;
  f.fma = c & bit_FMA;
  f.f16c = c & bit_F16C;
  if (!__get_cpuid_count(LEAF_EXTENDED, 0, &a, &b, &c, &d)) return f;
  f.avx2 = b & bit_AVX2;
  if ((registers & XCR0_ZMM) != XCR0_ZMM) return f;
  f.avx512f = b & bit_AVX512F;
  f.avx512bw = b & bit_AVX512BW;
  f.avx512dq = b & bit_AVX512DQ;
  f.avx512vl = b & bit_AVX512VL;
  return f;
}

/* Bytes of the cache of a level that CPU 0 reaches, from sysfs; 0: not told. */
static int64_t sysfs_cache(int wanted_level) {
  enum { INDICES = 8, TEXT = 96 };
  for (int i = 0; i < INDICES; i++) {
    char path[TEXT], type[TEXT] = "";
    long level = 0, kilobytes = 0;
    FILE *file;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
    if (!(file = fopen(path, "r"))) break;
    if (fscanf(file, "%ld", &level) != 1) level = 0;
    fclose(file);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
    if ((file = fopen(path, "r"))) {
      if (fscanf(file, "%90s", type) != 1) type[0] = '\0';
      fclose(file);
    }
    if (level != wanted_level || strcmp(type, "Instruction") == 0) continue;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    if ((file = fopen(path, "r"))) {
      if (fscanf(file, "%ldK", &kilobytes) != 1) kilobytes = 0;
      fclose(file);
    }
    return (int64_t)kilobytes << 10;
  }
  return 0;
}

static int64_t cache_bytes(int name, int level, int64_t otherwise) {
  const long told = sysconf(name);
  if (told > 0) return told;
  const int64_t found = sysfs_cache(level);
  return found > 0 ? found : otherwise;
}

int tc_cpu_available(void) {
  cpu_set_t *set = CPU_ALLOC(MANY_CPUS);
  const size_t bytes = CPU_ALLOC_SIZE(MANY_CPUS);
  int count = 0;
  if (set && sched_getaffinity(0, bytes, set) == 0) count = CPU_COUNT_S(bytes, set);
  if (set) CPU_FREE(set);
  return count > 0 ? count : 1;
}

tc_status tc_cpu_target(const char *isa, int threads, struct tc_target *out, struct tc_error *err) {
  enum { L1_OTHERWISE = 32 << 10, L2_OTHERWISE = 1 << 20, L3_OTHERWISE = 16 << 20 };
  const struct features f = read_features();
  const bool has_avx2 = f.avx2 && f.fma && f.f16c,
             has_avx512 = has_avx2 && f.avx512f && f.avx512bw && f.avx512dq && f.avx512vl;
  const bool is_auto = strcmp(isa, "auto") == 0, wants_avx512 = strcmp(isa, "avx512") == 0;
  if (!is_auto && !wants_avx512 && strcmp(isa, "avx2") != 0)
    return tc_fail(err, TC_ARG, "cpu", "isa=%s: it is auto, avx2 or avx512", isa);
  if (!has_avx2) {
    return tc_fail(err, TC_UNSUPPORTED, "cpu",
                   "this processor (or its operating system) lacks%s%s%s, which every kernel here needs",
                   f.avx2 ? "" : " AVX2", f.fma ? "" : " FMA", f.f16c ? "" : " F16C");
  }
  if (wants_avx512 && !has_avx512) {
    return tc_fail(err, TC_UNSUPPORTED, "cpu",
                   "isa=avx512: this processor (or its operating system) lacks%s%s%s%s; use isa=avx2",
                   f.avx512f ? "" : " AVX-512F", f.avx512bw ? "" : " AVX-512BW",
                   f.avx512dq ? "" : " AVX-512DQ", f.avx512vl ? "" : " AVX-512VL");
  }
  const bool wide = has_avx512 && (is_auto || wants_avx512);
  *out = (struct tc_target){
      .arch = TC_ARCH_X86_64,
      .device = "cpu",
      .name = wide ? "avx512" : "avx2",
      .llvm_cpu = wide ? "x86-64-v4" : "x86-64-v3",
      .llvm_features = "",
      .vector_bytes = wide ? 64 : 32,
      .vector_registers = wide ? 32 : 16,
      .threads = threads > 0 ? threads : tc_cpu_available(),
      .l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 1, L1_OTHERWISE),
      .l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 2, L2_OTHERWISE),
      .l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 3, L3_OTHERWISE),
  };
  return TC_OK;
}

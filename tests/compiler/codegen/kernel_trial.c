#include "tests/compiler/codegen/kernel_trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cpu/cpu.h"
#include "tests/compiler/codegen/kernel_reference.h"

enum { GUARD = 192, POISON = 0xA5, ALIGN = 64 };

/* Every generator of machine code, in order of preference: the last takes every kernel. */
static const struct tc_codegen *const generators[TRIAL_GENERATORS] = {&tc_codegen_llvm};

const struct tc_codegen *trial_generator(int which) { return generators[which]; }

static const struct tc_target targets[TRIAL_TARGETS] = {
    {TC_ARCH_X86_64, "cpu", "avx2", "x86-64-v3", "", 32, 16, 1, 32 << 10, 1 << 20, 32 << 20},
    {TC_ARCH_X86_64, "cpu", "avx512", "x86-64-v4", "", 64, 32, 1, 32 << 10, 1 << 20, 32 << 20},
};

const struct tc_target *trial_target(int which) {
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return which == 1 && !wide ? NULL : &targets[which];
}

static struct tc_cpu cpu;

static void *must(void *pointer) {
  if (!pointer) fail_msg("out of memory");
  return pointer;
}

bool trial_takes(const struct tc_codegen *generator, const struct tc_kernel *kernel,
                 const struct tc_target *target) {
  char why[TC_ERROR_TEXT] = "";
  if (generator->supports(target, kernel, why, sizeof why)) return true;
  if (generator == generators[TRIAL_GENERATORS - 1])
    fail_msg("%s by %s on %s: %s", kernel->name, generator->name, target->name, why);
  return false;
}

struct trial_code trial_compile(const struct tc_codegen *generator, const struct tc_kernel *kernel,
                                const struct tc_target *target) {
  struct tc_config config;
  tc_config_default(&config);
  return trial_compile_as(generator, kernel, target, &config);
}

struct trial_code trial_compile_as(const struct tc_codegen *generator, const struct tc_kernel *kernel,
                                   const struct tc_target *target, const struct tc_config *config) {
  struct tc_error err = {0};
  struct tc_module *module;
  struct tc_blob blob;
  struct trial_code code;
  cpu.alloc = tc_alloc_system();
  if (generator->begin(tc_alloc_system(), target, config, &module, &err)) fail_msg("begin: %s", err.message);
  if (generator->emit(module, kernel, &err)) fail_msg("emit: %s", err.message);
  if (generator->finish(module, &blob, NULL, &err)) fail_msg("finish: %s", err.message);
  if (tc_cpu_load((struct tc_device *)&cpu, &blob, &code.loaded, &err)) fail_msg("load: %s", err.message);
  tc_blob_free(&blob);
  code.run = tc_cpu_kernel_of(tc_cpu_symbol(NULL, code.loaded, kernel->name));
  if (!code.run) fail_msg("the object has no %s", kernel->name);
  return code;
}

void trial_free(struct trial_code *code) { tc_cpu_unload((struct tc_device *)&cpu, code->loaded); }

/* --- one run on guarded copies --- */

struct copies {
  const struct trial *t;
  void *block[TRIAL_BUFFERS];
  char *data[TRIAL_BUFFERS];
  void *pointer[TRIAL_BUFFERS];
};

static size_t bytes_of(const struct trial *t, int i) {
  return (size_t)t->buffers[i].elements * (size_t)tc_dtype_bytes(t->kernel->buffers[i].dtype);
}

static void make_copies(struct copies *c, const struct trial *t, int shift) {
  c->t = t;
  for (int i = 0; i < t->kernel->n_buffers; i++) {
    const size_t bytes = bytes_of(t, i),
                 offset = (size_t)shift * (size_t)tc_dtype_bytes(t->kernel->buffers[i].dtype);
    const size_t whole = (GUARD + offset + bytes + GUARD + ALIGN - 1) / ALIGN * ALIGN;
    c->block[i] = must(aligned_alloc(ALIGN, whole));
    memset(c->block[i], POISON, whole);
    c->data[i] = (char *)c->block[i] + GUARD + offset;
    memcpy(c->data[i], t->buffers[i].data, bytes);
    c->pointer[i] = c->data[i];
  }
}

static void free_copies(struct copies *c) {
  for (int i = 0; i < c->t->kernel->n_buffers; i++) free(c->block[i]);
}

static void check_guards(const struct copies *c, const char *what) {
  for (int i = 0; i < c->t->kernel->n_buffers; i++) {
    const unsigned char *start = (unsigned char *)c->data[i], *end = start + bytes_of(c->t, i);
    for (int b = 1; b <= GUARD; b++)
      if (start[-b] != POISON || end[b - 1] != POISON)
        fail_msg("%s: %s wrote outside of buffer %d", c->t->kernel->name, what, i);
    const enum tc_buffer_role role = c->t->kernel->buffers[i].role;
    if ((role == TC_ROLE_READ || role == TC_ROLE_RNG) &&
        memcmp(c->data[i], c->t->buffers[i].data, bytes_of(c->t, i)))
      fail_msg("%s: %s changed its operand %d", c->t->kernel->name, what, i);
  }
}

/* --- comparing --- */

static double element(tc_dtype dtype, const void *data, int64_t at) {
  switch (dtype) {
    case TC_BF16: return (double)tc_bf16_to_f32(((const uint16_t *)data)[at]);
    case TC_F32: {
      float x;
      return memcpy(&x, (const char *)data + at * 4, 4), (double)x;
    }
    case TC_F64: {
      double x;
      return memcpy(&x, (const char *)data + at * 8, 8), x;
    }
    case TC_I64: {
      int64_t x;
      return memcpy(&x, (const char *)data + at * 8, 8), (double)x;
    }
    default: return ((const uint8_t *)data)[at];
  }
}

static bool same_element(tc_dtype dtype, const void *a, const void *b, int64_t at, double slack) {
  const size_t bytes = (size_t)tc_dtype_bytes(dtype), offset = (size_t)at * bytes;
  if (!memcmp((const char *)a + offset, (const char *)b + offset, bytes)) return true;
  if (!tc_dtype_is_float(dtype)) return false;
  const double x = element(dtype, a, at), y = element(dtype, b, at);
  return (isnan(x) && isnan(y)) || fabs(x - y) <= slack;
}

static void compare_with(const struct copies *c, const struct copies *reference, const char *by,
                         const char *target, int shift) {
  for (int i = 0; i < c->t->kernel->n_buffers; i++) {
    const struct tc_kernel_buffer *b = &c->t->kernel->buffers[i];
    if (b->role == TC_ROLE_SCRATCH) continue;
    double largest = 0;
    for (int64_t at = 0; at < c->t->buffers[i].elements && c->t->tolerance > 0; at++) {
      const double x = fabs(element(b->dtype, reference->data[i], at));
      if (x > largest && x < INFINITY) largest = x;
    }
    for (int64_t at = 0; at < c->t->buffers[i].elements; at++)
      if (!same_element(b->dtype, c->data[i], reference->data[i], at, c->t->tolerance * largest))
        fail_msg("%s by %s on %s (shift %d): buffer %d[%lld] is %.9g, should be %.9g", c->t->kernel->name, by,
                 target, shift, i, (long long)at, element(b->dtype, c->data[i], at),
                 element(b->dtype, reference->data[i], at));
  }
}

static void check_same_bytes(const struct copies *a, const struct copies *b) {
  for (int i = 0; i < a->t->kernel->n_buffers; i++)
    if (a->t->kernel->buffers[i].role != TC_ROLE_SCRATCH && memcmp(a->data[i], b->data[i], bytes_of(a->t, i)))
      fail_msg("%s: buffer %d depends on how items are divided", a->t->kernel->name, i);
}

static void run_on(const struct trial *t, const struct tc_codegen *generator, const struct tc_target *target,
                   const struct copies *reference, int64_t items) {
  static const int shifts[] = {0, 1, 5};
  struct trial_code code = trial_compile(generator, t->kernel, target);
  for (unsigned s = 0; s < (t->aligned_only ? 1 : sizeof shifts / sizeof *shifts); s++) {
    struct copies whole, parts;
    make_copies(&whole, t, shifts[s]);
    make_copies(&parts, t, shifts[s]);
    code.run(whole.pointer, t->sizes, 0, 0);
    check_same_bytes(&whole, &parts); /* an empty range does nothing */
    code.run(whole.pointer, t->sizes, 0, items);
    check_guards(&whole, target->name);
    compare_with(&whole, reference, generator->name, target->name, shifts[s]);
    const int64_t cut = items / 3, cut2 = items - items / 5;
    code.run(parts.pointer, t->sizes, cut2, items);
    code.run(parts.pointer, t->sizes, 0, cut);
    code.run(parts.pointer, t->sizes, cut, cut2);
    check_same_bytes(&whole, &parts);
    free_copies(&whole);
    free_copies(&parts);
  }
  trial_free(&code);
}

void trial_run(const struct trial *t) {
  struct copies reference;
  make_copies(&reference, t, 0);
  const int64_t items = reference_items(t->kernel, t->sizes);
  reference_run(t->kernel, reference.pointer, t->sizes, 0, items);
  for (int g = 0; g < TRIAL_GENERATORS; g++)
    for (int i = 0; i < TRIAL_TARGETS; i++)
      if (trial_target(i) && trial_takes(generators[g], t->kernel, trial_target(i)))
        run_on(t, generators[g], trial_target(i), &reference, items);
  free_copies(&reference);
}

/* --- data --- */

uint64_t trial_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

static double special_number(uint64_t choice) {
  static const double numbers[] = {0.0,   -0.0,  INFINITY, -INFINITY, NAN,  1.0,  -1.0,   3e38,
                                   -3e38, 1e-40, 2.0,      0.5,       -0.5, 88.5, -104.0, 1e-8};
  return numbers[choice % (sizeof numbers / sizeof *numbers)];
}
static int64_t special_integer(uint64_t choice) {
  static const int64_t numbers[] = {0, 1, -1, 2, INT64_MIN, INT64_MAX, -2, 3, 1000003, -7};
  return numbers[choice % (sizeof numbers / sizeof *numbers)];
}

static void put(tc_dtype dtype, void *data, int64_t at, uint64_t word, bool special) {
  const bool odd_one = special && word % 3 == 0;
  const double real =
      odd_one ? special_number(word >> 20) : ((double)(word >> 40) / (double)(1 << 24) - 0.5) * 8;
  const int64_t integer = odd_one ? special_integer(word >> 20) : (int64_t)(word >> 32) % 2001 - 1000;
  const float narrow = (float)real;
  switch (dtype) {
    case TC_BOOL: ((uint8_t *)data)[at] = word >> 33 & 1; break;
    case TC_I64: ((int64_t *)data)[at] = integer; break;
    case TC_BF16: ((uint16_t *)data)[at] = tc_f32_to_bf16(narrow); break;
    case TC_F32: ((float *)data)[at] = narrow; break;
    default: ((double *)data)[at] = real; break;
  }
}

void *trial_data(tc_dtype dtype, int64_t elements, uint64_t seed, bool special) {
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 0x1234567u;
  void *data = must(malloc((size_t)(elements + 1) * (size_t)tc_dtype_bytes(dtype)));
  for (int64_t i = 0; i < elements; i++) put(dtype, data, i, trial_random(&state), special);
  return data;
}

/* Runs one kernel through every code generator that takes it, and compares it with its meaning
 * (kernel_reference.h).
 *
 * Each buffer is copied between guard bytes, at several alignments; the kernel runs over all items and again
 * in uneven ranges, which must give the same bytes; operands and guards must stay as they were. Failures end
 * the test through cmocka. */
#ifndef TESTS_KERNEL_TRIAL_H
#define TESTS_KERNEL_TRIAL_H

#include "codegen/codegen.h"
#include "device/cpu/cpu.h"

enum { TRIAL_GENERATORS = 1, TRIAL_TARGETS = 2, TRIAL_BUFFERS = 16 };
/* The generators of machine code; a new one is a row in kernel_trial.c. */
const struct tc_codegen *trial_generator(int which);
/* avx2, avx512; NULL if this machine cannot run it. */
const struct tc_target *trial_target(int which);

struct trial {
  const struct tc_kernel *kernel;
  const int64_t *sizes;
  struct {
    void *data;
    int64_t elements;
  } buffers[TRIAL_BUFFERS]; /* contents before the run */
  double tolerance; /* 0: every bit; else relative to the largest magnitude of the buffer, for floats */
  bool aligned_only;
};
/* By every generator, on every target that this machine runs. */
void trial_run(const struct trial *t);

/* For tests that do without the above. Ends the test on failure. */
struct trial_code {
  struct tc_loaded *loaded;
  tc_cpu_kernel run;
};
/* Does the generator support the kernel? The last one must. */
bool trial_takes(const struct tc_codegen *generator, const struct tc_kernel *kernel,
                 const struct tc_target *target);
struct trial_code trial_compile(const struct tc_codegen *generator, const struct tc_kernel *kernel,
                                const struct tc_target *target);
struct trial_code trial_compile_as(const struct tc_codegen *generator, const struct tc_kernel *kernel,
                                   const struct tc_target *target, const struct tc_config *config);
void trial_free(struct trial_code *code);

/* A small generator of test data. */
uint64_t trial_random(uint64_t *state);
/* `elements` values in the form of memory: ordinary ones, with zeros, infinities, NaN and extremes among them
 * if `special`. */
void *trial_data(tc_dtype dtype, int64_t elements, uint64_t seed, bool special);

#endif

/* Launch lists of tests/compiler/ir/lowered.h as machine code on the CPU: set lowered_run = run_compiled. */
#ifndef TESTS_DEVICE_COMPILED_RUN_H
#define TESTS_DEVICE_COMPILED_RUN_H

#include "codegen/emit.h"
#include "device/device.h"
#include "tests/compiler/ir/lowered.h"

enum { DEVICE_THREADS = 2 };

static struct tc_device *device;
static int open_device(void **state) {
  struct tc_error err;
  (void)state;
  return tc_device_cpu_open(tc_alloc_system(), "auto", DEVICE_THREADS, &device, &err) != TC_OK;
}
static int close_device(void **state) {
  (void)state;
  device->methods->close(device);
  return 0;
}

/* The entry point of each code, wherever it was loaded. */
static bool find_codes(const struct tc_launch_list *list, struct tc_loaded *const *loaded, int n_loaded,
                       const struct tc_kernel_handle **codes) {
  for (int i = 0; i < list->n_codes; i++) {
    codes[i] = NULL;
    for (int k = 0; k < n_loaded && !codes[i]; k++)
      codes[i] = device->methods->symbol(device, loaded[k], list->codes[i].symbol);
    if (!codes[i]) return false;
  }
  return true;
}

static inline tc_status run_or_time(const struct tc_interpreted_run *given, double *ns,
                                    struct tc_error *err) {
  static const struct tc_codegen *const codegens[] = {&tc_codegen_llvm, NULL};
  struct tc_launch_list list = *given->list;
  struct tc_config config;
  struct tc_blobs blobs = {0};
  struct tc_loaded *loaded[TC_MAX_MODULES] = {0};
  int n_loaded = 0;
  tc_config_default(&config);
  tc_status status =
      tc_emit_kernels(tc_alloc_system(), codegens, &device->target, &config, &list, &blobs, NULL, err);
  for (; status == TC_OK && n_loaded < blobs.count; n_loaded += status == TC_OK)
    status = device->methods->load(device, &blobs.blob[n_loaded], &loaded[n_loaded], err);
  const struct tc_kernel_handle **codes = calloc((size_t)list.n_codes + 1, sizeof *codes);
  if (status == TC_OK && !find_codes(&list, loaded, n_loaded, codes))
    status = tc_fail(err, TC_CODEGEN, "test", "a kernel is missing from its blob");
  const struct tc_run run = {.list = &list,
                             .inputs = given->inputs,
                             .outputs = given->outputs,
                             .pool = given->pool,
                             .sizes = given->sizes,
                             .codes = codes,
                             .status = given->status,
                             .rng = {given->rng[0], given->rng[1]}};
  if (status == TC_OK)
    status = ns ? device->methods->time(device, &run, ns, err) : device->methods->run(device, &run, err);
  free(codes);
  for (int i = 0; i < n_loaded; i++) device->methods->unload(device, loaded[i]);
  tc_blobs_free(&blobs);
  return status;
}

static inline tc_status run_compiled(const struct tc_interpreted_run *given, struct tc_error *err) {
  return run_or_time(given, NULL, err);
}

enum { MOST_TIMED = 64 };
static double timed_ns[MOST_TIMED]; /* by entry, of the last time_compiled */
static inline tc_status time_compiled(const struct tc_interpreted_run *given, struct tc_error *err) {
  if (given->list->n_launches > MOST_TIMED) return tc_fail(err, TC_LIMIT, "test", "too many entries");
  return run_or_time(given, timed_ns, err);
}

#endif

#include "codegen/emit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 256 };

/* One module: a share of one generator's kernels. */
struct job {
  const struct tc_alloc *alloc;
  const struct tc_codegen *codegen;
  const struct tc_target *target;
  const struct tc_config *config;
  const struct tc_kernel **kernels;
  int n_kernels;
  long cost;
  struct tc_blob blob;
  struct tc_code_text text;
  bool want_text;
  tc_status status;
  struct tc_error error;
};

static tc_status run_job(struct job *job) {
  struct tc_module *module;
  tc_status status = job->codegen->begin(job->alloc, job->target, job->config, &module, &job->error);
  if (status) return status;
  for (int i = 0; i < job->n_kernels; i++) {
    status = job->codegen->emit(module, job->kernels[i], &job->error);
    if (status) {
      tc_error_at(&job->error, "kernel %s", job->kernels[i]->name);
      job->codegen->discard(module);
      return status;
    }
  }
  if (job->want_text && job->codegen->assembly) job->codegen->assembly(module, &job->text.assembly);
  return job->codegen->finish(module, &job->blob, job->want_text ? &job->text.code : NULL, &job->error);
}

static void *job_thread(void *argument) {
  struct job *job = argument;
  job->status = run_job(job);
  return NULL;
}

static const struct tc_codegen *choose(const struct tc_codegen *const *codegens,
                                       const struct tc_target *target, const struct tc_kernel *kernel,
                                       struct tc_error *err) {
  char why[WHY_BYTES] = "no generator is built in";
  for (int i = 0; codegens[i]; i++)
    if (codegens[i]->supports(target, kernel, why, sizeof why)) return codegens[i];
  tc_fail(err, TC_CODEGEN, "codegen", "%s: %s", kernel->name, why);
  return NULL;
}

static int by_cost(const void *a, const void *b) {
  const struct tc_kernel *x = *(const struct tc_kernel *const *)a, *y = *(const struct tc_kernel *const *)b;
  return x->n_ops != y->n_ops ? y->n_ops - x->n_ops : strcmp(x->name, y->name);
}

static void run_jobs(struct job *jobs, int count) {
  pthread_t threads[TC_MAX_MODULES];
  bool started[TC_MAX_MODULES] = {false};
  for (int i = 1; i < count; i++) started[i] = !pthread_create(&threads[i], NULL, job_thread, &jobs[i]);
  for (int i = 0; i < count; i++)
    if (!started[i]) job_thread(&jobs[i]);
  for (int i = 1; i < count; i++)
    if (started[i]) pthread_join(threads[i], NULL);
}

/* A kernel has a cost beyond its operations: entry, loops, masks. */
enum { KERNEL_BASE_COST = 12 };

/* Greedy longest-first: the next kernel goes to the cheapest module of its generator. */
static void deal(struct job *jobs, int count, const struct tc_kernel *kernel) {
  struct job *cheapest = &jobs[0];
  for (int i = 1; i < count; i++)
    if (jobs[i].cost < cheapest->cost) cheapest = &jobs[i];
  cheapest->kernels[cheapest->n_kernels++] = kernel;
  cheapest->cost += KERNEL_BASE_COST + kernel->n_ops;
}

static void take_text(struct tc_strbuf *out, const struct tc_strbuf *from) {
  if (from->len) tc_strbuf_bytes(out, from->data, from->len);
}

/* All kernels of one generator. */
static tc_status emit_with(const struct job *model, const struct tc_kernel **kernels, int n, int threads,
                           struct tc_blobs *out, struct tc_code_text *text, struct tc_error *err) {
  struct job jobs[TC_MAX_MODULES];
  const int room = TC_MAX_MODULES - out->count;
  int count = threads < n ? threads : n;
  if (count > room) count = room;
  if (count < 1)
    return tc_fail(err, TC_LIMIT, "codegen", "more than %d modules in one compile", TC_MAX_MODULES);
  const struct tc_kernel **shares =
      TC_NEW_ARRAY(model->alloc, const struct tc_kernel *, (size_t)count *(size_t)n);
  if (!shares) return tc_fail_memory(err, "codegen");
  for (int i = 0; i < count; i++) {
    jobs[i] = *model;
    jobs[i].kernels = shares + (size_t)i * (size_t)n;
    tc_strbuf_init(&jobs[i].text.code, model->alloc);
    tc_strbuf_init(&jobs[i].text.assembly, model->alloc);
  }
  qsort(kernels, (size_t)n, sizeof *kernels, by_cost);
  for (int i = 0; i < n; i++) deal(jobs, count, kernels[i]);
  run_jobs(jobs, count);
  TC_FREE_ARRAY(model->alloc, shares, (size_t)count * (size_t)n);
  tc_status status = TC_OK;
  for (int i = 0; i < count; i++) {
    if (jobs[i].status && !status) {
      status = jobs[i].status;
      if (err) *err = jobs[i].error;
    }
    if (!jobs[i].status) out->blob[out->count++] = jobs[i].blob;
    if (text) take_text(&text->code, &jobs[i].text.code);
    if (text) take_text(&text->assembly, &jobs[i].text.assembly);
    tc_strbuf_free(&jobs[i].text.code);
    tc_strbuf_free(&jobs[i].text.assembly);
  }
  return status;
}

tc_status tc_emit_kernels(const struct tc_alloc *alloc, const struct tc_codegen *const *codegens,
                          const struct tc_target *target, const struct tc_config *config,
                          struct tc_launch_list *list, struct tc_blobs *out, struct tc_code_text *text,
                          struct tc_error *err) {
  out->count = 0;
  if (!list->n_codes) return TC_OK;
  const struct tc_kernel **kernels = TC_NEW_ARRAY(alloc, const struct tc_kernel *, (size_t)list->n_codes);
  if (!kernels) return tc_fail_memory(err, "codegen");
  tc_status status = TC_OK;
  for (int i = 0; i < list->n_codes && !status; i++) {
    const struct tc_codegen *chosen = choose(codegens, target, list->codes[i].kernel, err);
    if (chosen)
      list->codes[i].generator = chosen->name;
    else
      status = TC_CODEGEN;
  }
  const int wanted = config->compile_threads ? (int)config->compile_threads : target->threads;
  const int threads = wanted > TC_MAX_MODULES ? TC_MAX_MODULES : wanted < 1 ? 1 : wanted;
  for (int g = 0; codegens[g] && !status; g++) {
    int n = 0;
    for (int i = 0; i < list->n_codes; i++)
      if (list->codes[i].generator == codegens[g]->name) kernels[n++] = list->codes[i].kernel;
    const struct job model = {.alloc = alloc,
                              .codegen = codegens[g],
                              .target = target,
                              .config = config,
                              .want_text = text != NULL};
    if (n) status = emit_with(&model, kernels, n, threads, out, text, err);
  }
  TC_FREE_ARRAY(alloc, kernels, (size_t)list->n_codes);
  if (status) tc_blobs_free(out);
  return status;
}

void tc_blobs_free(struct tc_blobs *blobs) {
  for (int i = 0; i < blobs->count; i++) tc_blob_free(&blobs->blob[i]);
  blobs->count = 0;
}

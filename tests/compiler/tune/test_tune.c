/* The search for the fastest way of a product, and recorded runs, from C: what it finds holds, for the
 * library that it was found beside; what changes a run alone makes no other artifact; and where memory is
 * out, at whichever allocation, a compile or a call says so and loses nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cache/cache.h"
#include "codegen/emit.h"
#include "pipeline.h"
#include "tcompile.h"
#include "tensor/host.h"
#include "tune/tune.h"

static const char product[] = "graph {\n"
                              "  v0 = input [0] : f32[10, 12] strides [12, 1]\n"
                              "  v1 = input [1] : f32[14, 12] strides [12, 1]\n"
                              "  v2 = permute v1 [1, 0]\n"
                              "  v3 = matmul v0 v2\n"
                              "  v4 = relu v3\n"
                              "  return v4\n"
                              "}\n";

struct starving {
  struct tc_alloc alloc;
  int left;
};
static void *starving_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct starving *s = self;
  if (new_bytes > old_bytes && s->left >= 0 && s->left-- == 0) return NULL;
  return tc_alloc_system()->resize(tc_alloc_system()->self, block, old_bytes, new_bytes);
}

struct fixture {
  struct starving starving;
  struct tc_context ctx;
};

static void open_fixture(struct fixture *f) {
  static const struct tc_codegen *const codegens[] = {&tc_codegen_llvm, NULL};
  struct tc_error err;
  *f = (struct fixture){.starving = {.left = -1}};
  f->starving.alloc = (struct tc_alloc){starving_resize, &f->starving};
  f->ctx.alloc = &f->starving.alloc;
  f->ctx.codegens = codegens;
  tc_config_default(&f->ctx.config);
  f->ctx.config.cache = false;
  f->ctx.config.matmul = TC_PRODUCT_SEARCH;
  f->ctx.config.record = "on";
  assert_int_equal(tc_device_cpu_open(&f->starving.alloc, "auto", 1, &f->ctx.device, &err), TC_OK);
  f->ctx.cache = tc_cache_open(&f->starving.alloc, "", 1);
  assert_non_null(f->ctx.cache);
}

static void close_fixture(struct fixture *f) {
  tc_cache_close(f->ctx.cache);
  f->ctx.device->methods->close(f->ctx.device);
}

static tc_status compile(struct fixture *f, struct tc_compiled **out, struct tc_error *err) {
  struct tc_arena *arena = tc_arena_new(f->ctx.alloc);
  struct tc_compile_report report = {0};
  struct tc_graph *g = NULL;
  if (!arena) return tc_fail(err, TC_NOMEM, "test", "no arena");
  const tc_status status = tc_graph_parse(arena, product, &g, err);
  if (status) {
    tc_arena_free(arena);
    return status;
  }
  return tc_compile_graph(&f->ctx, TC_BACKEND_inductor, g, out, &report, err);
}

static tc_status call(struct fixture *f, struct tc_compiled *c, struct tc_error *err) {
  static const int64_t a_sizes[] = {10, 12}, b_sizes[] = {14, 12};
  struct tc_tensor a, b, out;
  tc_status status = tc_tensor_new(f->ctx.device, TC_F32, 2, a_sizes, &a, err);
  if (status) return status;
  status = tc_tensor_new(f->ctx.device, TC_F32, 2, b_sizes, &b, err);
  if (status) {
    tc_tensor_release(&a);
    return status;
  }
  for (int64_t i = 0; i < tc_tensor_numel(&a); i++) tc_tensor_set_f64(&a, i, (double)(i % 12));
  for (int64_t i = 0; i < tc_tensor_numel(&b); i++) tc_tensor_set_f64(&b, i, 1);
  const struct tc_tensor *inputs[] = {&a, &b};
  status = tc_compiled_run(c, inputs, NULL, &out, err);
  if (!status) {
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++)
      assert_true(tc_tensor_get_f64(&out, i) == 66); /* 0 + 1 + … + 11 */
    tc_tensor_release(&out);
  }
  tc_tensor_release(&a);
  tc_tensor_release(&b);
  return status;
}

static void test_search_is_kept(void **state) {
  struct fixture f;
  struct tc_compiled *c = NULL;
  struct tc_error err;
  (void)state;
  open_fixture(&f);
  assert_int_equal(compile(&f, &c, &err), TC_OK);
  assert_int_equal(f.ctx.counters.searches, 1);
  assert_int_equal(f.ctx.counters.compiles, 1); /* those of the search are its own */
  for (int i = 0; i < 3; i++) assert_int_equal(call(&f, c, &err), TC_OK);
  tc_compiled_release(c);
  f.ctx.config.fuse_max_ops++; /* another artifact, the product's own key holds it too */
  assert_int_equal(compile(&f, &c, &err), TC_OK);
  assert_int_equal(f.ctx.counters.searches, 2);
  tc_compiled_release(c);
  f.ctx.config.record = "off"; /* not of the product */
  assert_int_equal(compile(&f, &c, &err), TC_OK);
  assert_int_equal(f.ctx.counters.searches, 2);
  tc_compiled_release(c);
  close_fixture(&f);
}

/* --- the library's part in what is found --- */

/* Prints the library's name, as a process finds it that begins with this OPENBLAS_CORETYPE, to `out`. */
static void name_in_child(const char *core, char *out, size_t size) {
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    struct tc_device *device;
    struct tc_error err;
    setenv("OPENBLAS_CORETYPE", core, 1);
    if (tc_device_cpu_open(tc_alloc_system(), "auto", 1, &device, &err)) _exit(1);
    const char *name = device->methods->library(device, &err);
    _exit(write(ends[1], name, strlen(name) + 1) < 0);
  }
  close(ends[1]);
  assert_true(read(ends[0], out, size) > 0);
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* What decides its kernels is in its name, whatever decided it. The first test: nothing of OpenMP runs
 * yet. */
static void test_name_of_library(void **state) {
  char one[256], other[256];
  (void)state;
  name_in_child("Haswell", one, sizeof one);
  name_in_child("Sandybridge", other, sizeof other);
  assert_non_null(strstr(one, "Haswell"));
  assert_non_null(strstr(other, "Sandybridge"));
}

static int asked; /* for the library's name */
static const char *library_name = "one";
static const char *named(struct tc_device *device, struct tc_error *err) {
  (void)device, (void)err;
  asked++;
  return library_name;
}

/* What was found beside one library is not believed beside another. */
static void test_choice_is_of_a_library(void **state) {
  struct fixture f;
  struct tc_compiled *c = NULL;
  struct tc_error err;
  (void)state;
  open_fixture(&f);
  const struct tc_device_methods *methods = f.ctx.device->methods;
  struct tc_device_methods with_name = *methods;
  with_name.library = named;
  f.ctx.device->methods = &with_name;
  static const struct {
    const char *name;
    uint64_t searches;
  } steps[] = {{"one", 1}, {"one", 1}, {"other", 2}, {"one", 2}};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    library_name = steps[i].name;
    f.ctx.config.plant_fusion = (int64_t)i; /* of the artifact, not of the product's key */
    assert_int_equal(compile(&f, &c, &err), TC_OK);
    tc_compiled_release(c);
    assert_int_equal(f.ctx.counters.searches, steps[i].searches);
  }
  f.ctx.device->methods = methods;
  close_fixture(&f);
}

/* Only a search opens it: a compile that is told what to do does not wait for it. */
static void test_library_is_opened_late(void **state) {
  struct fixture f;
  struct tc_compiled *c = NULL;
  struct tc_error err;
  static const char *const ways[] = {"library", "auto", "tile_8x1"};
  (void)state;
  open_fixture(&f);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    f.ctx.config.matmul = ways[i];
    assert_int_equal(compile(&f, &c, &err), TC_OK);
    tc_compiled_release(c);
    assert_true(f.ctx.device->methods->library_opening_ns(f.ctx.device) == 0);
  }
  f.ctx.config.matmul = TC_PRODUCT_SEARCH;
  f.ctx.config.frozen = true;
  assert_int_equal(compile(&f, &c, &err), TC_OK);
  tc_compiled_release(c);
  assert_true(f.ctx.device->methods->library_opening_ns(f.ctx.device) > 0);
  close_fixture(&f);
}

/* --- the whole graph --- */

/* Compiles what is tried, and makes one way of each race slow by far. */
struct handicap {
  struct fixture *f;
  bool whole_own; /* of whole graphs: the one with own kernels; else the library's */
  int trials;
  struct tc_context contexts[16]; /* what is compiled refers to them */
};

static bool has_own(const struct tc_graph *g) {
  for (size_t i = 0; i < g->nodes.len; i++)
    if (g->nodes.data[i]->op == TC_OP_matmul && g->nodes.data[i]->product != TC_PRODUCT_library) return true;
  return false;
}

static tc_status compile_handicapped(void *self, struct tc_graph *graph, const struct tc_config *config,
                                     struct tc_compiled **out, struct tc_error *err) {
  enum { FAR_NS = 2000000 };
  struct handicap *h = self;
  struct tc_compile_report report = {0};
  assert_true(h->trials < (int)(sizeof h->contexts / sizeof *h->contexts));
  struct tc_context *ctx = &h->contexts[h->trials++];
  const bool whole = !strcmp(config->matmul, TC_PRODUCT_AUTO),
             slow = whole ? has_own(graph) == h->whole_own : !strcmp(config->matmul, "library");
  *ctx = h->f->ctx;
  ctx->cache = NULL;
  ctx->config = *config;
  if (slow) ctx->config.spin_ns = FAR_NS;
  return tc_compile_graph(ctx, TC_BACKEND_inductor, graph, out, &report, err);
}

/* Whether own kernels are left in the graph. */
static bool tune(struct fixture *f, struct handicap *h) {
  const struct tc_tuner tuner = {.self = h, .compile = compile_handicapped, .abi = 1};
  struct tc_arena *arena = tc_arena_new(f->ctx.alloc);
  struct tc_graph *g = NULL;
  struct tc_error err;
  h->f = f;
  h->trials = 0;
  assert_int_equal(tc_graph_parse(arena, product, &g, &err), TC_OK);
  tc_tune(&f->ctx, g, &tuner);
  const bool own = has_own(g);
  tc_arena_free(arena);
  return own;
}

/* An own kernel that wins alone stays where the graph is faster with it, and nowhere else; and that is found
 * out once. */
static void test_whole_graph_decides(void **state) {
  (void)state;
  for (int slow_own = 0; slow_own < 2; slow_own++) {
    struct fixture f;
    struct handicap h = {.whole_own = slow_own};
    open_fixture(&f);
    assert_int_equal(tune(&f, &h), !slow_own);
    assert_true(h.trials > 3); /* the ways of the product, and both graphs */
    h.whole_own = !slow_own;
    assert_int_equal(tune(&f, &h), !slow_own);
    assert_int_equal(h.trials, 0);
    f.ctx.config.frozen = true; /* what is known holds */
    assert_int_equal(tune(&f, &h), !slow_own);
    tc_cache_close(f.ctx.cache);
    f.ctx.cache = tc_cache_open(&f.starving.alloc, "", 1);
    assert_true(tune(&f, &h)); /* a guess for a product so small; nothing is measured */
    assert_int_equal(h.trials, 0);
    close_fixture(&f);
  }
}

/* What was searched is for a number of threads. */
static void test_artifact_is_for_threads(void **state) {
  struct fixture f;
  struct tc_compiled *one, *two, *again;
  struct tc_error err;
  (void)state;
  for (int searched = 0; searched < 2; searched++) {
    open_fixture(&f);
    f.ctx.config.matmul = searched ? TC_PRODUCT_SEARCH : "library";
    assert_int_equal(compile(&f, &one, &err), TC_OK);
    f.ctx.device->threads = 2;
    assert_int_equal(compile(&f, &two, &err), TC_OK);
    f.ctx.device->threads = 1;
    assert_int_equal(compile(&f, &again, &err), TC_OK);
    assert_int_equal(one != two, searched);
    assert_ptr_equal(one, again);
    assert_int_equal(f.ctx.counters.searches, 2 * searched);
    tc_compiled_release(one);
    tc_compiled_release(two);
    tc_compiled_release(again);
    close_fixture(&f);
  }
}

/* --- with a cache on disk --- */

static void use_folder(struct fixture *f, char folder[]) {
  assert_non_null(mkdtemp(folder));
  tc_cache_close(f->ctx.cache);
  f->ctx.cache = tc_cache_open(&f->starving.alloc, folder, 100);
  f->ctx.config.cache = true;
  assert_non_null(f->ctx.cache);
}

static void remove_folder(const char *folder) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}

static enum tc_cache_answer compile_told(struct fixture *f, struct tc_compile_texts *texts,
                                         struct tc_compiled **out) {
  struct tc_arena *arena = tc_arena_new(f->ctx.alloc);
  struct tc_compile_report report = {.texts = texts};
  struct tc_graph *g = NULL;
  struct tc_error err;
  assert_int_equal(tc_graph_parse(arena, product, &g, &err), TC_OK);
  assert_int_equal(tc_compile_graph(&f->ctx, TC_BACKEND_inductor, g, out, &report, &err), TC_OK);
  assert_int_equal(tc_cache_flush(f->ctx.cache, NULL), TC_OK);
  return report.answer;
}

/* Bytes that it holds once it ran: its pool, and where runs are recorded the memory of its result, to be
 * taken again. */
static int64_t held_by(struct fixture *f, struct tc_compiled *c) {
  struct tc_error err;
  const int64_t before = f->ctx.device->bytes_live;
  assert_int_equal(call(f, c, &err), TC_OK);
  return f->ctx.device->bytes_live - before;
}

/* record=on and off: one artifact on disk, and an object of its own in memory for each. */
static void test_runs_share_an_artifact(void **state) {
  char folder[] = "/tmp/tbench-tune.XXXXXX";
  static const struct {
    const char *record;
    int64_t spin_ns;
    enum tc_cache_answer answer;
  } steps[] = {{"off", 0, TC_CACHE_MISS},
               {"on", 0, TC_CACHE_DISK},
               {"off", 0, TC_CACHE_MEMORY},
               {"on", 0, TC_CACHE_MEMORY},
               {"on", 10, TC_CACHE_DISK}};
  enum { STEPS = sizeof steps / sizeof *steps };
  struct fixture f;
  struct tc_compiled *c[STEPS];
  struct tc_cache_stat stat;
  (void)state;
  open_fixture(&f);
  use_folder(&f, folder);
  f.ctx.config.matmul = "library";
  for (int i = 0; i < STEPS; i++) {
    f.ctx.config.record = steps[i].record;
    f.ctx.config.spin_ns = steps[i].spin_ns;
    assert_int_equal(compile_told(&f, NULL, &c[i]), steps[i].answer);
    assert_string_equal(tc_compiled_artifact(c[i]), tc_compiled_artifact(c[0]));
    assert_int_equal(tc_cache_stat(f.ctx.cache, &stat, NULL), TC_OK);
    assert_int_equal(stat.entries, 1);
  }
  assert_ptr_not_equal(c[0], c[1]);
  assert_ptr_equal(c[0], c[2]);
  assert_ptr_equal(c[1], c[3]);
  assert_ptr_not_equal(c[3], c[4]);
  assert_true(held_by(&f, c[1]) > held_by(&f, c[0]));
  for (int i = 0; i < STEPS; i++) tc_compiled_release(c[i]);
  close_fixture(&f);
  remove_folder(folder);
}

static void enter(void *self, const char *stage) { (void)self, (void)stage; }
static void leave(void *self) { (void)self; }

static void open_texts(struct tc_compile_texts *texts) {
  struct tc_strbuf *const all[] = {&texts->before_fusion, &texts->after_fusion, &texts->times,
                                   &texts->code.code, &texts->code.assembly};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tc_strbuf_init(all[i], tc_alloc_system());
}

static void close_texts(struct tc_compile_texts *texts) {
  struct tc_strbuf *const all[] = {&texts->before_fusion, &texts->after_fusion, &texts->times,
                                   &texts->code.code, &texts->code.assembly};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tc_strbuf_free(all[i]);
}

/* What a compile that a cache answered tells of its kernels is what the artifact has, though no cache knows
 * what was chosen. (While instructions are counted a search keeps nothing, and the guess wins: here, an own
 * kernel.) */
static void test_texts_search_nothing(void **state) {
  static const struct tc_stage_watch counting = {.enter = enter, .leave = leave};
  char folder[] = "/tmp/tbench-tune.XXXXXX";
  struct fixture f;
  struct tc_compile_texts texts[3];
  struct tc_compiled *c;
  (void)state;
  open_fixture(&f);
  use_folder(&f, folder);
  const struct tc_device_methods *methods = f.ctx.device->methods;
  struct tc_device_methods with_name = *methods;
  with_name.library = named;
  f.ctx.device->methods = &with_name;
  static const enum tc_cache_answer answers[] = {TC_CACHE_MISS, TC_CACHE_MEMORY, TC_CACHE_DISK};
  for (int i = 0; i < 3; i++) {
    f.ctx.watch = i ? NULL : &counting;
    if (i == 2) tc_cache_memory_clear(f.ctx.cache);
    asked = 0;
    open_texts(&texts[i]);
    assert_int_equal(compile_told(&f, &texts[i], &c), answers[i]);
    tc_compiled_release(c);
    assert_int_equal(asked > 0, !i); /* whoever searches asks for the library's name */
    assert_string_equal(tc_strbuf_text(&texts[i].after_fusion), tc_strbuf_text(&texts[0].after_fusion));
  }
  assert_non_null(strstr(texts[0].after_fusion.data, "product"));
  for (int i = 0; i < 3; i++) close_texts(&texts[i]);
  f.ctx.device->methods = methods;
  close_fixture(&f);
  remove_folder(folder);
}

static void test_memory_runs_out(void **state) {
  enum { STRIDE = 7 /* of the many allocations of a compile */, MORE_THAN_IT_MAKES = 100000 };
  struct fixture f;
  (void)state;
  open_fixture(&f);
  for (int n = 0, passed = 0; !passed; n += STRIDE) {
    struct tc_compiled *c = NULL;
    struct tc_error err = {0};
    assert_true(n < MORE_THAN_IT_MAKES);
    tc_cache_memory_clear(f.ctx.cache);
    f.starving.left = n;
    tc_status status = compile(&f, &c, &err);
    if (!status) status = call(&f, c, &err);
    if (!status) status = call(&f, c, &err);
    passed = !status && f.starving.left > 0;
    f.starving.left = -1;
    if (status) assert_int_equal(status, TC_NOMEM);
    if (c) assert_int_equal(call(&f, c, &err), TC_OK); /* a failure leaves it as it was */
    tc_compiled_release(c);
  }
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_name_of_library),        cmocka_unit_test(test_library_is_opened_late),
      cmocka_unit_test(test_search_is_kept),         cmocka_unit_test(test_choice_is_of_a_library),
      cmocka_unit_test(test_runs_share_an_artifact), cmocka_unit_test(test_texts_search_nothing),
      cmocka_unit_test(test_whole_graph_decides),    cmocka_unit_test(test_artifact_is_for_threads),
      cmocka_unit_test(test_memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

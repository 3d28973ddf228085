/* Choosing, and keeping what was chosen.
 *
 * 1. A product that was met before, in this graph, process, or by another process with the same cache, is not
 *    tried again. What is not believed, as the machine was disturbed, is kept by this process alone, and in
 *    the artifact that was made with it.
 * 2. The library stays unless another way is clearly faster: a tie would be decided by noise.
 * 3. Products beyond LARGE are the library's: own kernels do not pack their operands, and trying them would
 *    take long. So are those whose operands lie in more memory than is worth to be had for a trial, and empty
 *    ones.
 * 4. Limits of fuel do not reach a search: the same product gets the same answer in every trial of tbench
 *    bisect.
 * 5. A product that wins alone may lose among what it is fused with. So where a graph has more than products,
 *    it is timed as a whole, as chosen and with the library, and the library gets all where that is no
 *    slower. That is kept as a product's winner is. */
#include "tune/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "cache/cache.h"
#include "cache/key.h"
#include "device/device.h"

static const double LARGE = 1 << 24, /* multiply-adds */
    LARGE_SPAN = 1 << 26,            /* bytes of operands, or of a graph's inputs */
    SMALL = 1 << 15,                 /* multiply-adds below which an own kernel is the guess */
    CLEARLY = 0.97;

struct known {
  unsigned char digest[TC_SHA256_BYTES];
  enum tc_product product;
};
struct search {
  struct tc_context *ctx;
  const struct tc_tuner *tuner;
  struct tc_config config;    /* of what is tried; `matmul` but for which way */
  TC_VEC(struct known) known; /* of this graph */
};

/* Of the switches, those that make a product's code; none of how it was asked for, and nothing that is
 * planted or left out. */
static struct tc_config config_of(const struct tc_context *ctx) {
  struct tc_config config = ctx->config;
  config.matmul = TC_PRODUCT_SEARCH;
  config.record = "off";
  config.debug = "";
  config.frozen = false;
  config.spin_ns = config.spin_instructions = config.plant_fusion = 0;
#define TC_FUEL(name, unit, where) config.fuel_##name = TC_CONFIG_UNLIMITED;
#include "base/fuel.def"
#undef TC_FUEL
  return config;
}

/* Of what is found of `g`: `of` says what. The library's own choice of kernels (by the processor, or as
 * OPENBLAS_CORETYPE says) decides what it is worth, so it is asked for its name. */
static bool key_of_graph(struct search *s, const struct tc_graph *g, const char *of,
                         struct tc_cache_key *key) {
  struct tc_error unused;
  struct tc_strbuf text;
  if (tc_cache_key_of(g, &s->config, &s->ctx->device->target, s->ctx->codegens, s->tuner->abi, key, &unused))
    return false;
  tc_strbuf_init(&text, s->ctx->alloc);
  const char *library = s->ctx->device->methods->library(s->ctx->device, &unused);
  tc_strbuf_printf(&text, "%s beside %s", of, library ? library : "");
  const char *beside = tc_strbuf_text(&text);
  if (beside) tc_cache_key_of_choice(key, s->ctx->device->threads, beside);
  tc_strbuf_free(&text);
  return beside;
}

/* False: the product cannot be taken out of its graph, or is too large to be tried. */
static bool key_of(struct search *s, const struct tc_node *product, struct tc_cache_key *key) {
  struct tc_graph *g = tune_extract(s->ctx, product);
  if (!g) return false;
  const bool good = tune_span_of_all(g) <= LARGE_SPAN && key_of_graph(s, g, "a product", key);
  tc_arena_free(g->arena);
  return good;
}

static enum tc_product guess(const struct tc_node *product) {
  return tune_work(product) <= SMALL ? TC_PRODUCT_tile_8x1 : TC_PRODUCT_library;
}

/* A tile whose accumulators would not stay in registers, beside what they take in, is not tried. */
static bool has_registers(const struct search *s, enum tc_product way) {
  enum { WIDE = 64, REGISTERS = 16, REGISTERS_WIDE = 32, FOR_OPERANDS = 4 };
  const int registers = s->ctx->device->target.vector_bytes >= WIDE ? REGISTERS_WIDE : REGISTERS;
  return tc_product_row(way)->rows * tc_product_row(way)->columns <= registers - FOR_OPERANDS;
}

/* --- telling --- */

static void put_product(struct tc_strbuf *text, const struct tc_node *product) {
  for (int i = 0; i < 2; i++) {
    tc_strbuf_puts(text, i ? " x " : "");
    tc_meta_print(text, &product->in[i]->meta);
  }
}

static void tell(const struct search *s, const struct tc_node *product, const char *why,
                 enum tc_product winner) {
  struct tc_strbuf text;
  if (!tc_log_on(&s->ctx->log, TC_LOG_TUNE)) return;
  tc_strbuf_init(&text, s->ctx->alloc);
  put_product(&text, product);
  const char *line = tc_strbuf_text(&text);
  if (line) tc_log_line(&s->ctx->log, TC_LOG_TUNE, "%s: %s (%s)", line, tc_product_row(winner)->name, why);
  tc_strbuf_free(&text);
}

static void tell_race(const struct search *s, const struct tc_node *product, const struct tune_contender *all,
                      const char *const *names, int n, const char *winner) {
  struct tc_strbuf text;
  if (!tc_log_on(&s->ctx->log, TC_LOG_TUNE)) return;
  tc_strbuf_init(&text, s->ctx->alloc);
  if (product)
    put_product(&text, product);
  else
    tc_strbuf_puts(&text, "the whole graph");
  tc_strbuf_printf(&text, ": %s of", winner);
  for (int i = 0; i < n; i++)
    if (isfinite(all[i].ns)) tc_strbuf_printf(&text, "%s %s %.0f ns", i ? "," : "", names[i], all[i].ns);
  const char *line = tc_strbuf_text(&text);
  if (line) tc_log_line(&s->ctx->log, TC_LOG_TUNE, "%s", line);
  tc_strbuf_free(&text);
}

/* --- keeping --- */

/* What another process found first holds for all that share it. The winner's name is in `name`, and
 * replaced. */
static void agree(struct search *s, const struct tc_cache_key *key, char name[TC_CACHE_CHOICE],
                  bool (*is_one)(const char *name)) {
  char shared[TC_CACHE_CHOICE];
  if (tc_cache_shared_choice_get(s->ctx->cache, key, shared) && is_one(shared))
    memcpy(name, shared, sizeof shared);
  else
    tc_cache_shared_choice_put(s->ctx->cache, key, name);
}

static void keep(struct search *s, const struct tc_cache_key *key, char name[TC_CACHE_CHOICE], bool believed,
                 bool (*is_one)(const char *name)) {
  if (!s->ctx->cache) return;
  if (believed) agree(s, key, name, is_one);
  tc_cache_choice_put(s->ctx->cache, key, name, s->ctx->config.cache && believed);
}

/* From the caches; what they hold may be of a version that had other ways. */
static bool recall(struct search *s, const struct tc_cache_key *key, char name[TC_CACHE_CHOICE],
                   bool (*is_one)(const char *name)) {
  return s->ctx->cache && tc_cache_choice_get(s->ctx->cache, key, s->ctx->config.cache, name) && is_one(name);
}

/* --- one product --- */

static bool is_product(const char *name) { return tc_product_find(name) >= 0; }

/* Of the n contenders, the first of which is the library's. */
static int winner_of(const struct tune_contender *all, int n) {
  int best = 0;
  for (int i = 1; i < n; i++)
    if (all[i].ns < all[best].ns * (best ? 1 : CLEARLY)) best = i;
  return best;
}

static enum tc_product measure(struct search *s, const struct tc_node *product,
                               const struct tc_cache_key *key) {
  struct tune_contender all[TC_PRODUCTS] = {0};
  const char *names[TC_PRODUCTS];
  int n = 0;
  bool believed;
  for (int i = 0; i < TC_PRODUCTS; i++) {
    if (!has_registers(s, (enum tc_product)i)) continue;
    names[n] = tc_product_row((enum tc_product)i)->name;
    all[n].graph = tune_extract(s->ctx, product);
    all[n].config = s->config;
    all[n].config.matmul = names[n];
    n++;
  }
  if (!tune_race(s->ctx, s->tuner, all, n, tune_work(product), &believed)) {
    tell(s, product, "not tried: memory", TC_PRODUCT_library);
    return TC_PRODUCT_library;
  }
  s->ctx->counters.searches++;
  if (s->ctx->watch) return guess(product);
  char winner[TC_CACHE_CHOICE];
  snprintf(winner, sizeof winner, "%s", names[winner_of(all, n)]);
  keep(s, key, winner, believed, is_product);
  tell_race(s, product, all, names, n, winner);
  return (enum tc_product)tc_product_find(winner);
}

static enum tc_product choose(struct search *s, const struct tc_node *product) {
  struct tc_cache_key key;
  struct known known;
  char name[TC_CACHE_CHOICE];
  const double work = tune_work(product);
  if (!(work > 0 && work <= LARGE) || !key_of(s, product, &key)) {
    tell(s, product, "not tried: its size", TC_PRODUCT_library);
    return TC_PRODUCT_library;
  }
  for (size_t i = 0; i < s->known.len; i++)
    if (!memcmp(s->known.data[i].digest, key.digest, sizeof key.digest)) return s->known.data[i].product;
  memcpy(known.digest, key.digest, sizeof known.digest);
  if (recall(s, &key, name, is_product)) {
    known.product = (enum tc_product)tc_product_find(name);
    tell(s, product, "known", known.product);
  } else if (s->ctx->config.frozen) {
    known.product = guess(product);
    tell(s, product, "a guess: frozen", known.product);
  } else {
    known.product = measure(s, product, &key);
  }
  (void)tc_vec_push(s->ctx->alloc, &s->known, known); /* without memory for it, it is asked again */
  return known.product;
}

/* --- the whole graph --- */

/* Is there anything that an own kernel could be fused with, or that it reads otherwise than as it lies? */
static bool has_context(const struct tc_graph *g) {
  for (size_t i = 0; i < g->nodes.len; i++)
    if (g->nodes.data[i]->op != TC_OP_input && g->nodes.data[i]->op != TC_OP_matmul) return true;
  return false;
}

static double work_of(const struct tc_graph *g) {
  enum { OF_OTHERS = 1024 /* multiply-adds, or so, of any other operation */ };
  double work = 0;
  for (size_t i = 0; i < g->nodes.len; i++)
    work += g->nodes.data[i]->op == TC_OP_matmul ? tune_work(g->nodes.data[i]) : OF_OTHERS;
  return work;
}

static void give_to_library(struct tc_graph *g) {
  for (size_t i = 0; i < g->nodes.len; i++) g->nodes.data[i]->product = TC_PRODUCT_library;
}

enum { LIBRARY, CHOSEN, BOTH };
static const char *const whole_names[] = {"with the library", "as chosen"};
static bool is_whole(const char *name) {
  return !strcmp(name, whole_names[LIBRARY]) || !strcmp(name, whole_names[CHOSEN]);
}

/* Of the graph with what was chosen for its products. */
static bool key_of_whole(struct search *s, const struct tc_graph *g, struct tc_cache_key *key) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, s->ctx->alloc);
  tc_strbuf_puts(&text, "a graph of");
  for (size_t i = 0; i < g->nodes.len; i++)
    if (g->nodes.data[i]->op == TC_OP_matmul)
      tc_strbuf_printf(&text, " %s", tc_product_row(g->nodes.data[i]->product)->name);
  const char *of = tc_strbuf_text(&text);
  const bool good = of && key_of_graph(s, g, of, key);
  tc_strbuf_free(&text);
  return good;
}

/* Times both. The winner's name is in `winner`; false: they could not be tried. */
static bool measure_whole(struct search *s, const struct tc_graph *g, const struct tc_cache_key *key,
                          char winner[TC_CACHE_CHOICE]) {
  struct tune_contender both[BOTH] = {0};
  bool believed = false, good = true;
  for (int i = 0; i < BOTH; i++) {
    both[i].graph = tune_copy(s->ctx, g);
    both[i].config = s->config;
    both[i].config.matmul = TC_PRODUCT_AUTO; /* as the nodes say */
  }
  if (both[LIBRARY].graph) {
    give_to_library(both[LIBRARY].graph);
    good = tune_span_of_all(both[LIBRARY].graph) <= LARGE_SPAN;
  }
  if (!good)
    for (int i = 0; i < BOTH; i++)
      if (both[i].graph) tc_arena_free(both[i].graph->arena);
  if (!good || !tune_race(s->ctx, s->tuner, both, BOTH, work_of(g), &believed)) return false;
  snprintf(winner, TC_CACHE_CHOICE, "%s", whole_names[s->ctx->watch ? CHOSEN : winner_of(both, BOTH)]);
  if (!s->ctx->watch) keep(s, key, winner, believed, is_whole);
  tell_race(s, NULL, both, whole_names, BOTH, winner);
  return true;
}

/* Is the graph, as chosen, clearly faster than with the library for all? Where nothing may be measured and
 * nobody knows, it is as chosen. */
static bool wins_whole(struct search *s, const struct tc_graph *g) {
  struct tc_cache_key key;
  char winner[TC_CACHE_CHOICE];
  if (!key_of_whole(s, g, &key)) return false;
  if (!recall(s, &key, winner, is_whole)) {
    if (s->ctx->config.frozen) return true;
    if (!measure_whole(s, g, &key, winner)) return false;
  }
  return !strcmp(winner, whole_names[CHOSEN]);
}

static void search(struct search *s, struct tc_graph *g) {
  bool own = false;
  for (size_t i = 0; i < g->nodes.len; i++) {
    struct tc_node *node = g->nodes.data[i];
    if (node->op == TC_OP_matmul) node->product = choose(s, node);
    own |= node->product != TC_PRODUCT_library;
  }
  if (own && has_context(g) && !wins_whole(s, g)) give_to_library(g);
}

void tc_tune(struct tc_context *ctx, struct tc_graph *g, const struct tc_tuner *tuner) {
  const int fixed = tc_product_find(
      ctx->config.matmul); /* -1: search, or auto, which is the library where no mode says otherwise */
  struct search s = {.ctx = ctx, .tuner = tuner, .config = config_of(ctx)};
  if (!strcmp(ctx->config.matmul, TC_PRODUCT_SEARCH)) search(&s, g);
  for (size_t i = 0; fixed > TC_PRODUCT_library && i < g->nodes.len; i++)
    if (g->nodes.data[i]->op == TC_OP_matmul) g->nodes.data[i]->product = (enum tc_product)fixed;
  tc_vec_free(ctx->alloc, &s.known);
}

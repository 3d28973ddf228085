#include "cache/key.h"

#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

enum { HEX = 16 };

static uint64_t hash_text(uint64_t hash, const char *text) { return tc_hash_bytes(hash, text, strlen(text)); }

/* Symbols by structure: constants by value, others by their text. Hints do not enter: facts of the artifact
 * say whether it serves. */
static bool add_sym(struct tc_strbuf *out, tc_sym s) {
  if (tc_sym_is_const(s)) {
    const int64_t value = tc_sym_value(s);
    tc_strbuf_bytes(out, &value, sizeof value);
  } else {
    tc_strbuf_puts(out, "(");
    tc_sym_print(out, s);
    tc_strbuf_puts(out, ")");
  }
  return tc_sym_valid(s);
}

static void add_int(struct tc_strbuf *out, int value) { tc_strbuf_bytes(out, &value, sizeof value); }

/* Operations and their wiring. */
static void add_structure(struct tc_strbuf *out, const struct tc_node *node) {
  tc_strbuf_puts(out, tc_op_row(node->op)->name);
  add_int(out, node->n_in);
  for (int i = 0; i < node->n_in; i++) add_int(out, node->in[i]->id);
  add_int(out, (int)node->meta.dtype);
  add_int(out, node->draw);
  add_int(out, node->attrs.n_nums);
  tc_strbuf_bytes(out, node->attrs.nums, sizeof(double) * (size_t)node->attrs.n_nums);
}

/* Sizes, strides and integer attributes. */
static void add_shapes(struct tc_strbuf *out, const struct tc_node *node) {
  add_int(out, node->attrs.n_ints);
  for (int i = 0; i < node->attrs.n_ints; i++) add_sym(out, node->attrs.ints[i]);
  add_int(out, node->meta.ndim);
  for (int i = 0; i < node->meta.ndim; i++) add_sym(out, node->meta.sizes[i]);
  for (int i = 0; node->strides && i < node->meta.ndim; i++) add_sym(out, node->strides[i]);
}

static uint64_t hash_target(const struct tc_target *t) {
  uint64_t hash = hash_text(hash_text(0, t->device), t->name);
  hash = hash_text(hash, t->llvm_features);
  const int64_t numbers[] = {t->vector_bytes, t->l1_bytes, t->l2_bytes, t->l3_bytes};
  return tc_hash_bytes(hash, numbers, sizeof numbers);
}

uint64_t tc_cache_generators(const struct tc_codegen *const *codegens) {
  uint64_t generators = TC_SCHED_VERSION;
  for (int i = 0; codegens[i]; i++)
    generators = hash_text(hash_text(generators, codegens[i]->name), codegens[i]->version);
  return generators;
}

/* What the key is made of: `structure` and `shapes` as bytes. */
struct description {
  struct tc_strbuf structure, shapes;
};

/* Sizes of nodes are added as their operations are. Off (opt.fused_passes): a walk for the operations, and
 * one for the sizes. */
static void describe(struct description *d, const struct tc_graph *g, const struct tc_config *config) {
  const bool fused = config->opt_fused_passes;
  for (size_t i = 0; i < g->nodes.len; i++) {
    add_structure(&d->structure, g->nodes.data[i]);
    if (fused) add_shapes(&d->shapes, g->nodes.data[i]);
  }
  for (size_t i = 0; i < g->nodes.len && !fused; i++) add_shapes(&d->shapes, g->nodes.data[i]);
  for (size_t i = 0; i < g->outputs.len; i++) add_int(&d->structure, g->outputs.data[i]->id);
}

/* Off (opt.lazy_dump): the graph's text, as people read it, and what it leaves out. It holds the sizes too,
 * so that an entry which differs in them alone cannot be told from others. */
static void describe_as_text(struct description *d, const struct tc_graph *g) {
  tc_graph_print_plain(&d->structure, g);
  for (size_t i = 0; i < g->nodes.len; i++) add_int(&d->structure, g->nodes.data[i]->draw);
}

tc_status tc_cache_key_of(const struct tc_graph *g, const struct tc_config *config,
                          const struct tc_target *target, const struct tc_codegen *const *codegens,
                          int artifact_abi, struct tc_cache_key *key, struct tc_error *err) {
  struct description d;
  tc_strbuf_init(&d.structure, tc_arena_alloc(g->arena));
  tc_strbuf_init(&d.shapes, tc_arena_alloc(g->arena));
  if (config->opt_lazy_dump)
    describe(&d, g, config);
  else
    describe_as_text(&d, g);
  add_int(&d.structure, g->draws);             /* dead nodes drew too */
  add_int(&d.shapes, tc_symtab_sizes(g->tab)); /* so many values a call gives */
  if (d.structure.failed || d.shapes.failed)
    return tc_fail(err, TC_NOMEM, "cache", "out of memory for the cache key");
  key->part[TC_KEY_GRAPH] = tc_hash_bytes(0, d.structure.data, d.structure.len);
  key->part[TC_KEY_SHAPES] = tc_hash_bytes(0, d.shapes.data, d.shapes.len);
  key->part[TC_KEY_CONFIG] = tc_config_key(config);
  key->part[TC_KEY_TARGET] = hash_target(target);
  key->part[TC_KEY_GENERATOR] =
      *config->generator ? strtoull(config->generator, NULL, HEX) : tc_cache_generators(codegens);
  key->part[TC_KEY_ABI] = (uint64_t)artifact_abi;
  key->run = tc_config_run_key(config);
  key->kind = TC_CACHE_ARTIFACTS;
  struct tc_sha256 sha;
  tc_sha256_init(&sha);
  tc_sha256_add(&sha, d.structure.data, d.structure.len);
  tc_sha256_add(&sha, d.shapes.data, d.shapes.len);
  tc_sha256_add(&sha, &key->part[TC_KEY_CONFIG], sizeof *key->part * (TC_KEY_PARTS - TC_KEY_CONFIG));
  tc_sha256_end(&sha, key->digest);
  return TC_OK;
}

static void derive(struct tc_cache_key *key, const char *what, int threads) {
  struct tc_sha256 sha;
  tc_sha256_init(&sha);
  tc_sha256_add(&sha, key->digest, sizeof key->digest);
  tc_sha256_add(&sha, what, strlen(what) + 1);
  tc_sha256_add(&sha, &threads, sizeof threads);
  tc_sha256_end(&sha, key->digest);
}

void tc_cache_key_for_threads(struct tc_cache_key *key, int threads) {
  derive(key, "threads", threads);
  key->part[TC_KEY_TARGET] = tc_hash_bytes(key->part[TC_KEY_TARGET], &threads, sizeof threads);
}

void tc_cache_key_of_choice(struct tc_cache_key *key, int threads, const char *what) {
  derive(key, what, threads);
  key->kind = TC_CACHE_CHOICES;
  for (int i = 0; i < TC_KEY_PARTS; i++) key->part[i] = hash_text(key->part[i], what);
}

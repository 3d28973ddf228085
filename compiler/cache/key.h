/* The key of a graph's artifact: what enters it, and nothing else (no paths, ordinals, pointers). */
#ifndef TC_CACHE_KEY_H
#define TC_CACHE_KEY_H

#include "cache/cache.h"
#include "codegen/codegen.h"
#include "ir/graph.h"

/* What makes kernels and code of a graph, by its versions: programs with the same one make the same
 * artifacts. */
uint64_t tc_cache_generators(const struct tc_codegen *const *codegens);

/* `g` is decomposed and has no dead nodes. TC_NOMEM only. */
tc_status tc_cache_key_of(const struct tc_graph *g, const struct tc_config *config,
                          const struct tc_target *target, const struct tc_codegen *const *codegens,
                          int artifact_abi, struct tc_cache_key *key, struct tc_error *err);
/* Makes it the key of an artifact that is for so many threads: what a search made is. */
void tc_cache_key_for_threads(struct tc_cache_key *key, int threads);
/* Makes it the key of what a search chose for the same graph, on as many threads; `what` says of what, and
 * beside which library. It is near to no key of an artifact. */
void tc_cache_key_of_choice(struct tc_cache_key *key, int threads, const char *what);

#endif

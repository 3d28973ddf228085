/* The weights of scaled dot product attention, over a builder: what the decomposition of sdpa and
 * attention with dropout share. */
#ifndef TC_OPS_ATTENTION_H
#define TC_OPS_ATTENTION_H

#include "ops/builder.h"

/* softmax(q · kᵀ · scale + mask) over the keys: [batch…, queries, keys]. `mask` is added and may be
 * NULL; `causal`: query i sees keys 0…i. A query whose scores are all -∞ weighs every key with 0. */
struct tc_value *tc_attention_weights(struct tc_rule *r, struct tc_value *q, struct tc_value *k,
                                      struct tc_value *mask, bool causal, double scale);

#endif

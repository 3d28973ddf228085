/* Whose fault a difference is. A case's speed is that of an artifact (what the compiler made) on a runtime
 * (the program that loads and runs it). With two programs of one artifact ABI each can run the other's
 * artifact: it is started with the other's cache and asks it by the other's generator fingerprint. What then
 * still differs from base is the part that was swapped in. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "harness/compare/ab.h"
#include "harness/run/role.h"
#include "harness/run/states.h"
#include "results/document.h"

enum { READ_BYTES = 1 << 16, SWAP_PAIRS = 24 };

static const char *artifact_of(const cJSON *one_case) {
  return tb_doc_text(one_case, "graph.artifact", NULL);
}

static bool hash_program(const char *program, char text[TC_SHA256_HEX]) {
  static const char self[] = "/proc/self/exe";
  unsigned char bytes[READ_BYTES], digest[TC_SHA256_BYTES];
  FILE *in = fopen(program ? program : self, "rbe");
  struct tc_sha256 sha;
  if (!in) return false;
  tc_sha256_init(&sha);
  for (size_t got; (got = fread(bytes, 1, sizeof bytes, in));) tc_sha256_add(&sha, bytes, got);
  const bool good = !ferror(in);
  fclose(in);
  tc_sha256_end(&sha, digest);
  tc_sha256_hex(digest, text);
  return good;
}

static bool same_program(const struct tb_case *a, const struct tb_case *b) {
  char first[TC_SHA256_HEX], second[TC_SHA256_HEX];
  if (!a->program && !b->program) return true;
  return hash_program(a->program, first) && hash_program(b->program, second) && !strcmp(first, second);
}

static bool same_artifact(const struct tb_compared *one) {
  const char *base = artifact_of(one->base), *head = artifact_of(one->head);
  return base && head && !strcmp(base, head);
}

/* Switches that are aside do not count: they change no figure. */
static bool same_way(const struct tb_case *a, const struct tb_case *b) {
  bool same = !strcmp(a->backend, b->backend) && !strcmp(a->mode, b->mode) && a->n_switches == b->n_switches;
  for (int i = 0; i < a->n_switches && same; i++)
    same = !strcmp(a->switches[i].name, b->switches[i].name) &&
           !strcmp(a->switches[i].value, b->switches[i].value);
  return same;
}

void tb_ab_mark_control(struct tb_ab *ab, size_t index) {
  const struct tb_case *base = &ab->run->plan.cases.data[2 * index], *head = base + 1;
  struct tb_compared *one = &ab->comparison->cases.data[index];
  one->control = same_artifact(one) && same_program(base, head) && same_way(base, head);
}

/* --- swapping --- */

struct swap {
  struct tb_ab *ab;
  size_t index;
  struct tb_paired_arm base, head;
  struct tb_attribution *out;
};

/* One started worker of a comparison's arm: its hello, and what its first call found. */
struct met {
  int abi;
  char generators[TB_GENERATOR_TEXT];
  bool hit;
  char artifact[TC_SHA256_HEX];
};

static tc_status meet(struct tb_run *run, const struct tb_paired_arm *who, struct met *out, const char **why,
                      struct tc_error *err) {
  struct tb_process process;
  struct tb_prepared prepared;
  struct tb_first first = {.stats = NULL};
  tc_status status =
      tb_role_start(run, who->kase, TB_ROLE_COMPILED, who->cache_dir, &process, &prepared, err);
  if (!status) status = tb_first_call(&process, false, tb_run_timeout(run, who->kase), &first, err);
  if (!status) {
    *out = (struct met){.abi = process.artifact_abi,
                        .hit = first.evidence.disk_hits > 0 && first.evidence.misses == 0};
    snprintf(out->generators, sizeof out->generators, "%s", process.generators);
    snprintf(out->artifact, sizeof out->artifact, "%s", tb_doc_text(first.stats, "artifact", ""));
  } else if (status != TC_INTERRUPTED && status != TC_NOMEM) {
    *why = tb_format(run->arena, "a worker failed: %s", process.why);
    status = *why ? TC_OK : tc_fail_memory(err, "ab");
  }
  cJSON_Delete(first.stats);
  tb_process_stop(&process);
  return status;
}

/* Switches that do not change what the compiler makes go with the program. */
static tc_status take_runtime(struct tc_arena *arena, const struct tc_config *from, struct tc_config *to,
                              struct tc_error *err) {
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *row = tc_config_row(i);
    struct tc_strbuf text;
    if (row->in_key || row->aside) continue;
    tc_strbuf_init(&text, tc_arena_alloc(arena));
    tc_config_get(from, i, &text);
    const char *value = tc_strbuf_text(&text);
    const tc_status status = value ? tc_config_set(to, row->name, value, err) : tc_fail_memory(err, "ab");
    if (status) return status;
  }
  return TC_OK;
}

/* `of`'s artifact on `on`'s program, held against base. *why: it cannot be. */
static tc_status compare_swapped(struct swap *s, const struct tb_paired_arm *of,
                                 const struct tb_paired_arm *on, const char *generators,
                                 struct tb_decision *decision, const char **why, struct tc_error *err) {
  struct tb_run *run = s->ab->run;
  struct tb_case kase = *of->kase;
  struct met met;
  kase.program = on->kase->program;
  kase.arm = "swapped";
  tc_status status = take_runtime(run->arena, &on->kase->config, &kase.config, err);
  if (!status) status = tc_config_set(&kase.config, "generator", generators, err);
  const struct tb_paired_arm swapped = {&kase, of->cache_dir};
  if (!status) status = meet(run, &swapped, &met, why, err);
  if (status || *why) return status;
  if (!met.hit ||
      strcmp(met.artifact, artifact_of(of == &s->base ? s->ab->comparison->cases.data[s->index].base
                                                      : s->ab->comparison->cases.data[s->index].head))) {
    *why = "the programs make different graphs of the same function, so neither finds the other's artifact";
    return TC_OK;
  }
  struct tb_paired d = {
      .base = s->base,
      .head = swapped,
      .budget_s = s->ab->seconds,
      .max_pairs = SWAP_PAIRS,
      .threshold = tb_policy_threshold(s->ab->comparison->policy, s->ab->comparison->cases.data[s->index].id),
      .seed = (uint64_t)run->spec.options.seed + s->index};
  status = tb_paired_run(run, &d, err);
  if (!status && d.why)
    *why = d.why;
  else if (!status && !d.decided)
    *why = "the run was interrupted";
  *decision = d.decision;
  return status;
}

static tc_status swap_both(struct swap *s, struct tc_error *err) {
  struct met base, head;
  const char **why = &s->out->why;
  tc_status status = meet(s->ab->run, &s->base, &base, why, err);
  if (!status && !*why) status = meet(s->ab->run, &s->head, &head, why, err);
  if (status || *why) return status;
  if (base.abi != head.abi) {
    *why = tb_format(s->ab->run->arena,
                     "the programs' artifacts have different formats (artifact_abi %d and %d)", base.abi,
                     head.abi);
    return *why ? TC_OK : tc_fail_memory(err, "ab");
  }
  status = compare_swapped(s, &s->head, &s->base, head.generators, &s->out->artifact, why, err);
  if (!status && !*why)
    status = compare_swapped(s, &s->base, &s->head, base.generators, &s->out->runtime, why, err);
  s->out->known = !status && !*why;
  return status;
}

tc_status tb_ab_attribute(struct tb_ab *ab, size_t index, struct tc_error *err) {
  const struct tb_case *base = &ab->run->plan.cases.data[2 * index], *head = base + 1;
  struct tb_compared *one = &ab->comparison->cases.data[index];
  struct tc_arena *arena = ab->run->arena;
  struct swap s = {.ab = ab,
                   .index = index,
                   .out = &one->attribution,
                   .base = {base, tb_format(arena, "%s/ab%zu-base", ab->run->cache_root, index)},
                   .head = {head, tb_format(arena, "%s/ab%zu-head", ab->run->cache_root, index)}};
  if (!s.base.cache_dir || !s.head.cache_dir) return tc_fail_memory(err, "ab");
  if (!artifact_of(one->base) || !artifact_of(one->head))
    s.out->why = "there is no artifact to swap";
  else if (same_artifact(one))
    s.out->why = one->control ? "both sides run the same artifact in the same way on the same program"
                              : "the artifact is the same: the cause is the runtime, or a switch of it";
  else if (same_program(base, head))
    s.out->why = "both sides run the same program: the cause is in the compiler output";
  else
    return swap_both(&s, err);
  return TC_OK;
}

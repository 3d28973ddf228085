/* Searches over a number, and over subsets. */
#include "harness/compare/bisect_search.h"

#include <string.h>

enum tb_bad tb_search_least(void *self, enum tb_bad (*ask)(void *self, long long n), long long good,
                            long long bad, long long *n) {
  while (bad - good > 1) {
    *n = good + (bad - good) / 2;
    const enum tb_bad answer = ask(self, *n);
    if (answer != TB_BAD_YES && answer != TB_BAD_NO) return answer;
    if (answer == TB_BAD_YES)
      bad = *n;
    else
      good = *n;
  }
  *n = bad;
  return TB_BAD_YES;
}

/* --- subsets --- */

struct chunks {
  const bool *in;
  int count, members, parts;
};

/* The members of one of `parts` nearly equal chunks, or (`without`) all but those. */
static void take_chunk(const struct chunks *c, int part, bool without, bool *out) {
  const int first = c->members * part / c->parts, end = c->members * (part + 1) / c->parts;
  for (int i = 0, member = 0; i < c->count; i++) {
    const bool inside = c->in[i] && member >= first && member < end;
    member += c->in[i];
    out[i] = c->in[i] && inside != without;
  }
}

static int count_members(const bool *in, int count) {
  int members = 0;
  for (int i = 0; i < count; i++) members += in[i];
  return members;
}

/* Tries every chunk, or what is left without it. YES: `in` has become smaller. */
static enum tb_bad try_chunks(void *self, enum tb_bad (*ask)(void *self, const bool *in),
                              const struct chunks *c, bool without, bool *in, bool *unsure) {
  bool trial[TB_SEARCH_ELEMENTS];
  for (int part = 0; part < c->parts; part++) {
    take_chunk(c, part, without, trial);
    const enum tb_bad answer = ask(self, trial);
    if (answer == TB_BAD_STOP) return answer;
    *unsure |= answer == TB_BAD_UNSURE;
    if (answer != TB_BAD_YES) continue;
    memcpy(in, trial, sizeof *in * (size_t)c->count);
    return TB_BAD_YES;
  }
  return TB_BAD_NO;
}

enum tb_bad tb_search_subset(void *self, enum tb_bad (*ask)(void *self, const bool *in), bool *in,
                             int count) {
  bool unsure = false;
  for (int parts = 2, members; (members = count_members(in, count)) > 1;) {
    const struct chunks c = {in, count, members, parts};
    enum tb_bad answer = try_chunks(self, ask, &c, false, in, &unsure);
    if (answer == TB_BAD_STOP) return answer;
    if (answer == TB_BAD_YES) {
      parts = 2;
      continue;
    }
    if (parts > 2)
      answer = try_chunks(self, ask, &c, true, in,
                          &unsure); /* of two chunks, the one without the other was tried */
    if (answer == TB_BAD_STOP) return answer;
    if (answer == TB_BAD_YES) {
      parts = parts > 2 ? parts - 1 : 2;
      continue;
    }
    if (parts == members) break;
    parts = parts * 2 < members ? parts * 2 : members;
  }
  return unsure ? TB_BAD_UNSURE : TB_BAD_YES;
}

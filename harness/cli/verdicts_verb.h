/* What the verbs that compare have in common: their policy, and how they tell what they found. */
#ifndef TB_VERDICTS_VERB_H
#define TB_VERDICTS_VERB_H

#include "harness/verdict/verdicts.h"

struct tb_telling {
  const char *format; /* name of a reporter that takes comparisons */
  const char *out;    /* file of the document; NULL: none */
  bool verbose;
};

/* policy= of a command line (NULL: the default one). TB_EXIT_PASS, or a code with a line on standard
 * error. */
enum tb_exit tb_verdicts_policy(const char *verb, struct tc_arena *arena, const char *text,
                                struct tb_policy *out);
/* Checks format= and out= before anything is measured. */
enum tb_exit tb_verdicts_check(const char *verb, struct tc_arena *arena, const struct tb_telling *telling);
/* Writes the document and shows it. The comparison's own code, or a worse one. */
enum tb_exit tb_verdicts_tell(const struct tb_verdicts *c, const struct tb_telling *telling);

/* Where a result comes from, as its document says. */
struct tb_origin tb_origin_of(const char *path, const cJSON *document);

#endif

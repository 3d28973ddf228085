/* The verbs of the program, from verbs.def. */
#ifndef TB_VERBS_H
#define TB_VERBS_H

#define TB_VERB(name, function, usage, what, more, example, codes) int function(int argc, char *const *argv);
#include "harness/cli/verbs.def"
#undef TB_VERB

#endif

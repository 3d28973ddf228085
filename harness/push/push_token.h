/* The token that an endpoint asks for: a secret that comes from the environment or a file, and goes into a
 * header alone. */
#ifndef TB_PUSH_TOKEN_H
#define TB_PUSH_TOKEN_H

#include <stdbool.h>

#include "base/error.h"

enum { TB_TOKEN_BYTES = 4096 /* with its end; signed ones (JWT) have a thousand and more */ };

/* Reads the first line of `file`, or, where that is "", TBENCH_TOKEN; "" where there is none. What was in the
 * environment is removed from it, so that no other program gets it. TC_IO: the file cannot be read, or others
 * may read it; TC_ARG: it is no token, or too long for one. No message shows it. */
tc_status tb_token_read(const char *file, char token[TB_TOKEN_BYTES], struct tc_error *err);

#endif

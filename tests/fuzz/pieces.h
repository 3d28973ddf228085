/* What the fuzz targets share: everything that is made of a decoded function must decode again. Each failure
 * aborts, which libFuzzer reports with the input. */
#ifndef TESTS_FUZZ_PIECES_H
#define TESTS_FUZZ_PIECES_H

#include "capture/bytecode/resume.h"

/* Told of each chunk that was made of `proto`; NULL: nobody is. */
typedef void tests_chunk_made(void *data, const struct tc_proto *proto, const struct tc_strbuf *chunk);

/* Encodes the function, decodes that, and encodes it again: the two texts must be equal. False: the encoder
 * refuses it. */
bool tests_fuzz_round_trip(const struct tc_proto *proto);
/* The copy, and at every instruction the unit, the continuation and the steps, of the function and of all
 * inside of it. */
void tests_fuzz_pieces(const struct tc_proto *proto, tests_chunk_made *made, void *data);

#endif

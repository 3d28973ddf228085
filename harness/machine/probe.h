/* The probe kernel: a fixed piece of work by which figures of different days can be compared. It takes a seat
 * in every round, so log(compiled / probe) says how a case stands to the machine as it was then, whatever
 * became of the baseline.
 *
 * One call is about a third each of multiply-adds in registers, a stream that stays in the second-level
 * cache, and a stream through memory, on one thread. The compiler under test never touches it, and it is
 * built with an optimisation level of its own (files.am). Whoever changes what it does raises
 * TB_PROBE_VERSION: figures of two versions are not comparable. */
#ifndef TB_PROBE_H
#define TB_PROBE_H

#include <stdint.h>

enum { TB_PROBE_VERSION = 1, TB_PROBE_CALLS = 8, TB_PROBE_WARM = 1 /* of one block */ };

struct tb_probe;

/* NULL: memory is out, or the machine has no AVX2 with FMA. Closed by tb_probe_close, which takes NULL. */
struct tb_probe *tb_probe_open(void);
void tb_probe_close(struct tb_probe *probe);
/* `warm` calls, then `calls`; the time of the latter in nanoseconds. */
double tb_probe_block(struct tb_probe *probe, int64_t warm, int64_t calls);
/* A value that depends on all work so far: the same for the same number of calls on every machine. */
double tb_probe_checksum(const struct tb_probe *probe);

#endif

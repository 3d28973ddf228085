/* The calibration kernel: a fixed piece of work by which figures of different days can be compared. It takes
 * part in every round, so log(compiled / calibration kernel) says how a case stands to the machine as it was
 * then, whatever became of the baseline.
 *
 * One call is about a third each of multiply-adds in registers, a stream that stays in the second-level
 * cache, and a stream through memory, on one thread. The compiler under test never touches it, and it is
 * built with an optimisation level of its own (files.am). Whoever changes what it does raises
 * TB_CALIBRATION_VERSION: figures of two versions are not comparable. */
#ifndef TB_CALIBRATION_H
#define TB_CALIBRATION_H

#include <stdint.h>

enum { TB_CALIBRATION_VERSION = 1, TB_CALIBRATION_CALLS = 8, TB_CALIBRATION_WARM = 1 /* of one block */ };

struct tb_calibration;

/* NULL: memory is out, or the machine has no AVX2 with FMA. Closed by tb_calibration_close, which takes
 * NULL. */
struct tb_calibration *tb_calibration_open(void);
void tb_calibration_close(struct tb_calibration *calibration);
/* `warm` calls, then `calls`; the time of the latter in nanoseconds. */
double tb_calibration_block(struct tb_calibration *calibration, int64_t warm, int64_t calls);
/* A value that depends on all work so far: the same for the same number of calls on every machine. */
double tb_calibration_checksum(const struct tb_calibration *calibration);

#endif

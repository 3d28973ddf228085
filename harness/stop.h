/* When a replicate has been measured enough. */
#ifndef TB_STOP_H
#define TB_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tb_stop {
  double target;        /* half-width of the mean log ratio that suffices */
  int min_rounds, max_rounds;
  int64_t budget_ns;    /* of measuring, from `started_ns` */
  int64_t started_ns;
  double last_half_width; /* at the last check point; NaN at first */
  int flat;               /* check points in a row where it hardly fell */
};

enum tb_stop_reason { TB_STOP_NOT_YET, TB_STOP_TARGET, TB_STOP_STABLE, TB_STOP_BUDGET, TB_STOP_INTERRUPTED };
const char *tb_stop_text(enum tb_stop_reason reason);

/* Asked after each round with the widest half-width over the cases (NaN: none yet). Decides at check points, every few
 * rounds: the target is reached, the noise no longer shrinks with more rounds than it should, or time is over. */
enum tb_stop_reason tb_stop_ask(struct tb_stop *stop, int rounds, double half_width, int64_t now_ns);

#endif

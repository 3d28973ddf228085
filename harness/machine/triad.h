/* What the machine can do on a set of CPUs: the memory's bandwidth and the arithmetic units' peak.
 *
 * Each thread is bound to one CPU of `cpus` in turn. Measured, not looked up: the best of several runs. 0
 * where memory for the arrays is out or threads cannot be started. */
#ifndef TB_TRIAD_H
#define TB_TRIAD_H

#include <sched.h>

/* Bytes per second of a[i] = b[i] + s * c[i] over f32: 12 bytes an element (the store's fill is not counted),
 * arrays far larger than all caches; the better of plain and non-temporal stores. */
double tb_triad_bytes_per_s(const cpu_set_t *cpus, int threads);
/* Peak of f32 multiply-adds in registers, two operations each. */
double tb_fma_flops_per_s(const cpu_set_t *cpus, int threads);

#endif

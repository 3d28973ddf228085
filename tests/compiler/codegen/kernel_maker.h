/* Kernels by hand, for tests of code generators: dimensions, buffers, phases, in a few calls.
 *
 * Everything lies in the maker's arena; a failed allocation ends the test program. One thread. */
#ifndef TESTS_KERNEL_MAKER_H
#define TESTS_KERNEL_MAKER_H

#include "base/arena.h"
#include "codegen/codegen.h"
#include "sched/kernel.h"

enum { MAKER_PHASES = 6, MAKER_PARTS = 8 };

struct maker {
  struct tc_arena *arena;
  struct tc_symtab *tab;
  struct tc_expr_table *exprs;
  struct tc_kernel kernel;
  struct tc_kernel_buffer buffers[TC_MAX_KERNEL_BUFFERS];
  struct tc_kernel_dim outer[TC_MAX_KERNEL_DIMS], inner[TC_MAX_KERNEL_DIMS];
  struct tc_phase phases[MAKER_PHASES];
  struct tc_kernel_store stores[MAKER_PHASES][MAKER_PARTS];
  struct tc_kernel_reduction reductions[MAKER_PHASES][MAKER_PARTS];
};

void maker_begin(struct maker *m, const char *name);
void maker_end(struct maker *m);
tc_sym maker_outer(struct maker *m, tc_sym extent);
tc_sym maker_inner(struct maker *m, tc_sym extent);
int maker_buffer(struct maker *m, tc_dtype dtype, enum tc_buffer_role role);
int maker_phase(struct maker *m, bool over_inner);
const struct tc_expr *maker_load(struct maker *m, int buffer, tc_sym address);
const struct tc_expr *maker_load_if(struct maker *m, int buffer, tc_sym address, const struct tc_expr *offset,
                                    const struct tc_expr *predicate);
const struct tc_expr *maker_index(struct maker *m, tc_sym s);
void maker_store(struct maker *m, int phase, int buffer, tc_sym address, const struct tc_expr *value);
/* Gives the ACC expression. `index` may be TC_SYM_INVALID. */
const struct tc_expr *maker_reduce(struct maker *m, int phase, enum tc_reduction op,
                                   const struct tc_expr *value, tc_sym index);
/* The kernel, with its counts filled in. */
const struct tc_kernel *maker_kernel(struct maker *m);

#define C(value)        tc_sym_const(value)
#define PLUS(a, b)      tc_sym_add(m->tab, (a), (b))
#define TIMES(a, b)     tc_sym_mul(m->tab, (a), (b))
#define E1(OP, a)       tc_expr_1(m->exprs, TC_E_##OP, (a))
#define E2(OP, a, b)    tc_expr_2(m->exprs, TC_E_##OP, (a), (b))
#define E3(OP, a, b, c) tc_expr_3(m->exprs, TC_E_##OP, (a), (b), (c))
#define NUM(value)      tc_expr_num(m->exprs, TC_F32, (value))

#endif

#include "tests/compiler/codegen/kernel_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(const void *pointer) {
  if (pointer) return (void *)pointer;
  fputs("out of memory, or a limit of the kernel maker\n", stderr);
  exit(1);
}

void maker_begin(struct maker *m, const char *name) {
  memset(m, 0, sizeof *m);
  m->arena = must(tc_arena_new(tc_alloc_system()));
  m->tab = must(tc_symtab_new(tc_alloc_system()));
  m->exprs = must(tc_expr_table_new(m->arena));
  m->kernel = (struct tc_kernel){.name = must(tc_arena_text(m->arena, name)),
                                 .buffers = m->buffers,
                                 .outer = m->outer,
                                 .inner = m->inner,
                                 .phases = m->phases,
                                 .lanes = TC_LANES_INNER,
                                 .block = 1};
}

void maker_end(struct maker *m) {
  tc_symtab_free(m->tab);
  tc_arena_free(m->arena);
}

tc_sym maker_outer(struct maker *m, tc_sym extent) {
  const tc_sym var = tc_sym_index(m->tab, extent);
  m->outer[m->kernel.n_outer++] = (struct tc_kernel_dim){var, extent};
  return var;
}
tc_sym maker_inner(struct maker *m, tc_sym extent) {
  const tc_sym var = tc_sym_index(m->tab, extent);
  m->inner[m->kernel.n_inner++] = (struct tc_kernel_dim){var, extent};
  return var;
}
int maker_buffer(struct maker *m, tc_dtype dtype, enum tc_buffer_role role) {
  m->buffers[m->kernel.n_buffers] = (struct tc_kernel_buffer){.dtype = dtype, .role = role, .elements = C(0)};
  return m->kernel.n_buffers++;
}
int maker_phase(struct maker *m, bool over_inner) {
  struct tc_phase *p = &m->phases[m->kernel.n_phases];
  *p = (struct tc_phase){.over_inner = over_inner,
                         .stores = m->stores[m->kernel.n_phases],
                         .reductions = m->reductions[m->kernel.n_phases]};
  return m->kernel.n_phases++;
}
const struct tc_expr *maker_load_if(struct maker *m, int buffer, tc_sym address, const struct tc_expr *offset,
                                    const struct tc_expr *predicate) {
  const struct tc_expr e = {.op = TC_E_LOAD,
                            .dtype = tc_compute_dtype(m->buffers[buffer].dtype),
                            .args = {offset, predicate},
                            .buffer = buffer,
                            .address = address};
  return must(tc_expr_make(m->exprs, &e));
}
const struct tc_expr *maker_load(struct maker *m, int buffer, tc_sym address) {
  return maker_load_if(m, buffer, address, NULL, NULL);
}
const struct tc_expr *maker_index(struct maker *m, tc_sym s) {
  const struct tc_expr e = {.op = TC_E_INDEX, .dtype = TC_I64, .address = s};
  return must(tc_expr_make(m->exprs, &e));
}
void maker_store(struct maker *m, int phase, int buffer, tc_sym address, const struct tc_expr *value) {
  struct tc_phase *p = &m->phases[phase];
  p->stores[p->n_stores++] = (struct tc_kernel_store){buffer, address, must(value)};
}
static tc_dtype result_dtype(enum tc_reduction op, tc_dtype dtype) {
  if (op == TC_RED_ARGMAX || op == TC_RED_ARGMIN) return TC_I64;
  if (op == TC_RED_ANY || op == TC_RED_ALL) return TC_BOOL;
  return dtype == TC_BOOL && (op == TC_RED_SUM || op == TC_RED_PROD) ? TC_I64 : dtype;
}
const struct tc_expr *maker_reduce(struct maker *m, int phase, enum tc_reduction op,
                                   const struct tc_expr *value, tc_sym index) {
  struct tc_phase *p = &m->phases[phase];
  const struct tc_expr acc = {
      .op = TC_E_ACC, .dtype = result_dtype(op, value->dtype), .acc = m->kernel.n_accs};
  p->reductions[p->n_reductions++] = (struct tc_kernel_reduction){op, m->kernel.n_accs++, must(value), index};
  return must(tc_expr_make(m->exprs, &acc));
}
const struct tc_kernel *maker_kernel(struct maker *m) {
  m->kernel.n_exprs = tc_expr_count(m->exprs);
  return &m->kernel;
}

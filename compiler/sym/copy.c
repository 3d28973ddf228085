/* Symbols taken to another table: by building them anew, so that they have that table's canonical form. */
#include "sym/internal.h"

tc_sym tc_sym_copy(struct tc_symtab *tab, tc_sym s) {
  if (!tc_sym_valid(s) || tc_sym_is_const(s)) return s;
  const struct symnode *n = sym_node(s);
  if (n->kind == TC_SYM_SIZE) return tc_sym_size(tab, n->id, n->hint);
  if (n->kind == TC_SYM_INDEX) return TC_SYM_INVALID;
  const tc_sym left = tc_sym_copy(tab, n->left), right = tc_sym_copy(tab, n->right);
  switch (n->kind) {
    case TC_SYM_ADD: return tc_sym_add(tab, left, right);
    case TC_SYM_MUL: return tc_sym_mul(tab, left, right);
    case TC_SYM_DIV: return tc_sym_div(tab, left, right);
    case TC_SYM_MOD: return tc_sym_mod(tab, left, right);
    case TC_SYM_MIN: return tc_sym_min(tab, left, right);
    case TC_SYM_MAX: return tc_sym_max(tab, left, right);
    default: return TC_SYM_INVALID;
  }
}

/* What an operator costs: about the vector instructions that one value takes. */
#include "sched/schedule.h"

enum { COST_FREE = 0, COST_SIMPLE = 1, COST_MEMORY = 2, COST_DIVIDE = 4 };

int tc_expr_cost(enum tc_expr_op op) {
  switch (op) {
    case TC_E_CONST:
    case TC_E_INDEX:
    case TC_E_ACC:
    case TC_E_CAST: return COST_FREE;
    case TC_E_LOAD:
    case TC_E_CHECK: return COST_MEMORY;
    case TC_E_DIV:
    case TC_E_FLOORDIV:
    case TC_E_REMAINDER:
    case TC_E_RECIPROCAL:
    case TC_E_SQRT:
    case TC_E_RSQRT: return COST_DIVIDE;
    case TC_E_UNIFORM:
    case TC_E_NORMAL:
    case TC_E_EXP:
    case TC_E_LOG:
    case TC_E_LOG1P:
    case TC_E_SIN:
    case TC_E_COS:
    case TC_E_TAN:
    case TC_E_TANH:
    case TC_E_SIGMOID:
    case TC_E_ERF:
    case TC_E_POW: return TC_COST_TRANSCENDENTAL;
    default: return COST_SIMPLE;
  }
}

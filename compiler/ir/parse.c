/* Reads the text that print.c writes. Metas after ':' are required for inputs and checked against the
 * rules for all others; they may be left out there. "--" starts a comment. */
#include "ir/graph.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct parser {
  struct tc_graph *g;
  const char *at, *text;
  TC_VEC(struct tc_node *) values; /* by number in the text */
  struct tc_error *err;
  tc_status status;
};

static bool fail(struct parser *p, const char *what) {
  if (!p->status) {
    int line = 1;
    for (const char *c = p->text; c < p->at; c++) line += *c == '\n';
    p->status = tc_fail(p->err, TC_PARSE, "ir", "line %d: %s at '%.24s'", line, what, p->at);
  }
  return false;
}

static void skip(struct parser *p) {
  for (;; p->at++) {
    if (p->at[0] == '-' && p->at[1] == '-') p->at += strcspn(p->at, "\n");
    if (*p->at != ' ' && *p->at != '\n' && *p->at != '\t' && *p->at != '\r') return;
  }
}

static bool accept(struct parser *p, const char *token) {
  skip(p);
  const size_t n = strlen(token);
  if (strncmp(p->at, token, n)) return false;
  if (isalnum((unsigned char)token[n - 1]) && (isalnum((unsigned char)p->at[n]) || p->at[n] == '_'))
    return false;
  p->at += n;
  return true;
}

static bool need(struct parser *p, const char *token) {
  if (accept(p, token)) return true;
  char what[48];
  strcpy(what, "expected ");
  strncat(what, token, sizeof what - strlen(what) - 1);
  return fail(p, what);
}

static bool word(struct parser *p, char *out, size_t size) {
  skip(p);
  size_t n = 0;
  while ((isalnum((unsigned char)*p->at) || *p->at == '_') && n + 1 < size) out[n++] = *p->at++;
  out[n] = '\0';
  return n > 0 || fail(p, "a name is missing");
}

/* "v12" → 12. */
static bool value_number(struct parser *p, long *number) {
  skip(p);
  if (*p->at != 'v' || !isdigit((unsigned char)p->at[1])) return false;
  char *end;
  *number = strtol(p->at + 1, &end, 10);
  p->at = end;
  return true;
}

/* An operand: a value that does not begin the next statement ("v2 = …"). */
static bool operand_number(struct parser *p, long *number) {
  const char *const start = p->at;
  if (!value_number(p, number)) return false;
  skip(p);
  if (*p->at != '=') return true;
  p->at = start;
  return false;
}

static bool syms(struct parser *p, int max, tc_sym *out, int *n) {
  *n = 0;
  if (!need(p, "[")) return false;
  while (!accept(p, "]")) {
    if (*n && !need(p, ",")) return false;
    if (*n == max) return fail(p, "too many entries");
    const tc_sym s = tc_sym_parse(p->g->tab, &p->at, 0, NULL, p->err);
    if (!tc_sym_valid(s)) return fail(p, "bad size");
    out[(*n)++] = s;
  }
  return true;
}

static bool nums(struct parser *p, int max, double *out, int *n) {
  for (*n = 0; !accept(p, ")"); (*n)++) {
    if (*n && !need(p, ",")) return false;
    if (*n == max) return fail(p, "too many entries");
    skip(p);
    char *end;
    out[*n] = strtod(p->at, &end);
    if (end == p->at) return fail(p, "bad number");
    p->at = end;
  }
  return true;
}

static bool meta(struct parser *p, struct tc_meta *m) {
  char name[16];
  if (!word(p, name, sizeof name)) return false;
  if (!tc_dtype_parse(name, &m->dtype)) return fail(p, "unknown dtype");
  return syms(p, TC_MAX_DIMS, m->sizes, &m->ndim);
}

static bool same_meta(const struct tc_meta *a, const struct tc_meta *b) {
  if (a->dtype != b->dtype || a->ndim != b->ndim) return false;
  for (int i = 0; i < a->ndim; i++)
    if (!tc_sym_same(a->sizes[i], b->sizes[i])) return false;
  return true;
}

static struct tc_node *parse_input(struct parser *p) {
  struct tc_meta m = {0};
  tc_sym number, strides[TC_MAX_DIMS];
  int n;
  if (!syms(p, 1, &number, &n) || !need(p, ":") || !meta(p, &m)) return NULL;
  if (n != 1 || !tc_sym_is(number, (int64_t)p->g->inputs.len))
    return fail(p, "inputs are numbered in order"), NULL;
  if (accept(p, "strides")) {
    if (!syms(p, TC_MAX_DIMS, strides, &n)) return NULL;
    if (n != m.ndim) return fail(p, "as many strides as sizes are needed"), NULL;
  } else {
    tc_sym stride = tc_sym_const(1);
    for (int i = m.ndim - 1; i >= 0; i--) {
      strides[i] = stride;
      stride = tc_sym_mul(p->g->tab, stride, m.sizes[i]);
    }
  }
  struct tc_node *node = tc_graph_input(p->g, &m, strides);
  return node ? node : (fail(p, "out of memory"), NULL);
}

static struct tc_node *parse_operation(struct parser *p, tc_op op) {
  struct tc_node *in[TC_MAX_INPUTS], *node;
  int n_in = 0;
  long number;
  tc_sym ints[TC_MAX_ATTRS];
  double numbers[TC_MAX_ATTRS];
  struct tc_attrs attrs = {.ints = ints, .nums = numbers};
  while (operand_number(p, &number)) {
    if (number < 0 || number >= (long)p->values.len || n_in == TC_MAX_INPUTS)
      return fail(p, "unknown operand"), NULL;
    in[n_in++] = p->values.data[number];
  }
  skip(p);
  if (*p->at == '[' && !syms(p, TC_MAX_ATTRS, ints, &attrs.n_ints)) return NULL;
  if (accept(p, "(") && !nums(p, TC_MAX_ATTRS, numbers, &attrs.n_nums)) return NULL;
  const tc_status status = tc_graph_add(p->g, op, n_in, in, &attrs, &node, p->err);
  if (status) return p->status = status, NULL;
  struct tc_meta m = {0};
  if (accept(p, ":") &&
      (!meta(p, &m) || (!same_meta(&m, &node->meta) &&
                        !fail(p, "the shape or dtype differs from what the operation's rules give"))))
    return NULL;
  return node;
}

static bool statement(struct parser *p) {
  long number;
  char name[32];
  if (!value_number(p, &number)) return fail(p, "expected 'v', 'return' or '}'");
  if (number != (long)p->values.len) return fail(p, "values are numbered in order");
  if (!need(p, "=") || !word(p, name, sizeof name)) return false;
  const int op = tc_op_find(name);
  if (op < 0) return fail(p, "unknown operation");
  struct tc_node *node = op == TC_OP_input ? parse_input(p) : parse_operation(p, (tc_op)op);
  return node && (tc_vec_push(tc_arena_alloc(p->g->arena), &p->values, node) || fail(p, "out of memory"));
}

static bool results(struct parser *p) {
  for (long number; value_number(p, &number);) {
    if (number < 0 || number >= (long)p->values.len) return fail(p, "unknown result");
    if (!tc_graph_output(p->g, p->values.data[number])) return fail(p, "out of memory");
  }
  return true;
}

tc_status tc_graph_parse(struct tc_arena *arena, const char *text, struct tc_graph **out,
                         struct tc_error *err) {
  struct parser p = {.g = tc_graph_new(arena), .at = text, .text = text, .err = err};
  if (!p.g) return tc_fail(err, TC_NOMEM, "ir", "out of memory for the graph");
  bool good = need(&p, "graph") && need(&p, "{");
  while (good && !accept(&p, "return")) good = statement(&p);
  if (good && results(&p) && need(&p, "}")) *out = p.g;
  return p.status;
}

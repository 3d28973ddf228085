/* Symbols as text, and back: sums of products, `//` and `%` (floor), min(a, b), max(a, b), s0 (size), i0
 * (index). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sym/internal.h"

static int precedence(tc_sym s) {
  switch (tc_sym_kind(s)) {
    case TC_SYM_ADD: return 1;
    case TC_SYM_MUL:
    case TC_SYM_DIV:
    case TC_SYM_MOD: return 2;
    default: return 3;
  }
}

static void print_at(struct tc_strbuf *out, tc_sym s, int level);

static void print_infix(struct tc_strbuf *out, tc_sym s, const char *op) {
  const int level = precedence(s);
  print_at(out, tc_sym_left(s), level);
  tc_strbuf_puts(out, op);
  print_at(out, tc_sym_right(s), level + 1);
}

static void print_at(struct tc_strbuf *out, tc_sym s, int level) {
  if (!s.bits) {
    tc_strbuf_puts(out, "invalid");
    return;
  }
  const bool brackets = precedence(s) < level;
  if (brackets) tc_strbuf_puts(out, "(");
  switch (tc_sym_kind(s)) {
    case TC_SYM_CONST: tc_strbuf_printf(out, "%lld", (long long)tc_sym_value(s)); break;
    case TC_SYM_SIZE: tc_strbuf_printf(out, "s%d", tc_sym_id(s)); break;
    case TC_SYM_INDEX: tc_strbuf_printf(out, "i%d", tc_sym_id(s)); break;
    case TC_SYM_ADD: print_infix(out, s, " + "); break;
    case TC_SYM_MUL: print_infix(out, s, "*"); break;
    case TC_SYM_DIV: print_infix(out, s, "//"); break;
    case TC_SYM_MOD: print_infix(out, s, "%"); break;
    case TC_SYM_MIN:
    case TC_SYM_MAX:
      tc_strbuf_puts(out, tc_sym_kind(s) == TC_SYM_MIN ? "min(" : "max(");
      print_at(out, tc_sym_left(s), 0);
      tc_strbuf_puts(out, ", ");
      print_at(out, tc_sym_right(s), 0);
      tc_strbuf_puts(out, ")");
      break;
  }
  if (brackets) tc_strbuf_puts(out, ")");
}

void tc_sym_print(struct tc_strbuf *out, tc_sym s) { print_at(out, s, 0); }

/* --- parser: recursive descent, depth-limited since it may read damaged text --- */

enum { PARSE_DEPTH = 64, SIZE_HINT = 2, SYM_MAX_ID = 1 << 20 };

struct parser {
  struct tc_symtab *tab;
  const char *at;
  int index_count, depth;
  const tc_sym *indices;
  struct tc_error *err;
};

static tc_sym parse_sum(struct parser *p);

static void skip(struct parser *p) {
  while (*p->at == ' ') p->at++;
}

static bool accept(struct parser *p, const char *token) {
  skip(p);
  const size_t n = strlen(token);
  if (strncmp(p->at, token, n)) return false;
  p->at += n;
  return true;
}

static tc_sym fail(struct parser *p, const char *what) {
  tc_fail(p->err, TC_PARSE, "sym", "%s at '%.20s'", what, p->at);
  return TC_SYM_INVALID;
}

static tc_sym parse_pair(struct parser *p, tc_sym (*make)(struct tc_symtab *, tc_sym, tc_sym)) {
  const tc_sym a = parse_sum(p);
  if (!a.bits || !accept(p, ",")) return a.bits ? fail(p, "',' expected") : a;
  const tc_sym b = parse_sum(p);
  if (!b.bits || !accept(p, ")")) return b.bits ? fail(p, "')' expected") : b;
  return make(p->tab, a, b);
}

static tc_sym parse_atom(struct parser *p) {
  skip(p);
  if (accept(p, "min(")) return parse_pair(p, tc_sym_min);
  if (accept(p, "max(")) return parse_pair(p, tc_sym_max);
  if (accept(p, "(")) {
    const tc_sym s = parse_sum(p);
    return s.bits && !accept(p, ")") ? fail(p, "')' expected") : s;
  }
  const char letter = *p->at;
  if ((letter == 's' || letter == 'i') && isdigit((unsigned char)p->at[1])) {
    char *end;
    const long id = strtol(p->at + 1, &end, 10);
    if (letter == 'i' && id >= p->index_count) return fail(p, "unknown index");
    if (id > SYM_MAX_ID) return fail(p, "number too large");
    p->at = end;
    return letter == 's' ? tc_sym_size(p->tab, (int)id, SIZE_HINT) : p->indices[id];
  }
  char *end;
  const long long value = strtoll(p->at, &end, 10);
  if (end == p->at) return fail(p, "symbol or number expected");
  p->at = end;
  return tc_sym_const(value);
}

static tc_sym parse_product(struct parser *p) {
  tc_sym s = parse_atom(p);
  while (s.bits) {
    if (accept(p, "*"))
      s = tc_sym_mul(p->tab, s, parse_atom(p));
    else if (accept(p, "//"))
      s = tc_sym_div(p->tab, s, parse_atom(p));
    else if (accept(p, "%"))
      s = tc_sym_mod(p->tab, s, parse_atom(p));
    else
      break;
  }
  return s;
}

static tc_sym parse_sum(struct parser *p) {
  if (++p->depth > PARSE_DEPTH) return fail(p, "nested too deeply");
  tc_sym s = parse_product(p);
  while (s.bits && accept(p, "+")) s = tc_sym_add(p->tab, s, parse_product(p));
  p->depth--;
  return s;
}

tc_sym tc_sym_parse(struct tc_symtab *tab, const char **text, int index_count, const tc_sym *indices,
                    struct tc_error *err) {
  struct parser p = {tab, *text, index_count, 0, indices, err};
  if (err) err->status = TC_OK;
  const tc_sym s = parse_sum(&p);
  if (!s.bits && err && !err->status) tc_fail(err, TC_PARSE, "sym", "value out of range at '%.20s'", p.at);
  *text = p.at;
  return s;
}

/* Programs of dynamic_cases.def, run over a builder: the eager one gives what is expected, the graph's what
 * is compiled. An integer is a size expression ("s0*2", "3"); a number has a point; x0, x1, … are values; {…}
 * lists; name=… by name. */
#ifndef TESTS_DEVICE_PROGRAM_TEXT_H
#define TESTS_DEVICE_PROGRAM_TEXT_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/function.h"

enum { PROGRAM_VALUES = 64, PROGRAM_ITEMS = 128, PROGRAM_WORD = 64 };

struct program {
  struct tc_builder *b;
  struct tc_symtab *tab; /* of size expressions */
  const int64_t *sizes;  /* NULL: sizes stay symbols */
  const char *at;
  struct tc_value *values[PROGRAM_VALUES];
  int n_values;
  struct tc_arg items[PROGRAM_ITEMS]; /* of lists, and one step's texts */
  int n_items;
  char words[PROGRAM_ITEMS][PROGRAM_WORD];
  int n_words;
  struct tc_results results; /* of the last step */
  struct tc_error err;
};

static tc_sym program_size(struct program *p, const char **text) {
  const tc_sym s = tc_sym_parse(p->tab, text, 0, NULL, &p->err);
  return p->sizes && tc_sym_valid(s) ? tc_sym_const(tc_sym_eval(s, p->sizes)) : s;
}

static void skip_spaces(struct program *p) {
  while (*p->at == ' ') p->at++;
}

/* The next word, as C text that lives as long as the step. */
static const char *program_word(struct program *p, const char *ends) {
  char *word = p->words[p->n_words++];
  const size_t n = strcspn(p->at, ends);
  memcpy(word, p->at, n);
  word[n] = '\0';
  p->at += n;
  return word;
}

static struct tc_arg program_arg(struct program *p);

static struct tc_arg program_list(struct program *p) {
  struct tc_arg items[TC_MAX_INPUTS];
  int n = 0;
  for (p->at++, skip_spaces(p); *p->at != '}'; skip_spaces(p)) items[n++] = program_arg(p);
  p->at++;
  struct tc_arg *kept = &p->items[p->n_items];
  p->n_items += n;
  memcpy(kept, items, sizeof *items * (size_t)n);
  return (struct tc_arg){TC_ARG_LIST, .list = {kept, n}};
}

static struct tc_arg program_arg(struct program *p) {
  if (*p->at == '{') return program_list(p);
  if (*p->at == '\'') {
    p->at++;
    const char *text = program_word(p, "'");
    p->at++;
    return (struct tc_arg){TC_ARG_TEXT, .text = text};
  }
  const char *word = program_word(p, " };"), *rest = word;
  if (word[0] == 'x' && isdigit((unsigned char)word[1]))
    return (struct tc_arg){TC_ARG_VALUE, .value = p->values[atoi(word + 1)]};
  if (!strcmp(word, "true")) return (struct tc_arg){TC_ARG_BOOL, .boolean = true};
  if (strchr(word, '.')) return (struct tc_arg){TC_ARG_NUM, .number = strtod(word, NULL)};
  const tc_sym size = program_size(p, &rest);
  if (*rest) fprintf(stderr, "'%s' is no size\n", word), abort();
  return (struct tc_arg){TC_ARG_INT, .integer = size};
}

static bool is_named(const char *at) {
  const size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
  return n && at[n] == '=';
}

static tc_status program_step(struct program *p) {
  struct tc_arg positional[TC_MAX_ARGS], bound[TC_MAX_ARGS];
  struct tc_named_arg named[TC_MAX_ARGS];
  int n_positional = 0, n_named = 0;
  p->n_items = p->n_words = 0;
  skip_spaces(p);
  const struct tc_function *f = tc_function_find(program_word(p, " ;"));
  if (!f) return tc_fail(&p->err, TC_ARG, "test", "no function at '%s'", p->at);
  for (skip_spaces(p); *p->at && *p->at != ';'; skip_spaces(p)) {
    if (!is_named(p->at)) {
      positional[n_positional++] = program_arg(p);
      continue;
    }
    named[n_named].name = program_word(p, "=");
    p->at++;
    named[n_named++].arg = program_arg(p);
  }
  tc_status status = tc_function_bind(f, positional, n_positional, named, n_named, bound, &p->err);
  if (!status) status = f->run(p->b, bound, TC_MAX_ARGS, &p->results, &p->err);
  for (int i = 0; i < p->results.count && !status; i++) p->values[p->n_values++] = p->results.values[i];
  return status;
}

/* values[0 … n_values) are the inputs. */
static tc_status program_run(struct program *p, const char *steps) {
  tc_status status = TC_OK;
  for (p->at = steps; *p->at && !status; p->at += *p->at == ';') status = program_step(p);
  return status;
}

/* The next input of "f32[s0,3] i64[4]"; false at the end. */
static bool program_input(struct program *p, const char **at, struct tc_meta *meta) {
  char name[PROGRAM_WORD] = "";
  while (**at == ' ') ++*at;
  if (!**at) return false;
  const size_t n = strcspn(*at, "[");
  memcpy(name, *at, n);
  if (!tc_dtype_parse(name, &meta->dtype)) return false;
  *at += n + 1;
  for (meta->ndim = 0; **at != ']';) {
    meta->sizes[meta->ndim++] = program_size(p, at);
    if (**at == ',') ++*at;
  }
  ++*at;
  return true;
}

#endif

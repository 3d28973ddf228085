/* Names of kernels: "fused_" and the operations in it, producers first; unique in the launch list. */
#include "sched/schedule.h"

#include <string.h>

#include "base/strbuf.h"

enum { NAME_OPERATIONS = 5 }; /* named; the rest is counted */

struct namer { struct tc_sched *s; bool *loops; int n_ops; struct tc_strbuf text, fused; };

static void visit_loop(struct namer *n, const struct tc_loop *loop);

static void visit_expr(struct namer *n, const struct tc_expr *e, unsigned walk) {
  if (!tc_walk_enter(n->s, walk, e)) return;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) visit_expr(n, e->args[i], walk);
  if (e->op != TC_E_LOAD) return;
  const struct tc_loop *read = tc_loop_at(n->s, e->buffer);
  if (read->value && !n->s->info[read->id].anchor) visit_loop(n, read);
}

static void visit_loop(struct namer *n, const struct tc_loop *loop) {
  if (n->loops[loop->id]) return;
  n->loops[loop->id] = true;
  const unsigned walk = tc_walk_begin(n->s);
  if (!walk) {
    n->text.failed = true;
    return;
  }
  visit_expr(n, loop->value, walk);
  /* A loop that only serves a library call or a result stands for no operation of its own. */
  const enum tc_op_kind kind = tc_op_row(loop->node->op)->kind;
  const bool copies = kind == TC_KIND_INPUT || kind == TC_KIND_MATMUL;
  const char *name = copies ? "copy" : tc_op_row(loop->node->op)->name;
  tc_strbuf_printf(&n->fused, "%s%s", n->n_ops ? " " : "", name);
  if (n->n_ops++ < NAME_OPERATIONS) tc_strbuf_printf(&n->text, "_%s", name);
}

static bool is_taken(const struct tc_sched *s, const char *name) {
  for (int i = 0; i < s->list->n_codes; i++)
    if (!strcmp(s->list->codes[i].symbol, name)) return true;
  return false;
}

static const char *unique(struct tc_sched *s, const char *name) {
  for (int number = 2; name && is_taken(s, name); number++) {
    struct tc_strbuf text;
    tc_strbuf_init(&text, s->alloc);
    const size_t stem = strlen(name), digits = number > 2 ? strlen(strrchr(name, '_')) : 0;
    tc_strbuf_printf(&text, "%.*s_%d", (int)(stem - digits), name, number);
    name = tc_strbuf_text(&text);
  }
  return name;
}

const char *tc_cluster_name(struct tc_sched *s, const struct tc_cluster *c, struct tc_launch *out) {
  struct namer n = {.s = s, .loops = TC_NEW_ARRAY(s->alloc, bool, (size_t)s->n_loops + 1)};
  if (!n.loops) return NULL;
  tc_strbuf_init(&n.text, s->alloc);
  tc_strbuf_init(&n.fused, s->alloc);
  tc_strbuf_puts(&n.text, "fused");
  for (size_t i = 0; i < c->members.len; i++) visit_loop(&n, tc_loop_at(s, c->members.data[i]));
  if (n.n_ops > NAME_OPERATIONS) tc_strbuf_printf(&n.text, "_and_%d", n.n_ops - NAME_OPERATIONS);
  out->n_ops = n.n_ops;
  out->fused = tc_strbuf_text(&n.fused);
  return !out->fused ? NULL : unique(s, tc_strbuf_text(&n.text));
}

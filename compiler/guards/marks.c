/* Sizes that the program asked to be left open (tb.mark_dynamic), against what the guards fixed. */
#include "guards/program.h"

static bool is_size(const struct tc_guards *g, int source, int id) {
  const struct tc_source *s = source >= 0 ? &g->sources.data[source] : NULL;
  if (!s || s->kind != TC_SOURCE_DIM) return false;
  const struct tc_fact_tensor *tensor = g->sources.data[s->parent].tensor;
  return tensor && tensor->dims && tensor->dims->ids[s->number] == id;
}

static bool is_constant(const struct tc_guards *g, int source) {
  return source >= 0 && g->sources.data[source].kind == TC_SOURCE_CONSTANT;
}

/* The source is `size == constant`. */
static bool compares(const struct tc_guards *g, const struct tc_source *s, int id) {
  if (s->kind != TC_SOURCE_EXPR || s->number != TC_GUARD_OP_EQ) return false;
  const int left = s->parent, right = (int)s->integer;
  return (is_size(g, left, id) && is_constant(g, right)) || (is_size(g, right, id) && is_constant(g, left));
}

static bool fixes(const struct tc_guards *g, const struct tc_fact *fact, int id) {
  if (fact->kind == TC_GUARD_EQUAL) {
    const struct tc_source *s = &g->sources.data[fact->source];
    if (fact->type == LUA_TNUMBER) return is_size(g, fact->source, id);
    return fact->type == LUA_TBOOLEAN && fact->integer && compares(g, s, id);
  }
  if (fact->kind != TC_GUARD_SHAPE || fact->shape.less || !fact->shape.holds) return false;
  const tc_sym a = fact->shape.a, b = fact->shape.b;
  return (tc_sym_is_const(b) && !tc_sym_is_const(a) && tc_sym_kind(a) == TC_SYM_SIZE && tc_sym_id(a) == id) ||
         (tc_sym_is_const(a) && !tc_sym_is_const(b) && tc_sym_kind(b) == TC_SYM_SIZE && tc_sym_id(b) == id);
}

static bool is_fixed(const struct tc_guards *g, const struct tc_fact_tensor *tensor, int dim) {
  const int id = tensor->dims ? tensor->dims->ids[dim] : -1;
  if (id < 0) return true;
  for (size_t i = 0; i < g->facts.len; i++)
    if (fixes(g, &g->facts.data[i], id)) return true;
  return false;
}

bool tc_guards_fixed_mark(const struct tc_guards *g, const struct tc_frame *frame, struct tc_strbuf *out) {
  for (size_t i = 0; g->host->marked_dims && i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (fact->kind != TC_GUARD_TENSOR) continue;
    tc_guards_evaluate(g, frame, fact->source);
    const struct tc_tensor *now = g->host->tensor_at(g->thread, lua_gettop(g->thread));
    const uint32_t marked = now ? g->host->marked_dims(g->thread, lua_gettop(g->thread)) : 0;
    int dim = 0;
    while (now && dim < fact->tensor->ndim && !(marked >> dim & 1 && is_fixed(g, fact->tensor, dim))) dim++;
    const bool found = now && dim < fact->tensor->ndim;
    if (found) {
      tc_strbuf_printf(out, "dimension %d of ", dim + 1);
      tc_guards_source_text(g, fact->source, out);
      tc_strbuf_printf(out, " is specialised to %lld", (long long)now->sizes[dim]);
    }
    lua_settop(g->thread, g->n_anchors);
    if (found) return true;
  }
  return false;
}

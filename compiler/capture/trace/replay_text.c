/* Replays as text. An object is written out where it occurs first, and with a name in front ("new 2") when it
 * occurs again. */
#include <string.h>

#include "capture/capture.h"
#include "guards/build.h"

struct printer {
  const struct tc_replay *replay;
  const struct tc_guards *guards;
  struct tc_strbuf *out;
  unsigned char *seen; /* by object: SEEN, and REPEATED */
};
enum { SEEN = 1, REPEATED = 2 };

static void print_value(struct printer *p, const struct tc_recipe *r);

static void print_fields(struct printer *p, int object) {
  const struct tc_replay *replay = p->replay;
  const char *separator = "", *end = "}";
  tc_strbuf_puts(p->out, "{");
  for (size_t i = 0; i < replay->own.len; i++) {
    const struct tc_write *write = &replay->own.data[i];
    if (write->object != object) continue;
    if (write->kind == TC_WRITE_METATABLE) end = "} with metatable";
    if (write->kind != TC_WRITE_FIELD) continue;
    tc_strbuf_puts(p->out, separator);
    print_value(p, &write->key);
    tc_strbuf_puts(p->out, " = ");
    print_value(p, &write->value);
    separator = ", ";
  }
  tc_strbuf_puts(p->out, end);
}

static void print_closure(struct printer *p, int object) {
  const struct tc_replay *replay = p->replay;
  const char *separator = "function(";
  for (size_t i = 0; i < replay->own.len; i++) {
    const struct tc_write *write = &replay->own.data[i];
    if (write->object != object) continue;
    tc_strbuf_puts(p->out, separator);
    print_value(p, &write->value);
    separator = ", ";
  }
  if (separator[0] == 'f') tc_strbuf_puts(p->out, separator);
  tc_strbuf_puts(p->out, ")");
}

static void print_object(struct printer *p, int object) {
  const struct tc_object *o = &p->replay->objects.data[object];
  if (o->kind == TC_OBJECT_EXTERNAL) {
    tc_guards_source_text(p->guards, o->source, p->out);
    return;
  }
  if (p->seen[object] & REPEATED) tc_strbuf_printf(p->out, "new %d", object + 1);
  if (p->seen[object] & SEEN) return;
  p->seen[object] |= SEEN;
  if (p->seen[object] & REPEATED) tc_strbuf_puts(p->out, " ");
  if (o->kind == TC_OBJECT_TABLE)
    print_fields(p, object);
  else
    print_closure(p, object);
}

static void print_value(struct printer *p, const struct tc_recipe *r) {
  switch (r->kind) {
    case TC_RECIPE_NIL: tc_strbuf_puts(p->out, "nil"); break;
    case TC_RECIPE_BOOL: tc_strbuf_puts(p->out, r->boolean ? "true" : "false"); break;
    case TC_RECIPE_INT: tc_strbuf_printf(p->out, "%lld", (long long)r->integer); break;
    case TC_RECIPE_NUM: tc_strbuf_printf(p->out, "%.14g", r->number); break;
    case TC_RECIPE_TEXT: tc_strbuf_printf(p->out, "'%s'", r->text.bytes); break;
    case TC_RECIPE_OUTPUT: tc_strbuf_printf(p->out, "output %d", r->output); break;
    case TC_RECIPE_SOURCE: tc_guards_source_text(p->guards, r->source, p->out); break;
    case TC_RECIPE_OBJECT: print_object(p, r->object); break;
  }
}

/* "t.x", "t['a b']"; "x" for a global. */
static void print_place(struct printer *p, int source, const struct tc_recipe *key) {
  const bool is_named = key->kind == TC_RECIPE_TEXT && tc_guards_is_name(key->text.bytes);
  const size_t start = p->out->len;
  tc_guards_source_text(p->guards, source, p->out);
  if (is_named && !p->out->failed && p->out->len - start == strlen("_ENV") &&
      !memcmp(p->out->data + start, "_ENV", strlen("_ENV")))
    p->out->len = start;
  if (is_named) {
    tc_strbuf_printf(p->out, p->out->len > start ? ".%s" : "%s", key->text.bytes);
    return;
  }
  tc_strbuf_puts(p->out, "[");
  print_value(p, key);
  tc_strbuf_puts(p->out, "]");
}

static void count_value(struct printer *p, unsigned char *counted, const struct tc_recipe *r) {
  if (r->kind != TC_RECIPE_OBJECT) return;
  if (counted[r->object]) p->seen[r->object] |= REPEATED;
  counted[r->object] = 1;
}

static void count_writes(struct printer *p, unsigned char *counted, const struct tc_write *writes,
                         size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (writes[i].kind == TC_WRITE_FIELD) count_value(p, counted, &writes[i].key);
    if (writes[i].kind != TC_WRITE_METATABLE) count_value(p, counted, &writes[i].value);
  }
}

void tc_replay_text(const struct tc_replay *replay, const struct tc_guards *guards, struct tc_strbuf *out) {
  const size_t n_objects = replay->objects.len;
  unsigned char *marks = tc_new_zeroed(out->alloc, 2 * n_objects + 1, 1);
  struct printer p = {replay, guards, out, marks};
  out->failed |= !marks;
  if (!marks) return;
  for (int i = 0; i < replay->n_results; i++) count_value(&p, marks + n_objects, &replay->results[i]);
  count_writes(&p, marks + n_objects, replay->own.data, replay->own.len);
  count_writes(&p, marks + n_objects, replay->effects.data, replay->effects.len);
  for (int i = 0; i < replay->n_results; i++) {
    if (i) tc_strbuf_puts(out, ", ");
    print_value(&p, &replay->results[i]);
  }
  for (size_t i = 0; i < replay->effects.len; i++) {
    tc_strbuf_puts(out, i || replay->n_results ? "; " : "");
    const struct tc_write *write = &replay->effects.data[i];
    const int source = replay->objects.data[write->object].source;
    switch (write->kind) {
      case TC_WRITE_METATABLE:
        tc_strbuf_puts(p.out, "metatable of ");
        tc_guards_source_text(p.guards, source, p.out);
        break;
      case TC_WRITE_FIELD: print_place(&p, source, &write->key); break;
      case TC_WRITE_UPVALUE: tc_strbuf_printf(p.out, "%s (upvalue)", write->name ? write->name : "?"); break;
    }
    tc_strbuf_puts(p.out, " = ");
    print_value(&p, &write->value);
  }
  tc_free_bytes(out->alloc, marks, 2 * n_objects + 1);
}

/* Graph breaks: their texts, and how one is told. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/trace/frames.h"
#include "capture/trace/place.h"
#include "capture/trace/trace.h"

const char *tc_break_name(enum tc_break_reason reason) {
  static const char *const names[] = {
#define TC_BREAK(NAME, reason, hint) #NAME,
#include "capture/breaks.def"
#undef TC_BREAK
  };
  return names[reason];
}

const char *tc_break_text(enum tc_break_reason reason) {
  static const char *const texts[] = {
#define TC_BREAK(NAME, reason, hint) reason,
#include "capture/breaks.def"
#undef TC_BREAK
  };
  return texts[reason];
}

const char *tc_break_hint(enum tc_break_reason reason) {
  static const char *const hints[] = {
#define TC_BREAK(NAME, reason, hint) hint,
#include "capture/breaks.def"
#undef TC_BREAK
  };
  return hints[reason];
}

void tc_describe(struct tc_trace *t, const struct tc_tracked *v, char *out, size_t bytes) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, t->ctx->alloc);
  const int source = tc_is_scalar(v) ? v->source : v->origin->source;
  if (source >= 0) tc_guards_source_text(t->guards, source, &text);
  const char *path = source >= 0 ? tc_strbuf_text(&text) : NULL;
  const char *name = v->kind == TC_IS_NATIVE ? v->native->name : NULL;
  if (name && !path)
    snprintf(out, bytes, "%s", name);
  else if (path)
    snprintf(out, bytes, "%s", path);
  else
    snprintf(out, bytes, "a %s value",
             v->kind == TC_IS_TENSOR ? "tensor" : lua_typename(t->L, tc_tracked_type(v)));
  tc_strbuf_free(&text);
}

/* "file:line in function 'f'; …", innermost first, as much as fits. */
static void print_stack(struct tc_trace *t, char *out, size_t bytes) {
  size_t length = 0;
  out[0] = '\0';
  for (const struct tc_activation *a = t->activation; a && length < bytes; a = a->caller) {
    char name[64];
    const struct tc_tracked closure = tc_tracked_closure(a->closure);
    const bool external = tc_is_external(&closure);
    if (external) tc_describe(t, &closure, name, sizeof name);
    const char *separator = a->caller ? "; " : "";
    const int line = tc_proto_line(a->proto, a->pc - 1);
    const int written =
        external ? snprintf(out + length, bytes - length, "%s:%d in function '%s'%s", a->proto->chunk, line,
                            name, separator)
                 : snprintf(out + length, bytes - length, "%s:%d in function <%s:%d>%s", a->proto->chunk,
                            line, a->proto->chunk, a->proto->line_defined, separator);
    length += (size_t)written;
  }
}

static tc_status record_break(struct tc_trace *t, enum tc_break_reason reason, const char *format,
                              va_list args) {
  struct tc_break *b = &t->out->break_;
  const struct tc_activation *a = t->activation;
  b->reason = reason;
  t->out->callee = tc_trace_callee(t); /* while its frames are there */
  t->out->callee_is_new = t->callee_is_new;
  vsnprintf(b->detail, sizeof b->detail, format, args);
  b->line = a ? tc_proto_line(a->proto, a->pc - 1) : 0;
  snprintf(b->source, sizeof b->source, "%s", a ? a->proto->chunk : "[C]");
  print_stack(t, b->stack, sizeof b->stack);
  b->in_allowed = t->allowed > 0 && reason != TC_BREAK_RUNTIME_ERROR && reason != TC_BREAK_FORCED;
  t->out->broke = true;
  return TC_BREAK;
}

tc_status tc_trace_break(struct tc_trace *t, enum tc_break_reason reason, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const tc_status status = record_break(t, reason, format, args);
  va_end(args);
  return status;
}

tc_status tc_trace_raises(struct tc_trace *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const tc_status status = record_break(t, TC_BREAK_RUNTIME_ERROR, format, args);
  va_end(args);
  return status;
}

tc_status tc_trace_nomem(struct tc_trace *t) { return tc_fail_memory(t->err, "capture"); }

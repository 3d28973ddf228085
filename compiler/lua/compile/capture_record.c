/* What is kept of a compile for those who ask: breaks by number, why it was compiled again, and, for
 * tb.explain, what was captured. */
#include <stdio.h>
#include <string.h>

#include "lua/compile/compiled_object.h"

static bool same_break(const struct tc_break *a, const struct tc_break *b) {
  return a->reason == b->reason && a->line == b->line && !strcmp(a->source, b->source) &&
         !strcmp(a->detail, b->detail);
}

int tc_lua_break_number(const struct compiled_object *o, const struct tc_break *b) {
  o = o->root;
  for (size_t i = 0; i < o->breaks.len; i++)
    if (same_break(&o->breaks.data[i], b)) return (int)i + 1;
  return 0;
}

void tc_lua_note_recompile(struct compiled_object *o, const char *why) {
  struct tc_context *ctx = &o->module->ctx;
  struct recompile_note note;
  snprintf(note.text, sizeof note.text, "%s", why);
  (void)tc_vec_push(ctx->alloc, &o->root->recompile_notes, note);
  tc_log_line(&ctx->log, TC_LOG_RECOMPILES, "recompile %d: %s", o->recompiles, why);
}

static char *copy(struct tc_arena *arena, const char *text, size_t length) {
  char *bytes = tc_arena_bytes(arena, length + 1);
  if (!bytes) return NULL;
  memcpy(bytes, text, length);
  bytes[length] = 0;
  return bytes;
}

/* All but inputs. The lines of the printed graph are its nodes, in order: "  v1 = relu v0 : f32[8] -- line
 * 3". */
static bool tell_ops(struct tc_arena *arena, const struct tc_graph *graph, const char *text,
                     struct tc_capture_record *capture_record) {
  static const char behind[] = " -- line ";
  capture_record->ops = TC_NEW_ARRAY(tc_arena_alloc(arena), struct tc_captured_op, graph->nodes.len + 1);
  const char *line = strchr(text, '\n');
  for (size_t i = 0; i < graph->nodes.len && capture_record->ops && line; i++) {
    const struct tc_node *node = graph->nodes.data[i];
    line += 1 + strspn(line + 1, " ");
    const char *end = line + strcspn(line, "\n");
    if (node->op == TC_OP_input) {
      line = end;
      continue;
    }
    const char *stop = strstr(line, behind);
    struct tc_captured_op *op = &capture_record->ops[capture_record->n_ops];
    op->text = copy(arena, line, (size_t)((stop && stop < end ? stop : end) - line));
    op->source = node->source ? copy(arena, node->source, strlen(node->source)) : "";
    op->line = node->line;
    if (!op->text || !op->source) return false;
    capture_record->n_ops++;
    line = end;
  }
  return capture_record->ops != NULL;
}

void tc_lua_keep_capture_record(const struct compiled_object *o, struct tc_capture *capture,
                                struct compiled_entry *entry) {
  struct tc_strbuf text;
  if (!o->root->tells) return;
  entry->fuel = TC_NEW(tc_arena_alloc(capture->recipes), struct tc_fuel_report);
  tc_strbuf_init(&text, o->module->ctx.alloc);
  tc_graph_print(&text, capture->graph);
  const char *printed = tc_strbuf_text(&text);
  struct tc_capture_record *capture_record =
      printed ? TC_NEW(tc_arena_alloc(capture->recipes), struct tc_capture_record) : NULL;
  if (capture_record) capture_record->graph = copy(capture->recipes, printed, text.len);
  if (capture_record && capture_record->graph &&
      tell_ops(capture->recipes, capture->graph, capture_record->graph, capture_record))
    entry->capture_record = capture_record;
  tc_strbuf_free(&text);
}

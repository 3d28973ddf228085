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
                     struct tc_story *story) {
  static const char behind[] = " -- line ";
  story->ops = TC_NEW_ARRAY(tc_arena_alloc(arena), struct tc_story_op, graph->nodes.len + 1);
  const char *line = strchr(text, '\n');
  for (size_t i = 0; i < graph->nodes.len && story->ops && line; i++) {
    const struct tc_node *node = graph->nodes.data[i];
    line += 1 + strspn(line + 1, " ");
    const char *end = line + strcspn(line, "\n");
    if (node->op == TC_OP_input) {
      line = end;
      continue;
    }
    const char *stop = strstr(line, behind);
    struct tc_story_op *op = &story->ops[story->n_ops];
    op->text = copy(arena, line, (size_t)((stop && stop < end ? stop : end) - line));
    op->source = node->source ? copy(arena, node->source, strlen(node->source)) : "";
    op->line = node->line;
    if (!op->text || !op->source) return false;
    story->n_ops++;
    line = end;
  }
  return story->ops != NULL;
}

void tc_lua_keep_story(const struct compiled_object *o, struct tc_capture *capture,
                       struct compiled_entry *entry) {
  struct tc_strbuf text;
  if (!o->root->tells) return;
  entry->fuel = TC_NEW(tc_arena_alloc(capture->recipes), struct tc_fuel_report);
  tc_strbuf_init(&text, o->module->ctx.alloc);
  tc_graph_print(&text, capture->graph);
  const char *printed = tc_strbuf_text(&text);
  struct tc_story *story = printed ? TC_NEW(tc_arena_alloc(capture->recipes), struct tc_story) : NULL;
  if (story) story->graph = copy(capture->recipes, printed, text.len);
  if (story && story->graph && tell_ops(capture->recipes, capture->graph, story->graph, story))
    entry->story = story;
  tc_strbuf_free(&text);
}

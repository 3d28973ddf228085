/* The debug folder: DIR/<number>/ of each compile, under the switch `debug`.
 *
 *     graph_readable.lua   the captured graph as a Lua function, with where each value came from
 *     graph_runnable.lua   the same as a program: makes inputs, runs the graph eagerly and compiled, compares
 *     (`tbench lua FILE`)
 *     ir_pre_fusion.txt    the decomposed graph and its loops          ir_post_fusion.txt   launches and
 *     kernels
 *     kernels.ll           what the generator wrote                    kernels.s            the same as
 *     assembly
 *     guards.txt           guards, what is left open, and the replay   timing.json          what each stage
 *     took
 *
 * 1. Nothing is made unless the switch names a folder. What cannot be written is a note of the object; the
 *    compile goes on.
 * 2. Numbers are dealt by mkdir, so that processes may share DIR. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lua/compile/compiled_object.h"

enum { LONGEST_PATH = 4096, MOST_FOLDERS = 1 << 20 };

struct tc_lua_debug {
  struct compiled_object *object;
  struct tc_compile_texts texts;
  bool failed; /* and told */
  char folder[LONGEST_PATH];
};

struct tc_compile_texts *tc_lua_debug_texts(struct tc_lua_debug *debug) {
  return debug ? &debug->texts : NULL;
}

/* --- files --- */

static void note(struct tc_lua_debug *debug, const char *what) {
  if (!debug->failed) tc_lua_note_fallback(debug->object, "debug folder: %.160s: %s", what, strerror(errno));
  debug->failed = true;
}

static void write_file(struct tc_lua_debug *debug, const char *name, const char *bytes, size_t length) {
  char path[LONGEST_PATH + 64];
  snprintf(path, sizeof path, "%s/%s", debug->folder, name);
  errno = 0;
  FILE *file = fopen(path, "w");
  bool good = file && (!length || fwrite(bytes, 1, length, file) == length);
  if (file && fclose(file)) good = false;
  if (!good) note(debug, path);
}

/* Takes over the text. */
static void write_text(struct tc_lua_debug *debug, const char *name, struct tc_strbuf *text) {
  const char *bytes = tc_strbuf_text(text);
  errno = ENOMEM;
  if (bytes)
    write_file(debug, name, bytes, text->len);
  else
    note(debug, name);
  tc_strbuf_free(text);
}

/* The least number from which on no folder is there, as far as numbers were dealt in order. */
static int first_free(const char *parent) {
  char path[LONGEST_PATH + 32];
  int low = 0, high = 1; /* low is taken (or 0), high is looked at */
  for (;; high *= 2) {
    snprintf(path, sizeof path, "%s/%04d", parent, high);
    if (high >= MOST_FOLDERS || access(path, F_OK)) break;
    low = high;
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    snprintf(path, sizeof path, "%s/%04d", parent, middle);
    if (access(path, F_OK))
      high = middle;
    else
      low = middle;
  }
  return high;
}

static bool make_folder(struct tc_lua_debug *debug, const char *parent) {
  if (mkdir(parent, 0777) && errno != EEXIST) return false;
  for (int number = first_free(parent); number < MOST_FOLDERS; number++) {
    if (snprintf(debug->folder, sizeof debug->folder, "%s/%04d", parent, number) >=
        (int)sizeof debug->folder) {
      errno = ENAMETOOLONG;
      return false;
    }
    if (!mkdir(debug->folder, 0777)) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

/* --- the graph as Lua --- */

/* Switches of the object that change the code or how it runs, as a Lua table. */
static void put_switches(struct tc_strbuf *out, const struct tc_config *config) {
  bool any = false;
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *row = tc_config_row(i);
    if (!(row->in_key || row->in_run) || !strcmp(row->name, "isa") || tc_config_is_default(config, i))
      continue;
    tc_strbuf_printf(out, "%s%s = \"", any ? ", " : ", options = { ", row->name);
    tc_config_get(config, i, out);
    tc_strbuf_puts(out, "\"");
    any = true;
  }
  tc_strbuf_puts(out, any ? " } }" : " }");
}

static const char comparison[] =
    "\n"
    "-- Results of the graph on fresh inputs; random operations draw the same numbers each time.\n"
    "local function run(f)\n"
    "  local given = inputs()\n"
    "  tb.manual_seed(2)\n"
    "  return table.pack(f(table.unpack(given)))\n"
    "end\n"
    "\n"
    "-- Elements weighted by their place, so that an exchange of two shows.\n"
    "local function checksum(x)\n"
    "  local flat = x:double():reshape(-1)\n"
    "  return (flat * (tb.arange(flat:size(1), { dtype = \"f64\" }) % 97 + 1)):sum():item()\n"
    "end\n"
    "\n"
    "local function difference(a, b)\n"
    "  local same = tb.logical_or(a:eq(b), tb.logical_and(a:ne(a), b:ne(b))) -- NaN is like NaN\n"
    "  return tb.where(same, a:double() * 0, (a:double() - b:double()):abs()):masked_fill(same, "
    "0):max():item()\n"
    "end\n"
    "\n"
    "local eager, compiled = run(graph), run(tb.compile(graph, options))\n"
    "for i = 1, eager.n do\n"
    "  local a, b = eager[i], compiled[i]\n"
    "  local what = (\"result %d: %s[%s]: \"):format(i, a.dtype, table.concat(a.shape, \", \"))\n"
    "  if #a.shape > 0 and math.min(table.unpack(a.shape)) == 0 then print(what .. \"empty\")\n"
    "  else print(what .. (\"checksum %.9g, compiled %.9g, largest difference %.3g\"):format(checksum(a), "
    "checksum(b), difference(a, b))) end\n"
    "end\n"
    "return graph, inputs -- for who loads this as a chunk\n";

static void write_programs(struct tc_lua_debug *debug, const struct compiled_entry *entry,
                           const struct tc_graph *graph, const struct tc_tensor *const *inputs) {
  const struct compiled_object *o = debug->object;
  struct tc_strbuf function, text;
  tc_strbuf_init(&function, o->module->ctx.alloc);
  tc_lua_debug_function(&function, graph, entry);
  tc_strbuf_init(&text, o->module->ctx.alloc);
  tc_strbuf_puts(&text, "-- Runs a captured graph on inputs like those of the call, eagerly and compiled: "
                        "tbench lua graph_runnable.lua\n"
                        "local tb = require \"tbench\"\n\n");
  tc_strbuf_printf(&text, "tb.set_default_dtype(\"%s\")\n", tc_dtype_name(o->module->default_dtype));
  if (function.len) tc_strbuf_bytes(&text, function.data, function.len);
  tc_strbuf_puts(&text, "\n");
  tc_lua_debug_inputs(&text, graph, inputs);
  tc_strbuf_printf(&text, "\nlocal options = { backend = \"%s\"", tc_backend_name(o->backend));
  put_switches(&text, &o->config);
  tc_strbuf_puts(&text, "\n");
  tc_strbuf_puts(&text, comparison);
  text.failed |= function.failed;
  write_text(debug, "graph_readable.lua", &function);
  write_text(debug, "graph_runnable.lua", &text);
}

/* --- the rest --- */

static void write_guards(struct tc_lua_debug *debug, const struct compiled_entry *entry) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, debug->object->module->ctx.alloc);
  tc_guards_explain(entry->guards, NULL, 0, &text);
  tc_strbuf_puts(&text, "\nleft open: ");
  tc_guards_open_text(entry->guards, &text);
  tc_strbuf_puts(&text, entry->broke_at ? "\nhands on: " : "\nreturns: ");
  tc_replay_text(entry->replay, entry->guards, &text);
  tc_strbuf_puts(&text, "\n");
  write_text(debug, "guards.txt", &text);
}

static void write_times(struct tc_lua_debug *debug) {
  const struct tc_compile_report *r = &debug->object->report;
  struct tc_strbuf text;
  tc_strbuf_init(&text, debug->object->module->ctx.alloc);
  tc_strbuf_puts(&text, "{\n  \"stages_ns\": {");
  for (int i = 0; i < TC_PASS_COUNT; i++)
    tc_strbuf_printf(&text, "%s\"%s\": %.0f", i ? ", " : "", tc_pass_name((enum tc_pass)i), r->stage_ns[i]);
  const char *stages = tc_strbuf_text(&debug->texts.times);
  tc_strbuf_printf(&text,
                   "},\n  \"stages\": [%s],\n  \"cache\": \"%s\", \"kernels\": %d, \"library_calls\": %d, "
                   "\"graph_ops\": %d, \"code_bytes\": %llu\n}\n",
                   stages ? stages : "", tc_cache_answer_name(r->answer), r->kernels, r->library_calls,
                   r->graph_ops, (unsigned long long)r->code_bytes);
  write_text(debug, "timing.json", &text);
  tc_strbuf_free(&debug->texts.times);
}

struct tc_lua_debug *tc_lua_debug_begin(struct compiled_object *o, const struct compiled_entry *entry,
                                        const struct tc_frame *frame, const struct tc_graph *graph,
                                        struct call_values *values) {
  const struct tc_alloc *alloc = o->module->ctx.alloc;
  if (!*o->config.debug) return NULL;
  struct tc_lua_debug *debug = TC_NEW(alloc, struct tc_lua_debug);
  if (!debug) return NULL;
  debug->object = o;
  errno = 0;
  if (!make_folder(debug, o->config.debug)) {
    note(debug, o->config.debug);
    TC_FREE(alloc, debug);
    return NULL;
  }
  struct tc_strbuf *const texts[] = {&debug->texts.before_fusion, &debug->texts.after_fusion,
                                     &debug->texts.times, &debug->texts.code.code,
                                     &debug->texts.code.assembly};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) tc_strbuf_init(texts[i], alloc);
  const bool fits = tc_guards_inputs(entry->guards) + entry->n_scalars <= TC_LUA_MAX_INPUTS;
  const bool known =
      fits && !tc_guards_match(entry->guards, frame,
                               &(struct tc_guard_values){values->inputs, values->sizes, values->scalars});
  if (known) tc_lua_add_scalars(entry, values);
  write_programs(debug, entry, graph, known ? values->inputs : NULL);
  return debug;
}

void tc_lua_debug_end(struct tc_lua_debug *debug, struct compiled_object *o,
                      const struct compiled_entry *entry) {
  if (!debug) return;
  write_guards(debug, entry);
  write_text(debug, "ir_pre_fusion.txt", &debug->texts.before_fusion);
  write_text(debug, "ir_post_fusion.txt", &debug->texts.after_fusion);
  write_text(debug, "kernels.ll", &debug->texts.code.code);
  write_text(debug, "kernels.s", &debug->texts.code.assembly);
  write_times(debug);
  TC_FREE(o->module->ctx.alloc, debug);
}

/* `tbench new suite NAME`: writes NAME.lua, a suite that runs as it is and shows where to put one's own.
 * Never overwrites. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/verb.h"
#include "harness/cli/verbs.h"

static const char template_text[] =
    "-- %s: what this suite measures, in a line.\n"
    "--\n"
    "-- Run it:      tbench run suite=./%s.lua\n"
    "-- Look inside: tbench explain suite=./%s.lua\n"
    "local tb = require \"tbench\"\n"
    "local F = tb.nn.functional\n"
    "\n"
    "return tb.suite {\n"
    "  name = \"%s\",\n"
    "  about = \"a line for `tbench list`\",\n"
    "  -- Defaults; the command line overrides them (batch=1,64). Other axes may have any name: case.NAME "
    "has the value.\n"
    "  axes = { batch = { 1, 64, 1024 }, dtype = { \"f32\" } },\n"
    "  workloads = {\n"
    "    -- Called once a process, untimed. Everything random comes from tb.randn and its like, with the "
    "case, so that each role\n"
    "    -- (plain, compiled, float64 reference) sees the same values.\n"
    "    %s = function(case)\n"
    "      local weight, bias = tb.randn({ 256, 256 }, case), tb.randn({ 256 }, case)\n"
    "      return {\n"
    "        fn = function(x) return F.gelu(F.linear(x, weight, bias)) + x end, -- what is timed, plain and "
    "compiled\n"
    "        args = { tb.randn({ case.batch, 256 }, case) },                   -- or function(i): the "
    "arguments of call i\n"
    "      }\n"
    "    end,\n"
    "  },\n"
    "}\n";

static const char *const lua_words[] = {
    "and", "break", "do",  "else", "elseif", "end",    "false",  "for",  "function", "goto",  "if",
    "in",  "local", "nil", "not",  "or",     "repeat", "return", "then", "true",     "until", "while"};

/* What a suite's name may be (see description.c), and a name in Lua too. */
static bool good_name(const char *name) {
  for (size_t i = 0; i < sizeof lua_words / sizeof *lua_words; i++)
    if (!strcmp(lua_words[i], name)) return false;
  if (!islower((unsigned char)*name)) return false;
  for (const char *c = name; *c; c++)
    if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_') return false;
  return true;
}

static int write_suite(struct tb_verb *verb, const char *name) {
  const char *path = tb_format(verb->arena, "%s.lua", name);
  FILE *out = path ? fopen(path, "wxe") : NULL;
  if (!path) return tb_verb_failed("new", "out of memory");
  if (!out && errno == EEXIST) return tb_verb_usage("new", "%s is there already; choose another name", path);
  if (!out) return tb_verb_failed("new", "%s: %s", path, strerror(errno));
  fprintf(out, template_text, name, name, name, name, name);
  const bool good = !ferror(out);
  if (fclose(out) || !good) {
    remove(path);
    return tb_verb_failed("new", "%s: %s", path, strerror(errno));
  }
  printf("%s\nrun it: tbench run suite=./%s\n", path, path);
  return TB_EXIT_PASS;
}

int tb_verb_new(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "new", argc, argv, 2)) return TB_EXIT_USAGE;
  int code;
  if (verb.args.words.len != 2 || strcmp(verb.args.words.data[0], "suite"))
    code = tb_verb_usage("new", "say what to make: tbench new suite NAME");
  else if (!good_name(verb.args.words.data[1]))
    code = tb_verb_usage(
        "new",
        "'%s' is not a valid name: use a-z, 0-9 and '_', begin with a letter, and avoid Lua's keywords",
        verb.args.words.data[1]);
  else
    code = write_suite(&verb, verb.args.words.data[1]);
  tb_verb_end(&verb);
  return code;
}

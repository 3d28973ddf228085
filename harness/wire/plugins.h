/* plugin=NAME:PATH,… of a command line: backends in shared objects (compiler/plugin.h), which each worker
 * registers before it loads the suite.
 *
 * The harness opens none of them itself, as it runs no suite: what is wrong inside of a file is told by the
 * worker that describes the suite, before anything is measured. Ownership: texts in the arena. */
#ifndef TB_PLUGINS_H
#define TB_PLUGINS_H

#include "base/arena.h"
#include "base/error.h"

enum { TB_PLUGINS_MAX = 8 };

struct tb_plugin {
  const char *name, *path;
}; /* the path is absolute */
struct tb_plugins {
  struct tb_plugin items[TB_PLUGINS_MAX];
  int count;
};

/* TC_ARG: no NAME:PATH, a name that no case could carry or that stands there twice, a file that is not
 * there. */
tc_status tb_plugins_parse(struct tc_arena *arena, const char *text, struct tb_plugins *out,
                           struct tc_error *err);

/* The word for the command line of a worker, in the arena; NULL when memory is out. */
const char *tb_plugin_word(struct tc_arena *arena, const struct tb_plugin *plugin);
/* Takes such a word back, as the worker got it: *taken: it was one. TC_LIMIT: it is one too many. */
tc_status tb_plugin_take(const char *name, const char *value, struct tb_plugins *out, bool *taken,
                         struct tc_error *err);

#endif

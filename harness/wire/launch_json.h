/* A launch as a launcher is told of it: names of files as that host has them, and nothing of this host. */
#ifndef TB_LAUNCH_JSON_H
#define TB_LAUNCH_JSON_H

#include <cjson/cJSON.h>

#include "harness/wire/transport.h"

/* Adds it to `json`. False: memory is out. */
bool tb_launch_add(cJSON *json, const struct tb_launch *launch);

/* A launch that was read, and what it points to. */
struct tb_told_launch {
  struct tb_launch launch;
  struct tb_place place;
  struct tc_config config;
  struct tb_plugins plugins;
};
/* Takes it back; texts in the arena. `own`, what is shown and where times go stay unset. TC_ARG: it is none.
 */
tc_status tb_launch_parse(struct tc_arena *arena, const cJSON *json, struct tb_told_launch *out,
                          struct tc_error *err);

#endif

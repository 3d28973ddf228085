/* The facts of a host that workers run on: read there, and sent as JSON where that is not this host. */
#ifndef TB_HOST_H
#define TB_HOST_H

#include <cjson/cJSON.h>

#include "base/vec.h"
#include "harness/machine/noise.h"
#include "harness/machine/topology.h"

/* Texts lie in an arena; NULL: not known. */
struct tb_host {
  const char *name, *os, *kernel;
  const char *cpu_model, *governor;
  TC_VEC(const char *) cpu_features; /* those that decide on generated code and on the library's kernels */
  struct tb_machine machine;
  const char *topology, *topology_xml;
  bool binds;                    /* the topology is the host's own, and processes can be bound by it */
  long long memory_mb;           /* 0: not known */
  TC_VEC(struct tb_noise) noise; /* all causes, as they are now */
};

/* Of this host; `topology` is its own. False: memory is out. */
bool tb_host_read(struct tc_arena *arena, struct tb_topology *topology, struct tb_host *out);
/* MiB of this host's memory; 0: not known. */
long long tb_host_memory_mb(void);
/* NULL when memory is out. */
cJSON *tb_host_json(const struct tb_host *host);
/* Takes what tb_host_json made; of causes of noise, those that this program knows. False: memory is out. */
bool tb_host_parse(struct tc_arena *arena, const cJSON *json, struct tb_host *out);

#endif

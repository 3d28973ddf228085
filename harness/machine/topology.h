/* Which part of the machine a case runs on: hwloc finds the objects, the caller binds.
 *
 * A text is machine, package:N, numa:N, l3:N, core:N or pu:N: the first N objects of that kind that this
 * process may run on. Ownership: a tb_topology is closed by its maker; a tb_place is a value with texts in
 * the arena. */
#ifndef TB_TOPOLOGY_H
#define TB_TOPOLOGY_H

#include <sched.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct tb_topology;

/* `synthetic` NULL: this machine (or what HWLOC_SYNTHETIC, HWLOC_XMLFILE name). TC_DEVICE when hwloc cannot
 * read it. */
tc_status tb_topology_open(const char *synthetic, struct tb_topology **out, struct tc_error *err);
/* That of another host, from its tb_topology_xml; `binds`: what tb_topology_binds says there, as of all
 * places of it. TC_DEVICE: it is none. */
tc_status tb_topology_import(const char *xml, bool binds, struct tb_topology **out, struct tc_error *err);
void tb_topology_close(struct tb_topology *topology);

struct tb_place {
  const char *text;           /* "machine", "core:4" */
  const char *cpus;           /* "0-3,8" */
  const char *threads_places; /* OMP_PLACES for `threads` threads: "{0},{1}" */
  int cores, pus;             /* in the set */
  int threads;                /* one a core (one a PU for pu:N), unless asked for otherwise */
  bool binds;                 /* false: a topology that is not this machine's; nothing is bound */
};

/* `threads` 0: the default. TC_ARG with what there is, for an unknown text or more objects than the machine
 * has. */
tc_status tb_topology_place(struct tb_topology *topology, struct tc_arena *arena, const char *text, bool smt,
                            int threads, struct tb_place *out, struct tc_error *err);

struct tb_machine {
  int packages, numa, cores, pus;
};
struct tb_machine tb_topology_machine(struct tb_topology *topology);
/* One line: "Package:1 L3:1(size=…) …"; and hwloc's XML. NULL when memory is out or hwloc cannot say. */
const char *tb_topology_line(struct tb_topology *topology, struct tc_arena *arena);
const char *tb_topology_xml(struct tb_topology *topology, struct tc_arena *arena);
/* Whether threads can be bound here at all; the reason where not. */
bool tb_topology_binds(struct tb_topology *topology, const char **why);

/* Memory of processes started from here on comes from the nodes of `cpus`, until called with NULL. False: not
 * bound (one node, or the system refused). */
bool tb_topology_bind_memory(struct tb_topology *topology, const char *cpus);

/* A set from "0-3,8"; false when it is none, or names a CPU beyond what the type holds. */
bool tb_cpus_parse(const char *text, cpu_set_t *set);

#endif

/* Places on a machine, found by hwloc. Invariants:
 * 1. Only objects inside the set that this process may run on are counted and used.
 * 2. On a topology that is not this machine's (synthetic, imported) hwloc's binding calls do nothing and say
 *    success; so `binds` is asked first, and recorded. */
#include "harness/machine/topology.h"

#include <hwloc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/args.h"

struct tb_topology {
  hwloc_topology_t hwloc;
  bool binds_there; /* another host's, which binds by it */
};

static const struct {
  const char *name, *plural;
  hwloc_obj_type_t type;
} kinds[] = {
    {"package", "packages", HWLOC_OBJ_PACKAGE}, {"numa", "memory nodes", HWLOC_OBJ_NUMANODE},
    {"l3", "L3 caches", HWLOC_OBJ_L3CACHE},     {"core", "cores", HWLOC_OBJ_CORE},
    {"pu", "hardware threads", HWLOC_OBJ_PU},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, LINE_MAX_BYTES = 1024 };

tc_status tb_topology_open(const char *synthetic, struct tb_topology **out, struct tc_error *err) {
  struct tb_topology *t = calloc(1, sizeof *t);
  if (!t) return tc_fail_memory(err, "topology");
  if (hwloc_topology_init(&t->hwloc)) goto fail_init;
  if (synthetic && hwloc_topology_set_synthetic(t->hwloc, synthetic)) goto fail_load;
  if (hwloc_topology_load(t->hwloc)) goto fail_load;
  *out = t;
  return TC_OK;
fail_load:
  hwloc_topology_destroy(t->hwloc);
fail_init:
  free(t);
  return tc_fail(err, TC_DEVICE, "topology", "hwloc cannot read the topology%s%s",
                 synthetic ? " " : " of this machine", synthetic ? synthetic : "");
}

tc_status tb_topology_import(const char *xml, bool binds, struct tb_topology **out, struct tc_error *err) {
  struct tb_topology *t = calloc(1, sizeof *t);
  if (!t) return tc_fail_memory(err, "topology");
  t->binds_there = binds;
  if (hwloc_topology_init(&t->hwloc)) goto fail_init;
  if (hwloc_topology_set_xmlbuffer(t->hwloc, xml, (int)strlen(xml) + 1) || hwloc_topology_load(t->hwloc))
    goto fail_load;
  *out = t;
  return TC_OK;
fail_load:
  hwloc_topology_destroy(t->hwloc);
fail_init:
  free(t);
  return tc_fail(err, TC_DEVICE, "topology", "hwloc cannot read the topology of the workers' host");
}

void tb_topology_close(struct tb_topology *topology) {
  if (!topology) return;
  hwloc_topology_destroy(topology->hwloc);
  free(topology);
}

/* "core:4" → kind and count; -1 as kind for machine. TC_ARG: it names no part of any machine. */
static tc_status parse(const char *text, int *kind, long long *count, struct tc_error *err) {
  *kind = -1;
  *count = 1;
  if (!strcmp(text, "machine")) return TC_OK;
  const char *colon = strchr(text, ':');
  const size_t length = colon ? (size_t)(colon - text) : strlen(text);
  for (int k = 0; k < N_KINDS; k++)
    if (strlen(kinds[k].name) == length && !strncmp(kinds[k].name, text, length)) *kind = k;
  if (*kind >= 0 && (!colon || (tb_whole_parse(colon + 1, count) && *count > 0))) return TC_OK;
  return tc_fail(err, TC_ARG, "topology",
                 "topology=%s: use machine, package:N, numa:N, l3:N, core:N or pu:N, with N from 1 up", text);
}

static hwloc_const_cpuset_t allowed(struct tb_topology *t) {
  return hwloc_topology_get_allowed_cpuset(t->hwloc);
}

/* Adds the first `count` objects of a kind to `set`; returns how many there were. */
static int add_objects(struct tb_topology *t, hwloc_obj_type_t type, int count, hwloc_bitmap_t set) {
  int found = 0;
  for (hwloc_obj_t o = NULL; found < count && (o = hwloc_get_next_obj_by_type(t->hwloc, type, o));) {
    if (!hwloc_bitmap_intersects(o->cpuset, allowed(t))) continue;
    hwloc_bitmap_or(set, set, o->cpuset);
    found++;
  }
  hwloc_bitmap_and(set, set, allowed(t));
  return found;
}

static int count_objects(struct tb_topology *t, hwloc_obj_type_t type, hwloc_const_bitmap_t within) {
  int found = 0;
  for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(t->hwloc, type, o));)
    found += o->cpuset && hwloc_bitmap_intersects(o->cpuset, within);
  return found;
}

/* One PU of each core. */
static void drop_siblings(struct tb_topology *t, hwloc_bitmap_t set) {
  for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(t->hwloc, HWLOC_OBJ_CORE, core));) {
    hwloc_bitmap_t of_core = hwloc_bitmap_alloc();
    if (!of_core) return;
    hwloc_bitmap_and(of_core, core->cpuset, set);
    const int first = hwloc_bitmap_first(of_core);
    if (first >= 0) {
      hwloc_bitmap_andnot(set, set, core->cpuset);
      hwloc_bitmap_set(set, (unsigned)first);
    }
    hwloc_bitmap_free(of_core);
  }
}

static const char *list_text(struct tc_arena *arena, hwloc_const_bitmap_t set) {
  char *list = NULL;
  if (hwloc_bitmap_list_asprintf(&list, set) < 0) return NULL;
  const char *text = tc_arena_text(arena, list);
  free(list);
  return text;
}

/* One place a core where there are no more threads than cores, else one a PU. */
static const char *places_text(struct tb_topology *t, struct tc_arena *arena, hwloc_const_bitmap_t set,
                               int threads, int cores) {
  const hwloc_obj_type_t type = threads <= cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  const char *text = "";
  for (hwloc_obj_t o = NULL; text && (o = hwloc_get_next_obj_by_type(t->hwloc, type, o));) {
    if (!hwloc_bitmap_intersects(o->cpuset, set)) continue;
    const char *place = *text ? "," : "";
    text = tb_format(arena, "%s%s{", text, place);
    bool first = true;
    for (int cpu = hwloc_bitmap_next(o->cpuset, -1); text && cpu >= 0;
         cpu = hwloc_bitmap_next(o->cpuset, cpu)) {
      if (!hwloc_bitmap_isset(set, (unsigned)cpu)) continue;
      text = tb_format(arena, "%s%s%d", text, first ? "" : ",", cpu);
      first = false;
    }
    if (text) text = tb_format(arena, "%s}", text);
  }
  return text;
}

static tc_status fill_place(struct tb_topology *t, struct tc_arena *arena, hwloc_bitmap_t set, int kind,
                            int threads, struct tb_place *out, struct tc_error *err) {
  out->pus = hwloc_bitmap_weight(set);
  out->cores = count_objects(t, HWLOC_OBJ_CORE, set);
  if (!out->cores) out->cores = out->pus; /* a machine that tells no cores */
  const bool by_pu = kind >= 0 && kinds[kind].type == HWLOC_OBJ_PU;
  out->threads = threads ? threads : by_pu ? out->pus : out->cores;
  out->cpus = list_text(arena, set);
  out->threads_places = places_text(t, arena, set, out->threads, out->cores);
  out->binds = t->binds_there || tb_topology_binds(t, NULL);
  return out->cpus && out->threads_places ? TC_OK : tc_fail_memory(err, "topology");
}

tc_status tb_topology_place(struct tb_topology *t, struct tc_arena *arena, const char *text, bool smt,
                            int threads, struct tb_place *out, struct tc_error *err) {
  int kind;
  long long count;
  tc_status status = parse(text, &kind, &count, err);
  if (status) return status;
  *out =
      (struct tb_place){.text = kind < 0 ? "machine" : tb_format(arena, "%s:%lld", kinds[kind].name, count)};
  if (!out->text) return tc_fail_memory(err, "topology");
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  if (!set) return tc_fail_memory(err, "topology");
  if (kind < 0) {
    hwloc_bitmap_copy(set, allowed(t));
  } else {
    const int wanted = count > INT_MAX ? INT_MAX : (int)count,
              found = add_objects(t, kinds[kind].type, wanted, set);
    if (found < wanted) {
      hwloc_bitmap_free(set);
      return tc_fail(err, TC_ARG, "topology", "topology=%s: this machine has %d %s that tbench may use", text,
                     found, kinds[kind].plural);
    }
  }
  if (!smt) drop_siblings(t, set);
  status = fill_place(t, arena, set, kind, threads, out, err);
  hwloc_bitmap_free(set);
  return status;
}

struct tb_machine tb_topology_machine(struct tb_topology *t) {
  hwloc_const_bitmap_t set = allowed(t);
  return (struct tb_machine){count_objects(t, HWLOC_OBJ_PACKAGE, set),
                             count_objects(t, HWLOC_OBJ_NUMANODE, set), count_objects(t, HWLOC_OBJ_CORE, set),
                             hwloc_bitmap_weight(set)};
}

const char *tb_topology_line(struct tb_topology *t, struct tc_arena *arena) {
  char line[LINE_MAX_BYTES];
  if (hwloc_topology_export_synthetic(t->hwloc, line, sizeof line, 0) < 0)
    return NULL; /* an asymmetric machine has none */
  return tc_arena_text(arena, line);
}

const char *tb_topology_xml(struct tb_topology *t, struct tc_arena *arena) {
  char *xml = NULL;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(t->hwloc, &xml, &length, 0)) return NULL;
  const char *text = tc_arena_text(arena, xml);
  hwloc_free_xmlbuffer(t->hwloc, xml);
  return text;
}

bool tb_topology_binds(struct tb_topology *t, const char **why) {
  const struct hwloc_topology_support *support = hwloc_topology_get_support(t->hwloc);
  const char *reason = !hwloc_topology_is_thissystem(t->hwloc)   ? "this is the topology of another machine"
                       : !support->cpubind->set_thisproc_cpubind ? "this system cannot bind processes to CPUs"
                                                                 : NULL;
  if (why) *why = reason;
  return !reason;
}

bool tb_topology_bind_memory(struct tb_topology *t, const char *cpus) {
  if (!tb_topology_binds(t, NULL) || hwloc_get_nbobjs_by_type(t->hwloc, HWLOC_OBJ_NUMANODE) < 2) return false;
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  if (!set) return false;
  int status;
  if (cpus) {
    hwloc_bitmap_list_sscanf(set, cpus);
    status = hwloc_set_membind(t->hwloc, set, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_THREAD);
  } else {
    hwloc_bitmap_copy(set, hwloc_topology_get_topology_cpuset(t->hwloc));
    status = hwloc_set_membind(t->hwloc, set, HWLOC_MEMBIND_DEFAULT, HWLOC_MEMBIND_THREAD);
  }
  hwloc_bitmap_free(set);
  return !status;
}

bool tb_cpus_parse(const char *text, cpu_set_t *set) {
  CPU_ZERO(set);
  hwloc_bitmap_t bitmap = hwloc_bitmap_alloc();
  bool good = bitmap && !hwloc_bitmap_list_sscanf(bitmap, text) && hwloc_bitmap_weight(bitmap) > 0;
  for (int cpu = good ? hwloc_bitmap_first(bitmap) : -1; cpu >= 0 && good;
       cpu = hwloc_bitmap_next(bitmap, cpu)) {
    good = cpu < CPU_SETSIZE;
    if (good) CPU_SET(cpu, set);
  }
  hwloc_bitmap_free(bitmap);
  return good;
}

/* `tbench topo [topology=…] [threads=N] [peaks=no]`: the machine's parts, what a topology would bind to, its
 * triad and FMA peak. */
#include <sched.h>
#include <stdio.h>

#include "harness/base/text.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/machine/topology.h"
#include "harness/machine/triad.h"

static const double giga = 1e9;

static void print_peaks(const struct tb_place *place) {
  cpu_set_t cpus;
  if (!place->binds || !tb_cpus_parse(place->cpus, &cpus)) {
    printf("peaks      not measured: this is the topology of another machine\n");
    return;
  }
  fprintf(stderr, "measuring triad and FMA peak, some seconds …\n");
  printf("triad      %.1f GB/s\n", tb_triad_bytes_per_s(&cpus, place->threads) / giga);
  printf("f32 FMA    %.0f GFLOP/s\n", tb_fma_flops_per_s(&cpus, place->threads) / giga);
}

static int show(struct tb_verb *verb, struct tb_topology *topology) {
  const char *text = tb_args_value(&verb->args, "topology"),
             *threads_text = tb_args_value(&verb->args, "threads");
  long long threads = 0;
  bool peaks = true;
  struct tb_place place;
  struct tc_error err = {0};
  if (threads_text && (!tb_whole_parse(threads_text, &threads) || threads < 1 || threads > CPU_SETSIZE))
    return tb_verb_usage("topo", "threads=%s: use a whole number from 1 to %d", threads_text, CPU_SETSIZE);
  if (!tb_verb_flag(verb, "peaks", &peaks)) return TB_EXIT_USAGE;
  if (tb_topology_place(topology, verb->arena, text ? text : "machine", true, (int)threads, &place, &err))
    return tb_verb_usage("topo", "%s", err.message);
  const struct tb_machine m = tb_topology_machine(topology);
  const char *why = NULL, *line = tb_topology_line(topology, verb->arena);
  printf("machine    %d package%s, %d NUMA node%s, %d core%s, %d PU%s\n", m.packages, tb_plural(m.packages),
         m.numa, tb_plural(m.numa), m.cores, tb_plural(m.cores), m.pus, tb_plural(m.pus));
  printf("objects    %s\n", line ? line : "unknown to hwloc");
  if (tb_topology_binds(topology, &why))
    printf("binding    works\n");
  else
    printf("binding    not bound: %s\n", why);
  printf("topology   %s is CPUs %s: %d core%s, %d PU%s, %d thread%s%s\n", place.text, place.cpus, place.cores,
         tb_plural(place.cores), place.pus, tb_plural(place.pus), place.threads, tb_plural(place.threads),
         threads ? "" : " by default");
  if (place.threads > place.pus) printf("%-10s more threads than PUs: they take turns\n", "");
  if (peaks) print_peaks(&place);
  return TB_EXIT_PASS;
}

int tb_verb_topo(int argc, char *const *argv) {
  struct tb_verb verb;
  struct tb_topology *topology;
  struct tc_error err = {0};
  if (!tb_verb_begin(&verb, "topo", argc, argv, 0)) return TB_EXIT_USAGE;
  int code;
  if (tb_topology_open(NULL, &topology, &err)) {
    code = tb_verb_failed("topo", "%s", err.message);
  } else {
    code = show(&verb, topology);
    tb_topology_close(topology);
  }
  tb_verb_end(&verb);
  return code;
}

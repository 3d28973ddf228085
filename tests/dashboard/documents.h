/* Result documents made from a template: small ones that the schema allows, each of them another. */
#ifndef TESTS_UNIT_DOCUMENTS_H
#define TESTS_UNIT_DOCUMENTS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  DOCUMENT_HEAD = 1024,
  DOCUMENT_CASE = 2048,
  DOCUMENT_YEAR_S = 365 * 24 * 3600,
  DOCUMENT_FIRST_S = 1735689600 /* 2025-01-01 */,
  DOCUMENT_SERIES = 500
};

/* started, finished and commit are filled in. */
static const char document_head[] =
    "{\"schema\":1,\"tbench\":{\"version\":\"0.1.0\",\"commit\":\"%s\",\"build\":\"b\",\"artifact_abi\":1},"
    "\"started\":\"%s\",\"finished\":\"%s\",\"argv"
    "\":[],\"seed\":%lld,\"interrupted\":false,\"planned\":0,\"changed_since\":null,\"left_out\":[],"
    "\"disturbance\":{\"steal_share\":null,\"o"
    "thers_share\":null,\"load_before\":null,\"load_after\":null},\"harness\":{\"requests_ns\":{},"
    "\"processes\":0,\"wall_ns\":0,\"start_ns\""
    ":0,\"stop_ns\":0,\"settle_ns\":0,\"own_ns\":0},\"environments\":[{\"host\":\"h1\",\"os\":\"o\","
    "\"kernel\":\"k\",\"cpu\":{\"model\":\"cpu\",\"featur"
    "es\":[],\"governor\":null,\"packages\":1,\"numa\":1,\"cores\":2,\"pus\":2},\"gpu\":null,\"llvm\":\"19\","
    "\"lua\":\"5.4\",\"blas\":null,\"topology"
    "\":null,\"topology_xml\":null,\"bound_to\":\"\",\"cpus\":\"0\",\"threads\":2,\"triad_bytes_per_s\":null,"
    "\"fma_flops_per_s\":null,\"warning"
    "s\":[],\"noise\":[]}],\"cases\":[";
/* id, and five times the compiled time. */
static const char document_case[] =
    "{\"id\":\"%s\",\"env\":0,\"case\":{\"suite\":\"load\",\"workload\":\"mlp\",\"backend\":\"inductor\","
    "\"mode\":\"default\",\"device\":\"cpu\",\"dtype\":"
    "\"f32\",\"batch\":8,\"params\":{},\"topology\":\"machine\",\"smt\":true,\"threads\":2,\"switches\":{}},"
    "\"outcome\":\"ok\",\"error\":null,\"trac"
    "e\":null,\"selection\":null,\"bound\":true,\"baseline\":{\"median_ns\":8484,\"mad_ns\":1,\"p05_ns\":"
    "8314.32,\"p95_ns\":8738.52,\"replica"
    "tes\":[{\"median_ns\":8484,\"samples_ns\":[8484]}]},\"steady\":{\"median_ns\":%.3f,\"mad_ns\":1,\"p05_"
    "ns\":%.3f,\"p95_ns\":%.3f,\"replic"
    "ates\":[{\"median_ns\":%.3f,\"samples_ns\":[%.3f]}]},\"speedup\":{\"ratio\":2,\"lo\":1.9,\"hi\":2.1,"
    "\"confidence\":0.95,\"interval_confi"
    "dence\":0.95,\"replicates\":5,\"log_ratios\":[0.69],\"replicates_stop\":\"count\",\"interval_over\":"
    "\"replicates\",\"noise_floor\":0.01"
    ",\"sign_flip_p\":null,\"stop_reason\":\"target\"},\"aa\":null,\"probe\":null,\"compile\":{\"cold_ns\":{"
    "\"median\":2000000.0,\"samples\":[2"
    "000000.0]},\"disk_ns\":null,\"memory_ns\":null,\"first_call_ns\":null,\"disk_first_call_ns\":null,"
    "\"memory_first_call_ns\":null,\"l"
    "ibrary_ns\":null,\"start_ns\":null,\"pays_off_after_calls\":null,\"pays_off_lo\":null,\"pays_off_hi\":"
    "null,\"pays_off_infinite\":fa"
    "lse,\"stages_ns\":{},\"evidence\":{\"cold\":null,\"disk\":null,\"memory\":null},\"invalid\":{}},"
    "\"graph\":null,\"counters\":{},\"counted_"
    "calls\":null,\"instructions\":null,\"correctness\":null,\"work\":{\"bytes\":null,\"bytes_from\":null,"
    "\"bytes_per_s\":null,\"flops\":nul"
    "l,\"flops_from\":null,\"flops_per_s\":null}}";

/* Document `number` with so many cases of DOCUMENT_SERIES series: its bytes, zero-terminated, in `out`, which
 * has room for DOCUMENT_HEAD + cases * DOCUMENT_CASE. */
static inline size_t document_write(char *out, long long number, int cases) {
  char started[32], commit[32], id[64];
  const time_t at = DOCUMENT_FIRST_S + (time_t)(number % DOCUMENT_YEAR_S);
  struct tm tm;
  strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
  snprintf(commit, sizeof commit, "commit%lld", number / 1000);
  size_t length = (size_t)snprintf(out, DOCUMENT_HEAD, document_head, commit, started, started, number);
  for (int i = 0; i < cases; i++) {
    const long long series = (number * 7919 + i) % DOCUMENT_SERIES;
    const double ns = 1000 + (double)series + (double)(number % 97) / 10;
    snprintf(id, sizeof id, "load/case%lld/inductor/default/cpu/f32/b8/machine/t2", series);
    if (i) out[length++] = ',';
    length += (size_t)snprintf(out + length, DOCUMENT_CASE, document_case, id, ns, ns, ns, ns, ns);
  }
  length += (size_t)sprintf(out + length, "]}");
  return length;
}

#endif

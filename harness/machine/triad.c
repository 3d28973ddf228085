/* Triad and multiply-add peak. Invariants:
 * 1. Threads start together (a barrier) and the time is from the first start to the last end.
 * 2. Every array is first touched by the thread that works on it, so that it lies on that thread's memory
 *    node.
 * 3. No thread comes to the barrier before all of them exist: a team that is not complete leaves at the
 * gate. */
#include "harness/machine/triad.h"

#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/system_file.h"

enum {
  TRIAD_RUNS = 6,
  TRIAD_CACHES = 8, /* all arrays together: this many times the last-level caches of the CPUs */
  TRIAD_MIN_BYTES = 96 << 20,
  TRIAD_ALIGN = 64,
  LANES_AVX2 = 8, /* floats of a vector */
  LANES_AVX512 = 16,
  HUGE_PAGE = 2 << 20,
  FMA_RUNS = 5,
  FMA_ROUNDS = 400000,
  FMA_CHAINS = 16, /* independent accumulators: latency times issue width, and some more */
  THREADS_MAX = 1024,
  PATH_BYTES = 80,
  LINE_BYTES = 256,
};

enum job { JOB_TRIAD, JOB_FMA };

enum gate { GATE_SHUT, GATE_OPEN, GATE_LEAVE };

struct shared {
  enum job job;
  pthread_mutex_t lock;
  pthread_cond_t moved;
  enum gate gate;
  pthread_barrier_t barrier;
  size_t elements; /* a thread */
};

struct member {
  struct shared *shared;
  int cpu;
  bool failed;
  int64_t start[TRIAD_RUNS * 2], stop[TRIAD_RUNS * 2];
  float sink;
};

__attribute__((target("avx2,fma"))) static void triad_plain(float *a, const float *b, const float *c,
                                                            size_t n) {
  const __m256 s = _mm256_set1_ps(3.0f);
  for (size_t i = 0; i < n; i += LANES_AVX2)
    _mm256_store_ps(a + i, _mm256_fmadd_ps(s, _mm256_load_ps(c + i), _mm256_load_ps(b + i)));
}

__attribute__((target("avx2,fma"))) static void triad_stream(float *a, const float *b, const float *c,
                                                             size_t n) {
  const __m256 s = _mm256_set1_ps(3.0f);
  for (size_t i = 0; i < n; i += LANES_AVX2)
    _mm256_stream_ps(a + i, _mm256_fmadd_ps(s, _mm256_load_ps(c + i), _mm256_load_ps(b + i)));
  _mm_sfence();
}

__attribute__((target("avx2,fma"))) static float fma_avx2(void) {
  __m256 x[FMA_CHAINS];
  const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (int c = 0; c < FMA_CHAINS; c++) x[c] = _mm256_set1_ps((float)c);
  for (int i = 0; i < FMA_ROUNDS; i++) {
#pragma GCC unroll 16
    for (int c = 0; c < FMA_CHAINS; c++) x[c] = _mm256_fmadd_ps(x[c], factor, term);
  }
  float sum = 0, lanes[LANES_AVX2];
  for (int c = 0; c < FMA_CHAINS; c++) _mm256_storeu_ps(lanes, x[c]), sum += lanes[0];
  return sum;
}

__attribute__((target("avx512f"))) static float fma_avx512(void) {
  __m512 x[FMA_CHAINS];
  const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (int c = 0; c < FMA_CHAINS; c++) x[c] = _mm512_set1_ps((float)c);
  for (int i = 0; i < FMA_ROUNDS; i++) {
#pragma GCC unroll 16
    for (int c = 0; c < FMA_CHAINS; c++) x[c] = _mm512_fmadd_ps(x[c], factor, term);
  }
  float sum = 0, lanes[LANES_AVX512];
  for (int c = 0; c < FMA_CHAINS; c++) _mm512_storeu_ps(lanes, x[c]), sum += lanes[0];
  return sum;
}

static bool has_avx512(void) { return __builtin_cpu_supports("avx512f"); }

static void run_triad(struct member *m) {
  const size_t n = m->shared->elements;
  const size_t bytes = (3 * n * sizeof(float) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  float *arrays = aligned_alloc(HUGE_PAGE, bytes);
  m->failed = !arrays;
  if (arrays)
    (void)madvise(arrays, bytes,
                  MADV_HUGEPAGE); /* fewer page faults; without them it is only slower to begin */
  for (size_t i = 0; arrays && i < 3 * n; i++) arrays[i] = 1.0f;
  for (int run = 0; run < 2 * TRIAD_RUNS; run++) {
    pthread_barrier_wait(&m->shared->barrier);
    m->start[run] = tb_now_ns();
    if (arrays) (run % 2 ? triad_stream : triad_plain)(arrays, arrays + n, arrays + 2 * n, n);
    m->stop[run] = tb_now_ns();
  }
  m->sink = arrays ? arrays[n - 1] : 0;
  free(arrays);
}

static void run_fma(struct member *m) {
  for (int run = 0; run < FMA_RUNS; run++) {
    pthread_barrier_wait(&m->shared->barrier);
    m->start[run] = tb_now_ns();
    m->sink += has_avx512() ? fma_avx512() : fma_avx2();
    m->stop[run] = tb_now_ns();
  }
}

static void set_gate(struct shared *shared, enum gate gate) {
  pthread_mutex_lock(&shared->lock);
  shared->gate = gate;
  pthread_cond_broadcast(&shared->moved);
  pthread_mutex_unlock(&shared->lock);
}

/* Waits at the gate; false: the team is not complete. */
static bool pass_gate(struct shared *shared) {
  pthread_mutex_lock(&shared->lock);
  while (shared->gate == GATE_SHUT) pthread_cond_wait(&shared->moved, &shared->lock);
  const bool open = shared->gate == GATE_OPEN;
  pthread_mutex_unlock(&shared->lock);
  return open;
}

static void *run_member(void *data) {
  struct member *m = data;
  if (!pass_gate(m->shared)) return NULL;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(m->cpu, &one);
  (void)sched_setaffinity(0, sizeof one,
                          &one); /* where binding is refused the figure is of the unbound machine */
  if (m->shared->job == JOB_TRIAD)
    run_triad(m);
  else
    run_fma(m);
  return NULL;
}

/* Shortest time of a run over all threads, in seconds; 0 on failure. */
static double best_seconds(const struct member *members, int threads, int runs) {
  double best = 0;
  for (int run = 0; run < runs; run++) {
    int64_t start = members[0].start[run], stop = members[0].stop[run];
    for (int t = 0; t < threads; t++) {
      if (members[t].failed) return 0;
      if (members[t].start[run] < start) start = members[t].start[run];
      if (members[t].stop[run] > stop) stop = members[t].stop[run];
    }
    const double seconds = (double)(stop - start) / TB_NS_PER_S;
    if (best == 0 || seconds < best) best = seconds;
  }
  return best;
}

/* The i-th CPU of a set, round and round. */
static int cpu_at(const cpu_set_t *cpus, int i) {
  const int count = CPU_COUNT(cpus);
  int skip = count ? i % count : 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, cpus) && skip-- == 0) return cpu;
  return 0;
}

/* Runs the job on all threads; members are filled. False when threads cannot be had. */
static bool run_all(struct shared *shared, struct member *members, const cpu_set_t *cpus, int threads) {
  pthread_t *ids = calloc((size_t)threads, sizeof *ids);
  if (!ids || pthread_barrier_init(&shared->barrier, NULL, (unsigned)threads)) {
    free(ids);
    return false;
  }
  int started = 0;
  for (; started < threads; started++) {
    members[started].shared = shared;
    members[started].cpu = cpu_at(cpus, started);
    if (pthread_create(&ids[started], NULL, run_member, &members[started])) break;
  }
  const bool good = started == threads;
  set_gate(shared, good ? GATE_OPEN : GATE_LEAVE);
  for (int t = 0; t < started; t++) pthread_join(ids[t], NULL);
  pthread_barrier_destroy(&shared->barrier);
  free(ids);
  return good;
}

/* What the system says of the third-level cache of a CPU: its size, and the first CPU that shares it. False:
 * nothing. */
static bool read_cache(int cpu, size_t *bytes, int *first) {
  char path[PATH_BYTES], line[LINE_BYTES], unit = 0;
  unsigned long size = 0;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index3/size", cpu);
  if (!tb_system_line(path, "", line, sizeof line) || sscanf(line, "%lu%c", &size, &unit) != 2 || unit != 'K')
    return false;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", cpu);
  if (!tb_system_line(path, "", line, sizeof line) || sscanf(line, "%d", first) != 1 || *first < 0 ||
      *first >= CPU_SETSIZE)
    return false;
  *bytes = size << 10;
  return true;
}

/* The third-level caches of the CPUs that threads are bound to, together. The C library knows one figure for
 * all of the processor: on a part of it, as a virtual machine is, many times what these CPUs have, and
 * clearing so much memory takes most of the time of a short run. */
static size_t cache_bytes(const cpu_set_t *cpus, int threads) {
  size_t sum = 0;
  cpu_set_t seen;
  CPU_ZERO(&seen);
  for (int t = 0; t < threads && t < CPU_COUNT(cpus); t++) {
    size_t bytes = 0;
    int first = 0;
    if (!read_cache(cpu_at(cpus, t), &bytes, &first)) {
      const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
      return cache > 0 ? (size_t)cache : 0;
    }
    if (!CPU_ISSET(first, &seen)) sum += bytes;
    CPU_SET(first, &seen);
  }
  return sum;
}

static size_t elements_per_thread(const cpu_set_t *cpus, int threads) {
  size_t bytes = cache_bytes(cpus, threads) * TRIAD_CACHES;
  if (bytes < TRIAD_MIN_BYTES) bytes = TRIAD_MIN_BYTES;
  const size_t elements = bytes / (3 * sizeof(float)) / (size_t)threads;
  return (elements + TRIAD_ALIGN - 1) / TRIAD_ALIGN * TRIAD_ALIGN;
}

static double measure(enum job job, const cpu_set_t *cpus, int threads) {
  if (threads < 1 || threads > THREADS_MAX || !__builtin_cpu_supports("avx2") ||
      !__builtin_cpu_supports("fma"))
    return 0;
  struct shared shared = {.job = job,
                          .elements = elements_per_thread(cpus, threads),
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .moved = PTHREAD_COND_INITIALIZER};
  struct member *members = calloc((size_t)threads, sizeof *members);
  double rate = 0;
  if (members && run_all(&shared, members, cpus, threads)) {
    const double seconds = best_seconds(members, threads, job == JOB_TRIAD ? 2 * TRIAD_RUNS : FMA_RUNS);
    const double work = job == JOB_TRIAD ? 3.0 * sizeof(float) * (double)shared.elements * threads
                                         : 2.0 * (has_avx512() ? LANES_AVX512 : LANES_AVX2) * FMA_CHAINS *
                                               (double)FMA_ROUNDS * threads;
    rate = seconds > 0 ? work / seconds : 0;
  }
  free(members);
  return rate;
}

double tb_triad_bytes_per_s(const cpu_set_t *cpus, int threads) { return measure(JOB_TRIAD, cpus, threads); }
double tb_fma_flops_per_s(const cpu_set_t *cpus, int threads) { return measure(JOB_FMA, cpus, threads); }

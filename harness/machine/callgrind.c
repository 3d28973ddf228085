/* Counting under callgrind. Invariants:
 * 1. Nothing that differs from run to run reaches a counted stretch: no names of folders, no addresses
 *    (valgrind's own layout, without the system's randomisation), no environment but a fixed one whose size
 *    is the same whatever the arguments are, no time of day and no process number (Lua makes the seed of its
 *    hashes from the one, names of temporary files have the digits of the other).
 * 2. Counting is turned on and off for all threads at once (callgrind's "collection" is a thread's own):
 *    valgrind instruments nothing outside of a stretch.
 * 3. A stage's count goes to one file of valgrind's, whose heading names the stage; names come back when a
 *    stage is entered again. */
#include "harness/machine/callgrind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#define CAN_COUNT 1
#include <valgrind/callgrind.h>
#else
#define CAN_COUNT 0
#endif

enum { FOLDER_FD = 20 };
#define FOLDER "/proc/self/fd/20"

enum {
  WORDS = 128,
  HEADING = 1024,
  ENDING = 256,
  TEXT = PATH_MAX + 64,
  STACK_TEXT = 16384 /* arguments and environment, padded */
};

#if CAN_COUNT

/* Valgrind puts these in the place of the C library's functions, in this program alone and only where it runs
 * it. They are found by their names, and nothing calls them. */
#define REPLACES __attribute__((used, retain))
REPLACES long I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, time)(long *out) {
  if (out) *out = 1;
  return 1;
}
REPLACES int I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, getpid)(void) { return 1; }

bool tb_callgrind_inside(void) { return RUNNING_ON_VALGRIND != 0; }
static void count_on(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}
static void count_off(void) { CALLGRIND_STOP_INSTRUMENTATION; }
/* What was counted since the file before goes to a file with this name in its heading. */
static void cut(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }

#else

bool tb_callgrind_inside(void) { return false; }
static void count_on(void) {}
static void count_off(void) {}
static void cut(const char *name) { (void)name; }

#endif

/* --- entering --- */

struct words {
  char *items[WORDS];
  int count;
};

static bool add(struct words *words, const char *text) {
  char *copy = words->count + 1 < WORDS ? strdup(text) : NULL;
  if (!copy) return false;
  words->items[words->count++] = copy;
  words->items[words->count] = NULL;
  return true;
}

static size_t bytes_of(const struct words *words) {
  size_t bytes = 0;
  for (int i = 0; i < words->count; i++) bytes += strlen(words->items[i]) + 1 + sizeof words->items[i];
  return bytes;
}

/* As many threads as were given, which wait without spinning, and a text that makes the whole one size. */
static bool make_environment(const struct words *arguments, struct words *out) {
  static const char *const kept[] = {"OMP_NUM_THREADS",
                                     "VALGRIND_LIB"}; /* unbound: valgrind runs one thread at a time */
  static const char *const fixed[] = {"OMP_DYNAMIC=false", "OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=0",
                                      "KMP_BLOCKTIME=0", "LC_ALL=C"};
  char text[TEXT];
  bool good = true;
  for (size_t i = 0; good && i < sizeof kept / sizeof *kept; i++) {
    const char *value = getenv(kept[i]);
    snprintf(text, sizeof text, "%s=%s", kept[i], value ? value : "");
    good = !value || add(out, text);
  }
  for (size_t i = 0; good && i < sizeof fixed / sizeof *fixed; i++) good = add(out, fixed[i]);
  const size_t used = bytes_of(arguments) + bytes_of(out) + sizeof "PADDING=" + sizeof(char *);
  if (!good || used >= STACK_TEXT) return good;
  char padding[STACK_TEXT] = "PADDING=";
  const size_t at = strlen(padding), fill = STACK_TEXT - used;
  memset(padding + at, 'x', fill);
  padding[at + fill] = '\0';
  return add(out, padding);
}

/* This program's file, which must still be the one that runs: valgrind reads its symbols. */
static const char *program_file(char path[PATH_MAX]) {
  struct stat named, own;
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (length <= 0) return "the system does not name the program's file";
  path[length] = '\0';
  const bool same = !stat(path, &named) && !stat("/proc/self/exe", &own) && named.st_ino == own.st_ino &&
                    named.st_dev == own.st_dev;
  return same ? NULL : "the program's file was replaced while it ran";
}

/* The folder gets a name of one length, whatever it is called: its descriptor's. */
static bool open_folder(const char *folder) {
  const int fd = open(folder, O_PATH | O_DIRECTORY);
  const bool good = fd >= 0 && dup2(fd, FOLDER_FD) == FOLDER_FD;
  if (fd >= 0 && fd != FOLDER_FD) close(fd);
  return good;
}

static bool starts_with(const char *text, const char *prefix) {
  return !strncmp(text, prefix, strlen(prefix));
}

/* An argument as the counted process gets it: the cache lies in the folder, too. */
static const char *argument(const char *text) {
  return starts_with(text, "callgrind=")   ? "callgrind=" FOLDER
         : starts_with(text, "cache_dir=") ? "cache_dir=" FOLDER "/cache"
                                           : text;
}

static bool make_arguments(const char *program, int argc, char *const *argv, struct words *out) {
  static const char *const options[] = {"--quiet", "--tool=callgrind", "--instr-atstart=no",
                                        "--separate-threads=no", "--fair-sched=yes"};
  bool good = add(out, "valgrind");
  for (size_t i = 0; good && i < sizeof options / sizeof *options; i++) good = add(out, options[i]);
  good = good && add(out, "--callgrind-out-file=" FOLDER "/out") && add(out, program) && add(out, "worker");
  for (int i = 0; good && i < argc; i++) good = add(out, argument(argv[i]));
  return good;
}

void tb_callgrind_enter(const char *folder, int argc, char *const *argv, char why[TB_CALLGRIND_WHY]) {
  struct words arguments = {.count = 0}, environment = {.count = 0};
  char program[PATH_MAX];
  const char *problem =
      CAN_COUNT ? program_file(program)
                : "this program was built without valgrind/callgrind.h (Debian package: valgrind)";
  if (!problem &&
      (!make_arguments(program, argc, argv, &arguments) || !make_environment(&arguments, &environment)))
    problem = "too many arguments, or out of memory";
  if (!problem && !open_folder(folder)) problem = "its folder cannot be opened";
  snprintf(why, TB_CALLGRIND_WHY, "callgrind: %s", problem ? problem : "");
  if (problem) return;
  (void)personality(ADDR_NO_RANDOMIZE); /* where the system refuses, valgrind's own layout has to do */
  execvpe("valgrind", arguments.items, environment.items);
  snprintf(why, TB_CALLGRIND_WHY,
           errno == ENOENT ? "callgrind: valgrind is not installed (Debian package: valgrind)"
                           : "callgrind: valgrind: %s",
           strerror(errno));
}

/* --- stretches --- */

static void cut_stage(const struct tb_callgrind *c) {
  cut(c->depth ? c->stages[c->depth - 1] : TB_CALLGRIND_OUTSIDE);
}

static void enter_stage(void *self, const char *stage) {
  struct tb_callgrind *c = self;
  if (c->depth == TB_CALLGRIND_DEPTH) return;
  cut_stage(c);
  c->stages[c->depth++] = stage;
}

static void leave_stage(void *self) {
  struct tb_callgrind *c = self;
  if (!c->depth) return;
  cut_stage(c);
  c->depth--;
}

void tb_callgrind_open(struct tb_callgrind *c, const char *folder) {
  *c = (struct tb_callgrind){.watch = {c, enter_stage, leave_stage}};
  snprintf(c->folder, sizeof c->folder, "%s", folder);
}

void tb_callgrind_begin(void *self) {
  struct tb_callgrind *c = self;
  c->depth = 0;
  count_on();
}

void tb_callgrind_end(void *self) {
  struct tb_callgrind *c = self;
  c->depth = 0;
  cut_stage(c);
  count_off();
}

/* --- valgrind's files --- */

/* "desc: Trigger: Client Request: NAME" stands in the heading, "totals: N" at the end. */
static bool read_part(FILE *in, char name[HEADING], double *count) {
  static const char trigger[] = "\ndesc: Trigger: Client Request: ", totals[] = "\ntotals: ";
  char heading[HEADING + 1], ending[ENDING + 1];
  heading[fread(heading, 1, HEADING, in)] = '\0';
  if (fseek(in, 0, SEEK_END)) return false;
  const long size = ftell(in);
  if (fseek(in, size > ENDING ? size - ENDING : 0, SEEK_SET)) return false;
  ending[fread(ending, 1, ENDING, in)] = '\0';
  const char *named = strstr(heading, trigger), *counted = strstr(ending, totals);
  return named && counted && sscanf(named + strlen(trigger), "%1023[^\n]", name) == 1 &&
         sscanf(counted + strlen(totals), "%lf", count) == 1;
}

static void add_count(cJSON *object, const char *name, double count) {
  cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (item)
    cJSON_SetNumberValue(item, item->valuedouble + count);
  else
    cJSON_AddNumberToObject(object, name, count);
}

cJSON *tb_callgrind_take(struct tb_callgrind *c) {
  cJSON *counts = cJSON_CreateObject(), *stages = cJSON_CreateObject();
  double total = 0;
  bool any = false;
  for (;; any = true) {
    char path[TEXT], name[HEADING];
    double count;
    snprintf(path, sizeof path, "%s/out.%ld", c->folder, c->part + 1);
    FILE *in = fopen(path, "re");
    if (!in) break;
    const bool good = read_part(in, name, &count);
    fclose(in);
    unlink(path);
    c->part++;
    if (!good) continue;
    total += count;
    add_count(stages, name, count);
  }
  cJSON_AddNumberToObject(counts, "total", total);
  cJSON_AddItemToObject(counts, "stages", stages);
  if (any) return counts;
  cJSON_Delete(counts);
  return NULL;
}

/* The on-disk cache: whole entries only, damage is a miss, the bound holds, many processes may write at
 * once. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cache/cache.h"
#include "cache/key.h"

enum { N_WRITERS = 4, N_ROUNDS = 40, PATH = 256 };

struct fixture {
  char directory[PATH];
  struct tc_cache *cache;
};

static int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  strcpy(f->directory, "/tmp/tbench-test-XXXXXX");
  if (!mkdtemp(f->directory)) return -1;
  strcat(f->directory, "/a/b");
  f->cache = tc_cache_open(tc_alloc_system(), f->directory, 1);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  tc_cache_close(f->cache);
  char command[PATH + 16];
  f->directory[strlen(f->directory) - 4] = '\0';
  snprintf(command, sizeof command, "rm -rf '%s'", f->directory);
  const int failed = system(command);
  free(f);
  return failed;
}

static struct tc_cache_key key(int n) {
  struct tc_cache_key k = {.part = {(uint64_t)n, 2, 3, 4, 5, 6}};
  memset(k.digest, n, sizeof k.digest);
  return k;
}

static void entry_path(const struct fixture *f, int n, char path[PATH * 2]) {
  const struct tc_cache_key k = key(n);
  char hex[TC_SHA256_HEX];
  tc_sha256_hex(k.digest, hex);
  snprintf(path, PATH * 2, "%s/%s.tbc", f->directory, hex);
}

static void put(struct fixture *f, int n, const char *text) {
  const struct tc_cache_key k = key(n);
  assert_int_equal(tc_cache_disk_put(f->cache, &k, text, strlen(text), NULL), TC_OK);
}

static void expect_entry(struct fixture *f, int n, const char *text) {
  const struct tc_cache_key k = key(n);
  unsigned char *bytes;
  size_t size;
  assert_int_equal(tc_cache_disk_get(f->cache, &k, &bytes, &size, NULL), TC_OK);
  assert_int_equal(size, strlen(text));
  assert_memory_equal(bytes, text, size);
  free(bytes);
}

static tc_status get_status(struct fixture *f, int n) {
  const struct tc_cache_key k = key(n);
  unsigned char *bytes = NULL;
  size_t size;
  const tc_status status = tc_cache_disk_get(f->cache, &k, &bytes, &size, NULL);
  if (!status) free(bytes);
  return status;
}

static void test_put_get(void **state) {
  struct fixture *f = *state;
  assert_int_equal(get_status(f, 1), TC_IO);
  put(f, 1, "hello");
  put(f, 2, "");
  expect_entry(f, 1, "hello");
  expect_entry(f, 2, "");
  put(f, 1, "other");
  expect_entry(f, 1, "other");
  struct tc_cache_stat stat;
  assert_int_equal(tc_cache_stat(f->cache, &stat, NULL), TC_OK);
  assert_int_equal(stat.entries, 2);
  struct tc_strbuf why;
  tc_strbuf_init(&why, tc_alloc_system());
  struct tc_cache_key near = key(1);
  near.part[TC_KEY_TARGET] = 77;
  tc_cache_explain_miss(f->cache, &near, &why);
  assert_non_null(strstr(tc_strbuf_text(&why), "target"));
  assert_null(strstr(why.data, "shapes"));
  tc_strbuf_free(&why);
}

/* What searches chose is counted apart from artifacts, by whatever looks at all entries, and is no near entry
 * of one. */
static void test_choices(void **state) {
  struct fixture *f = *state;
  enum { CHOICES = 3 };
  struct tc_cache_stat stat;
  struct tc_strbuf why;
  char name[TC_CACHE_CHOICE], path[PATH + 8];
  for (int n = 0; n < CHOICES; n++) {
    struct tc_cache_key k = key(40 + n);
    tc_cache_key_of_choice(&k, 2, "a library");
    tc_cache_choice_put(f->cache, &k, "tile_8x1", true);
  }
  assert_int_equal(tc_cache_flush(f->cache, NULL), TC_OK);
  tc_strbuf_init(&why, tc_alloc_system());
  const struct tc_cache_key wanted = key(40);
  tc_cache_explain_miss(f->cache, &wanted, &why);
  assert_string_equal(tc_strbuf_text(&why), "the cache is empty");
  tc_strbuf_free(&why);
  put(f, 1, "an artifact");
  assert_int_equal(tc_cache_stat(f->cache, &stat, NULL), TC_OK);
  assert_int_equal(stat.entries, CHOICES + 1);
  assert_int_equal(stat.choices, CHOICES);
  assert_int_equal(tc_cache_verify(f->cache, true, &stat, NULL), TC_OK);
  assert_int_equal(stat.bad, 0);
  assert_int_equal(stat.choices, CHOICES);
  snprintf(path, sizeof path, "%s.export", f->directory);
  assert_int_equal(tc_cache_export(f->cache, path, &stat, NULL), TC_OK);
  assert_int_equal(stat.choices, CHOICES);
  assert_int_equal(tc_cache_clear(f->cache, &stat, NULL), TC_OK);
  assert_int_equal(stat.entries, CHOICES + 1);
  assert_int_equal(stat.choices, CHOICES);
  assert_int_equal(tc_cache_stat(f->cache, &stat, NULL), TC_OK);
  assert_int_equal(stat.entries, 0);
  assert_int_equal(tc_cache_import(f->cache, path, &stat, NULL), TC_OK);
  assert_int_equal(stat.entries, CHOICES + 1);
  assert_int_equal(stat.choices, CHOICES);
  tc_cache_memory_clear(f->cache);
  struct tc_cache_key again = key(41);
  tc_cache_key_of_choice(&again, 2, "a library");
  assert_true(tc_cache_choice_get(f->cache, &again, true, name));
  assert_string_equal(name, "tile_8x1");
}

/* A choice holds for as many threads, and beside the same library. */
static void test_choice_keys(void **state) {
  struct tc_cache_key keys[] = {key(7), key(7), key(7), key(8)};
  (void)state;
  tc_cache_key_of_choice(&keys[0], 2, "one");
  tc_cache_key_of_choice(&keys[1], 2, "other");
  tc_cache_key_of_choice(&keys[2], 3, "one");
  tc_cache_key_of_choice(&keys[3], 2, "one");
  for (size_t i = 1; i < sizeof keys / sizeof *keys; i++)
    assert_memory_not_equal(keys[0].digest, keys[i].digest, TC_SHA256_BYTES);
}

/* Each byte of the file in turn is changed, in three ways; none may be believed. */
static void test_damage(void **state) {
  struct fixture *f = *state;
  static const char changes[] = {0x01, 0x40, (char)0xFF};
  char path[PATH * 2], bytes[512];
  struct tc_cache_stat stat;
  put(f, 3, "a payload");
  entry_path(f, 3, path);
  FILE *in = fopen(path, "rb");
  const size_t size = fread(bytes, 1, sizeof bytes, in);
  fclose(in);
  for (size_t i = 0; i < size * sizeof changes; i++) {
    const size_t at = i / sizeof changes;
    const char change = changes[i % sizeof changes];
    FILE *out = fopen(path, "wb");
    bytes[at] ^= change;
    fwrite(bytes, 1, size, out);
    bytes[at] ^= change;
    fclose(out);
    if (get_status(f, 3) != TC_CORRUPT) fail_msg("byte %zu may be changed by 0x%02x", at, change & 0xFF);
    assert_int_equal(tc_cache_verify(f->cache, false, &stat, NULL), TC_OK);
    assert_int_equal(stat.bad, 1);
  }
  assert_int_equal(truncate(path, (off_t)size / 2), 0);
  assert_int_equal(get_status(f, 3), TC_CORRUPT);
  assert_int_equal(tc_cache_verify(f->cache, true, &stat, NULL), TC_OK);
  assert_int_equal(stat.bad, 1);
  assert_int_equal(get_status(f, 3), TC_IO);
}

/* What lies under an entry's name need not be a file. */
static void test_pipe(void **state) {
  struct fixture *f = *state;
  char path[PATH * 2];
  put(f, 3, "a payload");
  entry_path(f, 3, path);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(get_status(f, 3), TC_CORRUPT); /* and does not wait for a writer */
  put(f, 3, "a payload");
  expect_entry(f, 3, "a payload");
}

/* An entry that is there and cannot be opened is bad, not absent; a new one takes its place. */
static void test_unreadable(void **state) {
  struct fixture *f = *state;
  char path[PATH * 2];
  struct tc_error err = {0};
  const struct tc_cache_key k = key(3);
  unsigned char *bytes;
  size_t size;
  entry_path(f, 3, path);
  assert_int_equal(get_status(f, 3), TC_IO);
  put(f, 4, "makes the folder");
  assert_int_equal(symlink(path, path), 0); /* nobody can open it, not even root */
  assert_int_equal(tc_cache_disk_get(f->cache, &k, &bytes, &size, &err), TC_CORRUPT);
  assert_non_null(strstr(err.message, path));
  put(f, 3, "a payload");
  expect_entry(f, 3, "a payload");
}

static void make_file(const char *path, time_t age) {
  const struct timespec then = {.tv_sec = time(NULL) - age}, times[] = {then, then};
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  fputs("half of an ent", file);
  fclose(file);
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* What a writer left that was killed goes in time; what another may be writing just now stays, and so does
 * what is not ours. */
static void test_stale(void **state) {
  enum { DAY = 24 * 3600 };
  struct fixture *f = *state;
  char path[PATH * 2], old[PATH * 3], fresh[PATH * 3], other[PATH * 3];
  struct tc_cache_stat stat;
  put(f, 3, "a payload");
  entry_path(f, 3, path);
  snprintf(old, sizeof old, "%s.4711.0.tmp", path);
  snprintf(fresh, sizeof fresh, "%s.4711.1.tmp", path);
  snprintf(other, sizeof other, "%s/notes.tmp", f->directory);
  make_file(old, DAY);
  make_file(fresh, 1);
  make_file(other, DAY);
  assert_int_equal(tc_cache_stat(f->cache, &stat, NULL), TC_OK);
  assert_int_equal(stat.entries, 1);
  assert_int_equal(access(old, F_OK), -1);
  assert_int_equal(access(fresh, F_OK), 0);
  assert_int_equal(access(other, F_OK), 0);
  make_file(old, DAY);
  put(f, 4, "a put looks at the folder too");
  assert_int_equal(access(old, F_OK), -1);
  assert_int_equal(unlink(fresh), 0);
  assert_int_equal(unlink(other), 0);
}

/* Until a file that is written now is newer than entry `n`: some systems count the times of files in steps of
 * 10 ms. */
static void wait_for_newer(const struct fixture *f, int n) {
  char path[PATH * 2];
  struct stat entry, now;
  FILE *file = tmpfile();
  entry_path(f, n, path);
  assert_true(file && !stat(path, &entry));
  do {
    usleep(1000);
    assert_true(!futimens(fileno(file), NULL) && !fstat(fileno(file), &now));
  } while (now.st_mtim.tv_sec == entry.st_mtim.tv_sec && now.st_mtim.tv_nsec == entry.st_mtim.tv_nsec);
  fclose(file);
}

static void test_bound(void **state) {
  struct fixture *f = *state;
  static char big[300 << 10];
  memset(big, 'x', sizeof big - 1);
  for (int n = 1; n <= 6; n++) {
    put(f, n, big);
    wait_for_newer(f, n);
    if (n > 1 && n < 6) expect_entry(f, 1, big); /* used: stays */
  }
  assert_int_equal(get_status(f, 2), TC_IO);
  expect_entry(f, 6, big);
  struct tc_cache_stat stat;
  tc_cache_stat(f->cache, &stat, NULL);
  assert_true(stat.bytes <= 1 << 20);
}

static void writer(const struct fixture *f, int seed) {
  struct tc_cache *cache = tc_cache_open(tc_alloc_system(), f->directory, 1);
  const struct tc_cache_key k = key(9);
  for (int i = 0; i < N_ROUNDS; i++) {
    unsigned char *bytes;
    size_t size;
    if (tc_cache_disk_put(cache, &k, "the same bytes", 14, NULL)) _exit(1);
    if (tc_cache_disk_get(cache, &k, &bytes, &size, NULL) || size != 14) _exit(2);
    free(bytes);
  }
  tc_cache_close(cache);
  _exit(seed * 0);
}

static void test_many_processes(void **state) {
  struct fixture *f = *state;
  for (int i = 0; i < N_WRITERS; i++)
    if (!fork()) writer(f, i);
  for (int i = 0; i < N_WRITERS; i++) {
    int status;
    wait(&status);
    assert_int_equal(status, 0);
  }
  expect_entry(f, 9, "the same bytes");
}

static void test_export_import(void **state) {
  struct fixture *f = *state;
  char path[PATH * 2];
  struct tc_cache_stat stat;
  put(f, 1, "one");
  put(f, 2, "two");
  snprintf(path, sizeof path, "%s/export", f->directory);
  assert_int_equal(tc_cache_export(f->cache, path, &stat, NULL), TC_OK);
  assert_int_equal(stat.entries, 2);
  assert_int_equal(tc_cache_clear(f->cache, &stat, NULL), TC_OK);
  assert_int_equal(get_status(f, 1), TC_IO);
  assert_int_equal(tc_cache_import(f->cache, path, &stat, NULL), TC_OK);
  assert_int_equal(stat.entries, 2);
  expect_entry(f, 1, "one");
  expect_entry(f, 2, "two");
  assert_int_equal(truncate(path, 100), 0);
  assert_int_equal(tc_cache_import(f->cache, path, &stat, NULL), TC_CORRUPT);
  assert_int_equal(stat.entries, 0);
  assert_int_equal(truncate(path, 0), 0); /* of an empty cache */
  assert_int_equal(tc_cache_import(f->cache, path, &stat, NULL), TC_OK);
  assert_int_equal(tc_cache_import(f->cache, f->directory, &stat, NULL), TC_ARG);
  assert_int_equal(tc_cache_import(f->cache, "/no/such", &stat, NULL), TC_ARG);
  assert_int_equal(tc_cache_export(f->cache, f->directory, &stat, NULL), TC_ARG);
}

/* In a process of its own: a user whom the system does not know, without HOME, has no disk level, and nothing
 * else suffers. */
static void be_nobody(void) {
  enum { UNKNOWN_USER = 54321 };
  unsigned char *bytes;
  size_t size;
  struct tc_error err = {0};
  struct tc_cache_stat stat;
  const struct tc_cache_key k = key(1);
  if (setuid(UNKNOWN_USER) || unsetenv("HOME") || unsetenv("XDG_CACHE_HOME")) _exit(1);
  struct tc_cache *cache = tc_cache_open(tc_alloc_system(), "", 1);
  if (*tc_cache_directory(cache)) _exit(2);
  if (tc_cache_disk_get(cache, &k, &bytes, &size, &err) != TC_IO ||
      tc_cache_disk_put(cache, &k, "x", 1, &err) != TC_IO)
    _exit(3);
  if (!strstr(err.message, "no home folder") || tc_cache_stat(cache, &stat, &err) != TC_IO) _exit(4);
  tc_cache_close(cache);
  _exit(0);
}

static void test_no_home(void **state) {
  (void)state;
  int status;
  if (getuid()) skip(); /* only root may become somebody else */
  if (!fork()) be_nobody();
  wait(&status);
  assert_int_equal(status, 0);
}

static void test_deferred(void **state) {
  struct fixture *f = *state;
  const struct tc_cache_key k = key(5);
  unsigned char *bytes = tc_new_bytes(tc_alloc_system(), 5);
  memcpy(bytes, "later", 5);
  assert_true(tc_cache_disk_defer(f->cache, &k, bytes, 5));
  assert_int_equal(get_status(f, 5), TC_IO);
  assert_int_equal(tc_cache_flush(f->cache, NULL), TC_OK);
  expect_entry(f, 5, "later");
}

static void test_unusable_folder(void **state) {
  (void)state;
  struct tc_cache *cache = tc_cache_open(tc_alloc_system(), "/proc/no/such", 1);
  const struct tc_cache_key k = key(1);
  struct tc_error err = {0};
  assert_int_equal(tc_cache_disk_put(cache, &k, "x", 1, &err), TC_IO);
  assert_non_null(strstr(err.message, "cache_dir"));
  tc_cache_close(cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_put_get, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_choices, set_up, tear_down),
      cmocka_unit_test(test_choice_keys),
      cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bound, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_many_processes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_export_import, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_deferred, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_stale, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_pipe, set_up, tear_down),
      cmocka_unit_test(test_no_home),
      cmocka_unit_test(test_unusable_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The on-disk cache from Lua: a damaged entry is a counted miss, whichever byte it is, and the results stay
 * right. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/compiler/lua/snippet.h"

enum {
  PATH = 512,
  HEAD_BYTES = 128,
  STRIDE = 97 /* of the bytes behind the head: each miss compiles anew */
};

struct fixture {
  lua_State *L;
  char folder[64], entry[PATH];
  unsigned char *bytes;
  size_t size;
};

static int open_fixture(void **state) {
  static struct fixture f;
  void *L;
  f = (struct fixture){.folder = "/tmp/tbench-lua-cache.XXXXXX"};
  *state = &f;
  if (!mkdtemp(f.folder) || setenv("XDG_CACHE_HOME", f.folder, 1) || open_state(&L)) return 1;
  f.L = L;
  return 0;
}

static int close_fixture(void **state) {
  struct fixture *f = *state;
  char command[PATH];
  free(f->bytes);
  lua_close(f->L);
  snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
  return system(command);
}

/* A fresh object is called, with nothing in memory; the counters of misses, disk hits and bad entries must
 * move by these. */
static void call(struct fixture *f, int misses, int hits, int bad) {
  char text[PATH];
  snprintf(text, sizeof text,
           "tb.clear_memory_cache()\n"
           "local before = tb.counters()\n"
           "local y = tb.compile(function(x) return (x * 3 + 1):relu() end)(tb.tensor({-1, 2}))\n"
           "local after = tb.counters()\n"
           "assert(y[1]:item() == 0 and y[2]:item() == 7, 'wrong results')\n"
           "local moved = ''\n"
           "for _, name in ipairs { 'cache_misses', 'disk_hits', 'disk_bad_entries' } do moved = moved .. "
           "(after[name] - before[name]) .. ' ' end\n"
           "assert(moved == '%d %d %d ', moved)",
           misses, hits, bad);
  run(f->L, text);
}

/* The one entry that there is now. */
static void read_entry(struct fixture *f) {
  char folder[PATH / 2];
  snprintf(folder, sizeof folder, "%s/tbench", f->folder);
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent *d; (d = readdir(directory));)
    if (strstr(d->d_name, ".tbc")) snprintf(f->entry, sizeof f->entry, "%s/%.200s", folder, d->d_name);
  closedir(directory);
  FILE *in = fopen(f->entry, "rb");
  assert_non_null(in);
  fseek(in, 0, SEEK_END);
  f->size = (size_t)ftell(in);
  rewind(in);
  f->bytes = malloc(f->size);
  assert_int_equal(fread(f->bytes, 1, f->size, in), f->size);
  fclose(in);
}

static void test_each_byte(void **state) {
  struct fixture *f = *state;
  call(f, 1, 0, 0);
  call(f, 0, 1, 0);
  read_entry(f);
  for (size_t i = 0; i < f->size; i += i < HEAD_BYTES ? 1 : STRIDE) {
    FILE *out = fopen(f->entry, "wb");
    f->bytes[i] ^= 0x20;
    fwrite(f->bytes, 1, f->size, out);
    f->bytes[i] ^= 0x20;
    fclose(out);
    call(f, 1, 0, 1); /* and writes it anew */
  }
  call(f, 0, 1, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_each_byte, open_fixture, close_fixture)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

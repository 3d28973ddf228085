/* URLs of endpoints: what is taken, what is refused, and that libcurl reads them in the same way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CURL_DISABLE_TYPECHECK
#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>

#include "harness/base/args.h"
#include "harness/push/push_url.h"

static struct tc_arena *arena;

static int open_arena(void **state) {
  (void)state;
  return !(arena = tc_arena_new(tc_alloc_system()));
}

static int close_arena(void **state) {
  (void)state;
  tc_arena_free(arena);
  return 0;
}

static void test_urls(void **state) {
  (void)state;
  static const struct {
    const char *text, *origin, *path, *query;
    bool secure, loopback;
  } rows[] = {
      {"http://127.0.0.1:8080", "http://127.0.0.1:8080", "", "", false, true},
      {"HTTPS://Dash.Example/", "https://dash.example:443", "", "", true, false},
      {"https://dash.example:443/a/b//?x=1&y=2", "https://dash.example:443", "/a/b", "x=1&y=2", true, false},
      {"http://localhost/?q", "http://localhost:80", "", "q", false, true},
      {"http://[::1]:9/p", "http://[::1]:9", "/p", "", false, true},
      {"http://127.evil.example/", "http://127.evil.example:80", "", "", false, false},
      {"http://localhost.evil.example", "http://localhost.evil.example:80", "", "", false, false},
      {"http://10.0.0.1", "http://10.0.0.1:80", "", "", false, false},
      {"http://127.1/", "http://127.1:80", "", "", false, true},
      {"http://127.0.0.1.5/", "http://127.0.0.1.5:80", "", "", false, false},
      {"http://127.4294967295/", "http://127.4294967295:80", "", "", false, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_url url;
    struct tc_error err = {0};
    assert_int_equal(tb_url_parse(arena, rows[i].text, &url, &err), TC_OK);
    assert_string_equal(url.origin, rows[i].origin);
    assert_string_equal(url.path, rows[i].path);
    assert_string_equal(url.query, rows[i].query);
    assert_int_equal(url.secure, rows[i].secure);
    assert_int_equal(url.loopback, rows[i].loopback);
  }
}

static void test_no_urls(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "host",
                                      "ftp://host",
                                      "http:/host",
                                      "http://",
                                      "http:///path",
                                      "http://host:",
                                      "http://host:0",
                                      "http://host:65536",
                                      "http://host:1x",
                                      "http://ho st/",
                                      "http://host/\n",
                                      "http://a\\b",
                                      "http://host/a\\b",
                                      "http://host#f",
                                      "http://[::1",
                                      "http://[]/",
                                      "http://[x]/",
                                      "http://h\xc3\xb6st/",
                                      "http://host/%zz|",
                                      "http://a:b:1/",
                                      "http://host:1:2"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct tb_url url;
    struct tc_error err = {0};
    if (tb_url_parse(arena, texts[i], &url, &err) != TC_ARG) fail_msg("'%s' is taken", texts[i]);
  }
  static const char *const secret[] = {"http://me:hush@host/", "https://hush@host", "http://host:hush@other/",
                                       "http://a\\@hush@b/"};
  for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) {
    struct tb_url url;
    struct tc_error err = {0};
    assert_int_equal(tb_url_parse(arena, secret[i], &url, &err), TC_ARG);
    assert_null(strstr(err.message, "hush"));
  }
}

/* The functions of libcurl that read a URL; it is opened as push_http.c opens it. */
struct reader {
  __typeof__(curl_url) *url;
  __typeof__(curl_url_set) *set;
  __typeof__(curl_url_get) *get;
  __typeof__(curl_url_cleanup) *cleanup;
  __typeof__(curl_free) *free;
};

static void check_part(const struct reader *curl, CURLU *read, CURLUPart part, const char *text,
                       const char *expected) {
  char *found = NULL;
  const CURLUcode code = curl->get(read, part, &found, CURLU_DEFAULT_PORT);
  if (code && code != CURLUE_NO_QUERY) fail_msg("%s: part %d: %d", text, (int)part, (int)code);
  if (strcmp(found ? found : "", expected))
    fail_msg("%s: part %d is '%s' for libcurl, '%s' here", text, (int)part, found ? found : "", expected);
  curl->free(found);
}

/* libcurl writes addresses in full, and we leave them as they are. */
static bool is_address(const char *host) {
  struct in_addr address;
  return inet_aton(host, &address);
}

/* What is taken libcurl reads in the same way: scheme, host, port, path, query. */
static bool check_reading(const struct reader *curl, const char *text) {
  struct tb_url url;
  struct tc_error err = {0};
  if (tb_url_parse(arena, text, &url, &err)) return false;
  CURLU *read = curl->url();
  assert_non_null(read);
  const CURLUcode code = curl->set(read, CURLUPART_URL, text, CURLU_PATH_AS_IS | CURLU_DISALLOW_USER);
  if (code) { /* stricter than we are: it will say so when it is asked to send */
    curl->cleanup(read);
    return true;
  }
  const char *host = strstr(url.origin, "//") + 2, *port = strrchr(host, ':') + 1;
  char *name = NULL, *path = NULL;
  check_part(curl, read, CURLUPART_SCHEME, text, url.secure ? "https" : "http");
  check_part(curl, read, CURLUPART_PORT, text, port);
  check_part(curl, read, CURLUPART_QUERY, text, url.query);
  assert_false(curl->get(read, CURLUPART_HOST, &name, 0) || curl->get(read, CURLUPART_PATH, &path, 0));
  const char *ours = tb_format(arena, "%.*s", (int)(port - 1 - host), host);
  if (is_address(ours)) {
    struct in_addr a, b;
    if (!inet_aton(ours, &a) || !inet_aton(name, &b) || a.s_addr != b.s_addr) fail_msg("%s: %s", text, name);
  } else if (*ours != '[' && strcasecmp(name, ours)) {
    fail_msg("%s: the host is '%s' for libcurl, '%s' here", text, name, ours);
  }
  size_t length = strlen(path);
  while (length && path[length - 1] == '/') length--; /* we leave out '/' at the end */
  if (length != strlen(url.path) || strncmp(path, url.path, length))
    fail_msg("%s: the path is '%s' for libcurl, '%s' here", text, path, url.path);
  curl->free(name);
  curl->free(path);
  curl->cleanup(read);
  return true;
}

static void test_read_as_libcurl_does(void **state) {
  static const char *const parts[] = {
      "http://", "HTTPS://", "host", "H.Example", "127.1", "127.0.0.1.5", "0x7f.1",  "[::1]", "user", ".",
      ":",       "80",       "443",  "0080",      "/",     "//",          "/a/../b", "a",     "%2e",  "%",
      "?",       "q=1",      "&",    "@",         "\\",    "#",           ";",       "-",     "_",    "*"};
  enum { TRIES = 200000, MOST = 7, N = sizeof parts / sizeof *parts };
  (void)state;
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) skip();
  const struct reader curl = {(__typeof__(curl_url) *)dlsym(library, "curl_url"),
                              (__typeof__(curl_url_set) *)dlsym(library, "curl_url_set"),
                              (__typeof__(curl_url_get) *)dlsym(library, "curl_url_get"),
                              (__typeof__(curl_url_cleanup) *)dlsym(library, "curl_url_cleanup"),
                              (__typeof__(curl_free) *)dlsym(library, "curl_free")};
  uint64_t random = 1;
  int taken = 0;
  for (int i = 0; i < TRIES; i++) {
    char text[128] = "";
    for (int j = 0; j < MOST; j++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const uint64_t drawn = random >> 33;
      if (j > 2 && drawn % 5 == 0) break;
      strcat(text, parts[j ? drawn % N : drawn % 2]);
    }
    taken += check_reading(&curl, text);
  }
  assert_true(taken > TRIES / 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_urls), cmocka_unit_test(test_no_urls),
                                     cmocka_unit_test(test_read_as_libcurl_does)};
  return cmocka_run_group_tests(tests, open_arena, close_arena);
}

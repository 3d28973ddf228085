/* The parts of push: URLs, targets of formats, what answers mean, entries as bytes, the spool on a real disk, tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/folder.h"
#include "harness/push.h"
#include "harness/push_token.h"
#include "reporters/reporter.h"

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

/* --- URLs --- */

static void test_urls(void **state) {
  (void)state;
  static const struct { const char *text, *origin, *path, *query; bool secure, loopback; } rows[] = {
      {"http://127.0.0.1:8080", "http://127.0.0.1:8080", "", "", false, true},
      {"HTTPS://Dash.Example/", "https://dash.example:443", "", "", true, false},
      {"https://dash.example:443/a/b//?x=1&y=2", "https://dash.example:443", "/a/b", "x=1&y=2", true, false},
      {"http://localhost/?q", "http://localhost:80", "", "q", false, true},
      {"http://[::1]:9/p", "http://[::1]:9", "/p", "", false, true},
      {"http://127.evil.example/", "http://127.evil.example:80", "", "", false, false},
      {"http://localhost.evil.example", "http://localhost.evil.example:80", "", "", false, false},
      {"http://10.0.0.1", "http://10.0.0.1:80", "", "", false, false},
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
  static const char *const texts[] = {"", "host", "ftp://host", "http:/host", "http://", "http:///path", "http://host:", "http://host:0", "http://host:65536", "http://host:1x",
                                      "http://ho st/", "http://host/\n", "http://a\\b", "http://host/a\\b", "http://host#f", "http://[::1", "http://[]/", "http://[x]/", "http://h\xc3\xb6st/",
                                      "http://host/%zz|", "http://a:b:1/", "http://host:1:2"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct tb_url url;
    struct tc_error err = {0};
    if (tb_url_parse(arena, texts[i], &url, &err) != TC_ARG) fail_msg("'%s' is taken", texts[i]);
  }
  static const char *const secret[] = {"http://me:hush@host/", "https://hush@host", "http://host:hush@other/", "http://a\\@hush@b/"};
  for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) {
    struct tb_url url;
    struct tc_error err = {0};
    assert_int_equal(tb_url_parse(arena, secret[i], &url, &err), TC_ARG);
    assert_null(strstr(err.message, "hush"));
  }
}

static void test_targets(void **state) {
  (void)state;
  static const struct { const char *format, *to, *target; } rows[] = {
      {"tbench", "http://h", "http://h/api/v1/results"},
      {"tbench", "http://h/behind/proxy/", "http://h/behind/proxy/api/v1/results"},
      {"tbench", "http://h/api/v1/results", "http://h/api/v1/results"},
      {"victoriametrics", "http://h:8428?extra_label=a=b", "http://h:8428/api/v1/import?extra_label=a=b"},
      {"influx", "http://h?org=o&bucket=b", "http://h/api/v2/write?org=o&bucket=b&precision=ns"},
      {"influx", "http://h/write?db=d&precision=ns", "http://h/write?db=d&precision=ns"},
      {"influx", "http://h?org=o", NULL},
      {"prometheus", "http://h/metrics/job/mine/instance/a", "http://h/metrics/job/mine/instance/a"},
      {"bencher", "https://api.bencher.dev?project=p", "https://api.bencher.dev/v0/run?project=p"},
      {"bencher", "https://h/api/v0/run?project=p", "https://h/api/v0/run?project=p"},
      {"bencher", "https://api.bencher.dev", NULL},
      {"lnt", "http://h", "http://h/api/db_default/v4/nts/runs?merge=replace"},
      {"lnt", "http://h/api/db_mine/v4/nts/runs?merge=append", "http://h/api/db_mine/v4/nts/runs?merge=append"},
      {"lnt", "http://h?select_machine=update", "http://h/api/db_default/v4/nts/runs?select_machine=update&merge=replace"},
      {"conbench", "http://h", "http://h/api/benchmark-results/"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_url url;
    struct tc_error err = {0};
    const char *target = NULL;
    assert_int_equal(tb_url_parse(arena, rows[i].to, &url, &err), TC_OK);
    const tc_status status = tb_push_target(arena, tb_push_format_find(rows[i].format), &url, &target, &err);
    assert_int_equal(status, rows[i].target ? TC_OK : TC_ARG);
    if (rows[i].target) assert_string_equal(target, rows[i].target);
  }
}

static void test_each_format_has_a_reporter(void **state) {
  (void)state;
  assert_true(tb_push_format_count() > 0);
  for (int i = 0; i < tb_push_format_count(); i++) assert_non_null(tb_reporter_find(tb_push_format_at(i)->reporter));
  assert_non_null(tb_push_file_only("pytorch"));
  assert_null(tb_push_file_only("tbench"));
  assert_null(tb_push_format_find("console"));
}

/* --- answers --- */

static struct tb_push_verdict judge(const char *format, int status, const char *type, const char *text, bool compressed) {
  struct tb_push_answer answer = {.reach = TB_PUSH_ANSWERED, .status = status};
  struct tb_push_verdict verdict;
  snprintf(answer.type, sizeof answer.type, "%s", type);
  snprintf(answer.text, sizeof answer.text, "%s", text);
  tb_push_judge(tb_push_format_find(format), &answer, compressed, "hush-hush", &verdict);
  return verdict;
}

static void test_answers(void **state) {
  (void)state;
  static const struct { const char *format; int status; const char *type; enum tb_push_verdict_kind kind; } rows[] = {
      {"tbench", 201, "application/json", TB_JUDGED_STORED}, {"tbench", 200, "application/json", TB_JUDGED_KNOWN}, {"tbench", 200, "text/html; charset=x", TB_JUDGED_RETRY},
      {"tbench", 201, "Text/HTML", TB_JUDGED_RETRY},         {"tbench", 204, "", TB_JUDGED_RETRY},                 {"tbench", 302, "", TB_JUDGED_HOLD},
      {"tbench", 400, "", TB_JUDGED_REFUSED},                {"tbench", 401, "", TB_JUDGED_DENIED},                {"tbench", 403, "", TB_JUDGED_DENIED},
      {"tbench", 422, "text/html", TB_JUDGED_REFUSED},       {"tbench", 408, "", TB_JUDGED_RETRY},                 {"tbench", 413, "", TB_JUDGED_REFUSED},
      {"tbench", 425, "", TB_JUDGED_RETRY},                  {"tbench", 429, "", TB_JUDGED_RETRY},                 {"tbench", 500, "", TB_JUDGED_RETRY},
      {"tbench", 501, "", TB_JUDGED_REFUSED},                {"tbench", 503, "text/html", TB_JUDGED_RETRY},        {"tbench", 505, "", TB_JUDGED_REFUSED},
      {"tbench", 599, "", TB_JUDGED_RETRY},                  {"tbench", 20, "", TB_JUDGED_HOLD},                   {"influx", 204, "", TB_JUDGED_STORED},
      {"influx", 201, "", TB_JUDGED_RETRY},                  {"prometheus", 202, "", TB_JUDGED_STORED},            {"lnt", 301, "application/json", TB_JUDGED_STORED},
      {"tbench", 404, "text/html", TB_JUDGED_HOLD},          {"tbench", 405, "", TB_JUDGED_HOLD},                   {"tbench", 407, "", TB_JUDGED_HOLD}, /* the URL, a proxy */
      {"influx", 404, "", TB_JUDGED_HOLD},                   {"tbench", 410, "", TB_JUDGED_HOLD},                   {"tbench", 421, "", TB_JUDGED_HOLD},
      {"lnt", 302, "", TB_JUDGED_HOLD},                      {"bencher", 201, "application/json", TB_JUDGED_STORED}, {"conbench", 201, "application/json", TB_JUDGED_STORED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (judge(rows[i].format, rows[i].status, rows[i].type, "", false).kind != rows[i].kind) fail_msg("%s %d %s", rows[i].format, rows[i].status, rows[i].type);
  assert_int_equal(judge("tbench", 415, "", "", true).kind, TB_JUDGED_PLAIN);
  assert_int_equal(judge("tbench", 415, "", "", false).kind, TB_JUDGED_REFUSED);
}

static void test_reasons(void **state) {
  (void)state;
  static const struct { const char *text, *why; } rows[] = {
      {"{\"error\": \"cases: missing\"}", "it answered 400: cases: missing"},
      {"{\"message\": \"no bucket\", \"code\": 1}", "it answered 400: no bucket"},
      {"{\"msg\": \"no auth\"}", "it answered 400: no auth"},
      {"{\"description\": {\"run_id\": [\"missing\"]}}", "it answered 400: {\"run_id\":[\"missing\"]}"},
      {"  plain\ntext \x1b[31m\xff", "it answered 400: plain text  [31m?"},
      {"", "it answered 400"},
      {"{\"error\": \"token hush-hush is bad, hush-hush\"}", "it answered 400: token ********* is bad, *********"},
      {"{\"error\": \"\\u0068ush-hush\"}", "it answered 400: *********"},
      {"cut off: hush-h", "it answered 400: cut off: ******"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct tb_push_verdict verdict = judge("tbench", 400, "", rows[i].text, false);
    assert_string_equal(verdict.why, rows[i].why);
  }
  /* However it lies at the end of what is kept, no piece of the token is told. */
  for (int pad = 350; pad < 520; pad++) {
    char text[1024];
    snprintf(text, sizeof text, "%0*d hush-hush", pad, 0);
    assert_null(strstr(judge("tbench", 400, "", text, false).why, "hush"));
  }
}

/* --- entries --- */

static void test_entries(void **state) {
  (void)state;
  static const char body[] = "a body\nwith lines and \0 a zero";
  struct tb_spool_entry entry = {.url = "http://h/p", .format = "tbench", .source = "two\nlines", .body = body, .bytes = sizeof body}, back;
  size_t bytes;
  struct tc_error err = {0};
  tc_sha256_of(body, sizeof body, entry.key);
  const char *data = tb_spool_encode(arena, &entry, &bytes);
  char *copy = tc_arena_bytes(arena, bytes + 1);
  memcpy(copy, data, bytes + 1);
  assert_int_equal(tb_spool_decode(copy, bytes, &back, &err), TC_OK);
  assert_string_equal(back.url, entry.url);
  assert_string_equal(back.source, "two lines");
  assert_int_equal(back.bytes, sizeof body);
  assert_memory_equal(back.body, body, sizeof body);
  for (size_t cut = 0; cut < bytes; cut++) { /* any begin of it is damaged */
    memcpy(copy, data, cut);
    copy[cut] = '\0';
    assert_int_equal(tb_spool_decode(copy, cut, &back, &err), TC_CORRUPT);
  }
  for (size_t at = strlen(data) - 1; at < bytes; at++) { /* so is it with any changed byte of the body */
    memcpy(copy, data, bytes + 1);
    copy[at] ^= 1;
    assert_int_equal(tb_spool_decode(copy, bytes, &back, &err), TC_CORRUPT);
  }
}

/* --- the spool on a real disk --- */

struct place { char folder[64]; struct tb_disk disk; struct tb_spool spool; };

static void open_place(struct place *p) {
  struct tc_error err = {0};
  strcpy(p->folder, "/tmp/tbench-spool.XXXXXX");
  assert_non_null(mkdtemp(p->folder));
  const char *inside = tc_arena_bytes(arena, 128);
  snprintf((char *)inside, 128, "%s/a/b", p->folder);
  assert_int_equal(tb_spool_disk(arena, inside, &p->disk, &p->spool.folder, &err), TC_OK);
  p->spool.disk = &p->disk;
  assert_int_equal(tb_spool_open(&p->spool, &err), TC_OK);
}

static struct tb_spool_name add(struct place *p, const char *body) {
  struct tb_spool_entry entry = {.url = "http://h/p", .format = "tbench", .source = "s", .body = body, .bytes = strlen(body)};
  struct tb_spool_name name;
  struct tc_error err = {0};
  assert_int_equal(tb_spool_add(&p->spool, arena, &entry, &name, &err), TC_OK);
  return name;
}

static size_t count(struct place *p) {
  tb_spool_names names = {0};
  struct tc_error err = {0};
  assert_int_equal(tb_spool_list(&p->spool, arena, &names, &err), TC_OK);
  return names.len;
}

static void test_real_spool(void **state) {
  (void)state;
  struct place p;
  struct tc_error err = {0};
  open_place(&p);
  const struct tb_spool_name one = add(&p, "one"), same = add(&p, "one"), two = add(&p, "two");
  assert_string_equal(one.text, same.text);
  assert_int_equal(count(&p), 2);
  struct tb_spool_hold hold, other;
  struct tb_spool_entry entry;
  assert_int_equal(tb_spool_take(&p.spool, arena, &one, &hold, &entry, &err), TB_SPOOL_TAKEN);
  assert_string_equal(entry.body, "one");
  assert_int_equal(tb_spool_take(&p.spool, arena, &one, &other, &entry, &err), TB_SPOOL_BUSY);
  add(&p, "one"); /* what is being sent is not put there anew */
  assert_int_equal(tb_spool_take(&p.spool, arena, &one, &other, &entry, &err), TB_SPOOL_BUSY);
  tb_spool_leave(&p.spool, &hold);
  assert_int_equal(tb_spool_take(&p.spool, arena, &one, &hold, &entry, &err), TB_SPOOL_TAKEN);
  assert_int_equal(tb_spool_refuse(&p.spool, &hold, "why", &err), TC_OK);
  tb_spool_leave(&p.spool, &hold);
  assert_int_equal(tb_spool_take(&p.spool, arena, &one, &hold, &entry, &err), TB_SPOOL_GONE);
  assert_int_equal(count(&p), 1);
  assert_int_equal(tb_spool_restore(&p.spool, &one, &err), TC_OK);
  assert_int_equal(tb_spool_restore(&p.spool, &one, &err), TC_OK);
  assert_int_equal(count(&p), 2);
  assert_int_equal(tb_spool_take(&p.spool, arena, &two, &hold, &entry, &err), TB_SPOOL_TAKEN);
  assert_int_equal(tb_spool_done(&p.spool, &hold, &err), TC_OK);
  assert_int_equal(tb_spool_take(&p.spool, arena, &two, &other, &entry, &err), TB_SPOOL_GONE);
  tb_spool_leave(&p.spool, &hold);
  assert_int_equal(count(&p), 1);
  tb_folder_remove(p.folder);
}

/* A process that waited for a lock gets one of a file that is gone, or that is another one by now. */
static void test_lock_of_another_file(void **state) {
  (void)state;
  struct place p;
  open_place(&p);
  const struct tb_spool_name one = add(&p, "one");
  char path[128];
  snprintf(path, sizeof path, "%s.entry", one.text);
  const int fd = p.disk.open(p.disk.self, path, TB_DISK_EXISTING);
  assert_int_equal(p.disk.is_at(p.disk.self, fd, path), 1);
  assert_int_equal(p.disk.remove(p.disk.self, path), 0);
  assert_int_equal(p.disk.is_at(p.disk.self, fd, path), 0);
  add(&p, "one");
  assert_int_equal(p.disk.is_at(p.disk.self, fd, path), 0);
  close(fd);
  tb_folder_remove(p.folder);
}

static void age(const char *path, long seconds) {
  struct timeval times[2];
  gettimeofday(&times[0], NULL);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  assert_int_equal(utimes(path, times), 0);
}

static void test_order_and_sweep(void **state) {
  (void)state;
  struct place p;
  struct tc_error err = {0};
  char path[256];
  open_place(&p);
  struct tb_spool_name added[4];
  static const char *const bodies[] = {"a", "b", "c", "d"};
  for (int i = 0; i < 4; i++) {
    added[i] = add(&p, bodies[i]);
    snprintf(path, sizeof path, "%s/%s.entry", p.spool.folder, added[i].text);
    age(path, 100 - i);
  }
  tb_spool_names names = {0};
  assert_int_equal(tb_spool_list(&p.spool, arena, &names, &err), TC_OK);
  assert_int_equal(names.len, 4);
  for (int i = 0; i < 4; i++) assert_string_equal(names.data[i].text, added[i].text);
  static const char *const parts[] = {".old.1.part", ".new.2.part"};
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", p.spool.folder, parts[i]);
    fclose(fopen(path, "w"));
    if (!i) age(path, 7200);
  }
  assert_int_equal(tb_spool_open(&p.spool, &err), TC_OK);
  assert_int_equal(access(path, F_OK), 0); /* its writer may be at work */
  snprintf(path, sizeof path, "%s/%s", p.spool.folder, parts[0]);
  assert_int_not_equal(access(path, F_OK), 0);
  assert_int_equal(count(&p), 4);
  tb_folder_remove(p.folder);
}

/* --- tokens --- */

static tc_status read_token(const char *content, mode_t mode, char token[TB_TOKEN_BYTES], struct tc_error *err) {
  char path[] = "/tmp/tbench-token.XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content) && !fchmod(fd, mode));
  close(fd);
  const tc_status status = tb_token_read(path, token, err);
  unlink(path);
  return status;
}

static void test_tokens(void **state) {
  (void)state;
  char token[TB_TOKEN_BYTES];
  struct tc_error err = {0};
  assert_int_equal(read_token("hush-hush\nmore\n", 0600, token, &err), TC_OK);
  assert_string_equal(token, "hush-hush");
  static const struct { const char *content; mode_t mode; tc_status status; } rows[] = {
      {"hush", 0640, TC_IO}, {"hush", 0604, TC_IO}, {"hush hush", 0600, TC_ARG}, {"hush\tx", 0600, TC_ARG}, {"h\xc3\xbcsh", 0600, TC_ARG}, {"\nhush", 0600, TC_ARG}, {"", 0600, TC_ARG}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(read_token(rows[i].content, rows[i].mode, token, &err), rows[i].status);
    assert_string_equal(token, "");
    assert_null(strstr(err.message, "hush"));
  }
  setenv("TBENCH_TOKEN", "from-environment", 1);
  assert_int_equal(tb_token_read("", token, &err), TC_OK);
  assert_string_equal(token, "from-environment");
  assert_null(getenv("TBENCH_TOKEN")); /* so that no child has it */
  assert_int_equal(tb_token_read("", token, &err), TC_OK);
  assert_string_equal(token, "");
  setenv("TBENCH_TOKEN", "two\r\nHeaders: injected", 1);
  assert_int_equal(tb_token_read("", token, &err), TC_ARG);
  assert_int_equal(tb_token_read("/tmp", token, &err), TC_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_urls),       cmocka_unit_test(test_no_urls),    cmocka_unit_test(test_targets),
      cmocka_unit_test(test_each_format_has_a_reporter), cmocka_unit_test(test_answers),    cmocka_unit_test(test_reasons),
      cmocka_unit_test(test_entries),    cmocka_unit_test(test_real_spool), cmocka_unit_test(test_lock_of_another_file),
      cmocka_unit_test(test_order_and_sweep), cmocka_unit_test(test_tokens),
  };
  return cmocka_run_group_tests(tests, open_arena, close_arena);
}

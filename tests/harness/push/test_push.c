/* The parts of push: what answers mean, entries as bytes, the spool on a real disk, tokens. */
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

#include "harness/base/folder.h"
#include "harness/base/verb.h"
#include "harness/push/push.h"
#include "harness/push/push_token.h"
#include "harness/push/pusher.h"
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

static void test_each_format_has_a_reporter(void **state) {
  (void)state;
  assert_true(tb_push_format_count() > 0);
  for (int i = 0; i < tb_push_format_count(); i++)
    assert_non_null(tb_reporter_find(tb_push_format_at(i)->reporter));
  assert_non_null(tb_push_file_only("pytorch"));
  assert_null(tb_push_file_only("tbench"));
  assert_null(tb_push_format_find("console"));
}

/* --- answers --- */

static const char asked_key[] =
    "aa03cc10f3bc3f4bc1a1bb3a2cf1bd6d0b3f7bd9a2ac9a1d1b8d2e7e9a7c6b51"; /* of the document that was sent */
static const char acknowledged[] =
    "{\"status\":\"stored\",\"key\":\"aa03cc10f3bc3f4bc1a1bb3a2cf1bd6d0b3f7bd9a2ac9a1d1b8d2e7e9a7c6b51\"}\n";

static struct tb_push_verdict judge_cut(const char *format, int status, const char *type, const char *text,
                                        bool compressed, bool cut) {
  const struct tb_push_request request = {
      .key = asked_key, .encoding = compressed ? "gzip" : NULL, .token = "hush-hush"};
  struct tb_push_answer answer = {.reach = TB_PUSH_ANSWERED, .status = status, .cut = cut};
  struct tb_push_verdict verdict;
  snprintf(answer.type, sizeof answer.type, "%s", type);
  snprintf(answer.text, sizeof answer.text, "%s", text);
  tb_push_judge(tb_push_format_find(format), &request, &answer, &verdict);
  return verdict;
}

static struct tb_push_verdict judge(const char *format, int status, const char *type, const char *text,
                                    bool compressed) {
  return judge_cut(format, status, type, text, compressed, false);
}

static void test_answers(void **state) {
  (void)state;
  static const struct {
    const char *format;
    int status;
    const char *type;
    enum tb_push_verdict_kind kind;
  } rows[] = {
      {"tbench", 204, "", TB_JUDGED_RETRY},
      {"tbench", 302, "", TB_JUDGED_HOLD},
      {"tbench", 505, "", TB_JUDGED_REFUSED},
      {"tbench", 400, "", TB_JUDGED_REFUSED},
      {"tbench", 401, "", TB_JUDGED_DENIED},
      {"tbench", 403, "", TB_JUDGED_DENIED},
      {"tbench", 422, "text/html", TB_JUDGED_REFUSED},
      {"tbench", 408, "", TB_JUDGED_RETRY},
      {"tbench", 413, "", TB_JUDGED_REFUSED},
      {"tbench", 425, "", TB_JUDGED_RETRY},
      {"tbench", 429, "", TB_JUDGED_RETRY},
      {"tbench", 500, "", TB_JUDGED_RETRY},
      {"tbench", 501, "", TB_JUDGED_REFUSED},
      {"tbench", 503, "text/html", TB_JUDGED_RETRY},
      {"tbench", 599, "", TB_JUDGED_RETRY},
      {"tbench", 20, "", TB_JUDGED_HOLD},
      {"influx", 201, "", TB_JUDGED_RETRY},
      {"lnt", 302, "", TB_JUDGED_HOLD},
      {"tbench", 404, "text/html", TB_JUDGED_HOLD},
      {"tbench", 405, "", TB_JUDGED_HOLD},
      {"tbench", 407, "", TB_JUDGED_HOLD}, /* the URL, a proxy */
      {"influx", 404, "", TB_JUDGED_HOLD},
      {"tbench", 410, "", TB_JUDGED_HOLD},
      {"tbench", 421, "", TB_JUDGED_HOLD},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (judge(rows[i].format, rows[i].status, rows[i].type, "", false).kind != rows[i].kind)
      fail_msg("%s %d %s", rows[i].format, rows[i].status, rows[i].type);
  assert_int_equal(judge("tbench", 415, "", "", true).kind, TB_JUDGED_PLAIN);
  assert_int_equal(judge("tbench", 415, "", "", false).kind, TB_JUDGED_REFUSED);
}

/* A status that says it is stored counts with the body that the format's service sends then, and with no
 * other one. */
static void test_acknowledgements(void **state) {
  (void)state;
  static const char json[] = "application/json",
                    other[] =
                        "{\"key\":\"bb03cc10f3bc3f4bc1a1bb3a2cf1bd6d0b3f7bd9a2ac9a1d1b8d2e7e9a7c6b51\"}";
  static const struct {
    const char *format;
    int status;
    const char *type, *text;
    bool cut;
    enum tb_push_verdict_kind kind;
  } rows[] = {
      {"tbench", 201, json, acknowledged, false, TB_JUDGED_STORED},
      {"tbench", 200, json, acknowledged, false, TB_JUDGED_KNOWN},
      {"tbench", 201, json, other, false, TB_JUDGED_RETRY},
      {"tbench", 200, json, other, false, TB_JUDGED_RETRY},
      {"tbench", 200, json, "{}", false, TB_JUDGED_RETRY},
      {"tbench", 200, json, "{\"key\":1}", false, TB_JUDGED_RETRY},
      {"tbench", 201, json, "", false, TB_JUDGED_RETRY},
      {"tbench", 200, "text/plain", "Welcome to the hotel", false, TB_JUDGED_RETRY},
      {"tbench", 201, json, "{\"key\":\"\"}", false, TB_JUDGED_RETRY},
      {"tbench", 201, json, "[\"aa03cc10f3bc3f4bc1a1bb3a2cf1bd6d\"]", false, TB_JUDGED_RETRY},
      {"tbench", 201, json, acknowledged, true, TB_JUDGED_RETRY},
      {"tbench", 200, "text/html; charset=x", acknowledged, false, TB_JUDGED_RETRY},
      {"tbench", 201, "Text/HTML", "<html>", false, TB_JUDGED_RETRY},
      {"victoriametrics", 204, "", "", false, TB_JUDGED_STORED},
      {"victoriametrics", 204, "", "stored", false, TB_JUDGED_RETRY},
      {"victoriametrics", 200, json, "{\"ok\":true}", false, TB_JUDGED_RETRY},
      {"influx", 204, "", "\r\n", false, TB_JUDGED_STORED},
      {"influx", 200, "", "", false, TB_JUDGED_RETRY},
      {"prometheus", 200, "", "", false, TB_JUDGED_STORED},
      {"prometheus", 202, "", "", false, TB_JUDGED_STORED},
      {"prometheus", 200, "text/plain", "OK", false, TB_JUDGED_RETRY},
      {"prometheus", 200, "", "", true, TB_JUDGED_RETRY},
      {"bencher", 201, json, "{\"uuid\":\"1-2\",\"results\":[]}", false, TB_JUDGED_STORED},
      {"bencher", 201, json, "{\"uuid\":\"1-2\",\"resu", true, TB_JUDGED_STORED},
      {"bencher", 201, json, "{\"uuid\":null}", false, TB_JUDGED_RETRY},
      {"bencher", 200, "text/plain", "{\"uuid", true, TB_JUDGED_RETRY},
      {"bencher", 200, json, "Welcome", true, TB_JUDGED_RETRY},
      {"conbench", 201, json, "{\"id\":\"0642\"}", false, TB_JUDGED_STORED},
      {"conbench", 200, json, "{\"ok\":true}", false, TB_JUDGED_RETRY},
      {"lnt", 301, json, "{\"error\": null, \"run_id\": 7}", false, TB_JUDGED_STORED},
      {"lnt", 301, "text/html", "<html>moved</html>", false, TB_JUDGED_HOLD},
      {"lnt", 301, "", "", false, TB_JUDGED_HOLD},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (judge_cut(rows[i].format, rows[i].status, rows[i].type, rows[i].text, false, rows[i].cut).kind !=
        rows[i].kind)
      fail_msg("%s %d %s '%s'", rows[i].format, rows[i].status, rows[i].type, rows[i].text);
  for (int i = 0; i < tb_push_format_count(); i++) { /* one that is added has a row here */
    bool shown = false;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
      shown |= rows[k].kind == TB_JUDGED_STORED && !strcmp(rows[k].format, tb_push_format_at(i)->name);
    assert_true(shown);
  }
  assert_string_equal(judge("tbench", 201, json, other, false).why,
                      "it answered 201 with the key of another document, bb03cc10f3bc3f4bc1a1…; the key of "
                      "this one is aa03cc10f3bc3f4bc1a1…");
  assert_string_equal(judge("tbench", 200, "text/plain", "Welcome to\nthe hotel", false).why,
                      "it answered 200 with 'Welcome to the hotel', which does not acknowledge format=tbench "
                      "(JSON with 'key'): it may be a log-in page, a proxy or another program");
  assert_string_equal(judge("bencher", 201, json, "", false).why,
                      "it answered 201 with nothing, which does not acknowledge format=bencher (JSON with "
                      "'uuid'): it may be a log-in page, a proxy or another program");
  assert_non_null(strstr(judge("influx", 204, "", "stored", false).why, "(an empty body)"));
  assert_null(strstr(judge("tbench", 200, json, "{\"key\":\"hush-hush\"}", false).why, "hush"));
}

static void test_reasons(void **state) {
  (void)state;
  static const struct {
    const char *text, *why;
  } rows[] = {
      {"{\"error\": \"cases: missing\"}", "it answered 400: cases: missing"},
      {"{\"message\": \"no bucket\", \"code\": 1}", "it answered 400: no bucket"},
      {"{\"msg\": \"no auth\"}", "it answered 400: no auth"},
      {"{\"description\": {\"run_id\": [\"missing\"]}}", "it answered 400: {\"run_id\":[\"missing\"]}"},
      {"  plain\ntext \x1b[31m\xff", "it answered 400: plain text  [31m?"},
      {"", "it answered 400"},
      {"{\"error\": \"token hush-hush is bad, hush-hush\"}",
       "it answered 400: token ********* is bad, *********"},
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
  struct tb_spool_entry entry = {.url = "http://h/p",
                                 .format = "tbench",
                                 .source = "two\nlines",
                                 .body = body,
                                 .bytes = sizeof body},
                        back;
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

struct place {
  char folder[64];
  struct tb_disk disk;
  struct tb_spool spool;
};

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
  struct tb_spool_entry entry = {
      .url = "http://h/p", .format = "tbench", .source = "s", .body = body, .bytes = strlen(body)};
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
  assert_int_equal(tb_spool_refuse(&p.spool, &hold, "why\nurl: u\n", &err), TC_OK);
  tb_spool_leave(&p.spool, &hold);
  assert_int_equal(tb_spool_take(&p.spool, arena, &one, &hold, &entry, &err), TB_SPOOL_REFUSED);
  assert_string_equal(err.message, "why");
  assert_string_equal(entry.source, "s");
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

/* However the folder is written, it is made with those above it, and where one is there already. */
static void test_folders(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"plain", "plain"},     {"x//y/", "x/y"},   {"./d/e/f", "d/e/f"},
                                        {"../over", "../over"}, {"x/y/z", "x/y/z"}, {"x/y", "x/y"},
                                        {"n/../m", "m"}};
  char top[] = "/tmp/tbench-spool.XXXXXX", before[4096], path[64];
  struct tc_error err = {0};
  struct tb_disk disk;
  assert_non_null(getcwd(before, sizeof before));
  assert_non_null(mkdtemp(top));
  snprintf(path, sizeof path, "%s/in", top);
  assert_true(!mkdir(path, 0700) && !chdir(path));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_spool spool = {.disk = &disk};
    assert_int_equal(tb_spool_disk(arena, rows[i][0], &disk, &spool.folder, &err), TC_OK);
    assert_int_equal(tb_spool_open(&spool, &err), TC_OK);
    snprintf(path, sizeof path, "%s/refused", rows[i][1]);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(tb_spool_disk_check(rows[i][1], &err), TC_OK);
  }
  fclose(fopen("file", "w"));
  struct tb_spool spool = {.disk = &disk};
  assert_int_equal(tb_spool_disk(arena, "file/a/b", &disk, &spool.folder, &err), TC_OK);
  assert_int_equal(tb_spool_open(&spool, &err), TC_IO);
  assert_non_null(strstr(err.message, "Not a directory"));
  assert_true(!mkdir("half", 0700));
  fclose(fopen("half/refused", "w"));
  assert_int_equal(tb_spool_disk(arena, "half", &disk, &spool.folder, &err), TC_OK);
  assert_int_equal(tb_spool_open(&spool, &err), TC_IO);
  assert_int_equal(chdir(before), 0);
  tb_folder_remove(top);
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

static tc_status read_token_bytes(const char *content, size_t bytes, mode_t mode, char token[TB_TOKEN_BYTES],
                                  struct tc_error *err) {
  char path[] = "/tmp/tbench-token.XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0 && write(fd, content, bytes) == (ssize_t)bytes && !fchmod(fd, mode));
  close(fd);
  const tc_status status = tb_token_read(path, token, err);
  unlink(path);
  return status;
}

static tc_status read_token(const char *content, mode_t mode, char token[TB_TOKEN_BYTES],
                            struct tc_error *err) {
  return read_token_bytes(content, strlen(content), mode, token, err);
}

/* The longest one is read whole; of a longer one nothing is. What lies behind the first line may be as long
 * as it likes. */
static void test_long_tokens(void **state) {
  (void)state;
  static const char *const ends[] = {"", "\n", "\r\n", "\nmore"};
  char content[2 * TB_TOKEN_BYTES], token[TB_TOKEN_BYTES];
  struct tc_error err = {0};
  for (size_t length = TB_TOKEN_BYTES - 3; length <= TB_TOKEN_BYTES + 3; length++)
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
      memset(content, 'h', length);
      strcpy(content + length, ends[i]);
      const bool fits = length < TB_TOKEN_BYTES;
      assert_int_equal(read_token(content, 0600, token, &err), fits ? TC_OK : TC_ARG);
      assert_int_equal(strlen(token), fits ? length : 0);
      if (!fits) assert_non_null(strstr(err.message, "its first line is longer than"));
    }
  memset(content, 'x', sizeof content);
  memcpy(content, "hush-hush\n", 10);
  assert_int_equal(read_token_bytes(content, sizeof content, 0600, token, &err), TC_OK);
  assert_string_equal(token, "hush-hush");
  assert_int_equal(read_token_bytes("hush\0hush\n", 10, 0600, token, &err), TC_ARG);
  assert_string_equal(token, "");
}

static void test_tokens(void **state) {
  (void)state;
  char token[TB_TOKEN_BYTES];
  struct tc_error err = {0};
  assert_int_equal(read_token("hush-hush\nmore\n", 0600, token, &err), TC_OK);
  assert_string_equal(token, "hush-hush");
  static const struct {
    const char *content;
    mode_t mode;
    tc_status status;
  } rows[] = {{"hush", 0640, TC_IO},     {"hush", 0604, TC_IO},         {"hush hush", 0600, TC_ARG},
              {"hush\tx", 0600, TC_ARG}, {"h\xc3\xbcsh", 0600, TC_ARG}, {"\nhush", 0600, TC_ARG},
              {"", 0600, TC_ARG}};
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

/* --- defaults --- */

/* What --help says is what holds. */
static void test_defaults(void **state) {
  (void)state;
  const struct tb_pusher_options o = tb_pusher_defaults("push");
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"tries", o.policy.tries},           {"wait", o.policy.wait_s},
                 {"wait_most", o.policy.wait_most_s}, {"connect", o.http.connect_s},
                 {"stall", o.http.stall_s},           {"timeout", o.http.total_s}};
  const struct {
    const char *name;
    bool value;
  } flags[] = {{"compress", o.policy.compress}, {"plain", o.policy.plain}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char *end;
    assert_true(strtod(tb_verb_option_find("push", numbers[i].name)->default_text, &end) == numbers[i].value);
    assert_true(!*end && numbers[i].value > 0);
  }
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    assert_string_equal(tb_verb_option_find("push", flags[i].name)->default_text,
                        flags[i].value ? "yes" : "no");
  assert_string_equal(tb_verb_option_find("push", "format")->default_text, o.format);
  assert_string_equal(tb_verb_option_find("push", "branch")->default_text, o.branch);
  assert_non_null(tb_push_format_find(o.format));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_format_has_a_reporter),
      cmocka_unit_test(test_answers),
      cmocka_unit_test(test_reasons),
      cmocka_unit_test(test_acknowledgements),
      cmocka_unit_test(test_entries),
      cmocka_unit_test(test_real_spool),
      cmocka_unit_test(test_folders),
      cmocka_unit_test(test_lock_of_another_file),
      cmocka_unit_test(test_order_and_sweep),
      cmocka_unit_test(test_tokens),
      cmocka_unit_test(test_long_tokens),
      cmocka_unit_test(test_defaults),
  };
  return cmocka_run_group_tests(tests, open_arena, close_arena);
}

/* One stream for lines, values, output and an end: in pieces of any size, broken ones, and a whole process
 * behind it, made up by this test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/wire/process.h"
#include "harness/wire/stream.h"

static const double patience_s = 60;

/* --- frames --- */

static void test_frames(void **state) {
  (void)state;
  int ends[2];
  struct tc_strbuf in;
  struct tb_frame frame;
  const size_t bytes = TB_FRAME_BYTES_MAX + 7;
  char *data = malloc(bytes);
  assert_non_null(data);
  memset(data, 'x', bytes);
  tc_strbuf_init(&in, tc_alloc_system());
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  assert_int_equal(tb_frame_look(&in, &frame), TB_FRAME_NONE);
  const pid_t writer = fork();
  if (!writer)
    _exit(!(tb_frame_write(ends[0], TB_FRAME_VALUES, data, bytes) && tb_write_all(ends[0], "{}\n", 3)));
  close(ends[0]);
  size_t got = 0, partial = 0, whole = 0;
  for (char byte; read(ends[1], &byte, 1) == 1;) { /* byte by byte: each state is seen */
    tc_strbuf_bytes(&in, &byte, 1);
    const enum tb_frame_found found = tb_frame_look(&in, &frame);
    partial += found == TB_FRAME_PARTIAL;
    if (found != TB_FRAME_WHOLE) continue;
    assert_int_equal(frame.kind, TB_FRAME_VALUES);
    assert_memory_equal(frame.data, data, frame.bytes);
    got += frame.bytes;
    whole++;
    tb_frame_drop(&in);
  }
  assert_int_equal(got, bytes);
  assert_int_equal(whole, 2);
  assert_int_equal(partial, bytes + 2 * TB_FRAME_HEAD - 2);
  assert_int_equal(in.len, 3); /* the line stays */
  assert_int_equal(tb_frame_look(&in, &frame), TB_FRAME_NONE);
  int status;
  assert_int_equal(waitpid(writer, &status, 0), writer);
  assert_int_equal(status, 0);
  close(ends[1]);
  free(data);
  tc_strbuf_free(&in);
}

static void test_broken_frame(void **state) {
  (void)state;
  struct tc_strbuf in;
  struct tb_frame frame;
  tc_strbuf_init(&in, tc_alloc_system());
  tc_strbuf_bytes(&in, "\001\377\377\377\377", TB_FRAME_HEAD);
  assert_int_equal(tb_frame_look(&in, &frame), TB_FRAME_BROKEN);
  tc_strbuf_free(&in);
}

/* --- a process behind a stream --- */

static void start(struct tb_process *p, void (*serve)(int fd)) {
  int ends[2];
  tb_process_clear(p);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const pid_t pid = fork();
  if (!pid) {
    setpgid(0, 0);
    close(ends[0]);
    serve(ends[1]);
    _exit(0);
  }
  setpgid(pid, pid);
  close(ends[1]);
  p->link = (struct tb_link){
      .transport = tb_transport_local(), .pid = pid, .control = ends[0], .exchange = -1, .text = -1};
  tb_output_stream_begin(&p->output_stream, NULL, "");
}

static void say(int fd, const char *text) { tb_write_all(fd, text, strlen(text)); }

static void serve_values(int fd) {
  tb_frame_write(fd, TB_FRAME_VALUES, "ab", 2);
  tb_frame_write(fd, TB_FRAME_OUTPUT, "words\n", 6);
  tb_frame_write(fd, TB_FRAME_VALUES, "cdef", 4);
  say(fd, "{\"ok\": true, \"n\": 1}\n{\"ok\": true, \"n\": 2}\n");
  pause();
}

static void test_values_and_replies(void **state) {
  (void)state;
  struct tb_process p;
  struct tc_error err = {0};
  char values[6];
  cJSON *reply;
  start(&p, serve_values);
  assert_int_equal(tb_process_read(&p, values, 3, patience_s, &err), TC_OK);
  assert_int_equal(tb_process_read(&p, values + 3, 3, patience_s, &err), TC_OK);
  assert_memory_equal(values, "abcdef", 6);
  for (int n = 1; n <= 2; n++) {
    assert_int_equal(tb_process_receive(&p, patience_s, &reply, &err), TC_OK);
    assert_int_equal((int)tb_json_number(reply, "n", 0), n);
    cJSON_Delete(reply);
  }
  assert_string_equal(p.tail, "words\n");
  tb_process_stop(&p);
}

/* A frame that comes in two parts, with ends of lines in the first one, before a reply. */
static void serve_in_parts(int fd) {
  static const char first[] = "\002\010\000\000\000one\n", rest[] = "two\n{\"ok\": true}\n";
  tb_write_all(fd, first, sizeof first - 1);
  sleep(1);
  tb_write_all(fd, rest, sizeof rest - 1);
  pause();
}

static void test_a_frame_in_parts(void **state) {
  (void)state;
  struct tb_process p;
  struct tc_error err = {0};
  cJSON *reply;
  start(&p, serve_in_parts);
  assert_int_equal(tb_process_receive(&p, patience_s, &reply, &err), TC_OK);
  assert_string_equal(p.tail, "one\ntwo\n");
  cJSON_Delete(reply);
  tb_process_stop(&p);
}

static void serve_too_few(int fd) {
  tb_frame_write(fd, TB_FRAME_VALUES, "ab", 2);
  say(fd, "{\"ok\": false, \"error\": {\"kind\": \"oom\", \"text\": \"no room\"}}\n");
  pause();
}

static void test_a_reply_in_place_of_values(void **state) {
  (void)state;
  struct tb_process p;
  struct tc_error err = {0};
  char values[6];
  start(&p, serve_too_few);
  assert_int_not_equal(tb_process_read(&p, values, sizeof values, patience_s, &err), TC_OK);
  assert_int_equal(p.outcome, TB_OUTCOME_OOM);
  assert_string_equal(p.why, "no room");
  tb_process_stop(&p);
}

static void serve_an_end(int fd) {
  static const char end[] = "{\"how\": \"signal\", \"number\": 11}";
  tb_frame_write(fd, TB_FRAME_OUTPUT, "last words\n", 11);
  tb_frame_write(fd, TB_FRAME_END, end, sizeof end - 1);
}

static void test_an_end(void **state) {
  (void)state;
  struct tb_process p;
  struct tc_error err = {0};
  cJSON *reply;
  start(&p, serve_an_end);
  assert_int_not_equal(tb_process_receive(&p, patience_s, &reply, &err), TC_OK);
  assert_int_equal(p.outcome, TB_OUTCOME_CRASHED);
  assert_non_null(strstr(p.why, "died of signal 11"));
  assert_non_null(strstr(p.why, "last words"));
  tb_process_stop(&p);
}

static void serve_nonsense(int fd) {
  say(fd, "\001\377\377\377\377");
  pause();
}

static void test_nonsense(void **state) {
  (void)state;
  struct tb_process p;
  struct tc_error err = {0};
  cJSON *reply;
  start(&p, serve_nonsense);
  p.greeted = true;
  assert_int_not_equal(tb_process_receive(&p, patience_s, &reply, &err), TC_OK);
  assert_int_equal(p.outcome, TB_OUTCOME_CRASHED);
  tb_process_stop(&p);
}

static void test_ends_as_json(void **state) {
  (void)state;
  for (int how = TB_END_LEFT; how <= TB_END_LOST; how++) {
    const struct tb_end end = {(enum tb_end_how)how, how + 1};
    struct tb_end back = {.number = 0};
    cJSON *json = tb_end_json(&end);
    assert_true(tb_end_parse(json, &back));
    assert_int_equal(back.how, how);
    assert_int_equal(back.number, how + 1);
    cJSON_Delete(json);
  }
  struct tb_end end;
  assert_false(tb_end_parse(NULL, &end));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frames),           cmocka_unit_test(test_broken_frame),
      cmocka_unit_test(test_an_end),           cmocka_unit_test(test_values_and_replies),
      cmocka_unit_test(test_nonsense),         cmocka_unit_test(test_a_reply_in_place_of_values),
      cmocka_unit_test(test_a_frame_in_parts), cmocka_unit_test(test_ends_as_json)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

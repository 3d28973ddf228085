/* Lines of JSON over a pair of sockets: whole ones, pieces, broken ones, a peer that is gone; tables of
 * requests and roles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/wire/protocol.h"
#include "harness/worker/workload.h"

static struct tc_strbuf new_buffer(void) {
  struct tc_strbuf buffer;
  tc_strbuf_init(&buffer, tc_alloc_system());
  return buffer;
}

static void test_pieces(void **state) {
  (void)state;
  struct tc_strbuf buffer = new_buffer();
  bool bad;
  tc_strbuf_puts(&buffer, "{\"op\":\"bl");
  assert_null(tb_message_take(&buffer, &bad));
  assert_false(bad);
  tc_strbuf_puts(&buffer, "ock\",\"calls\":3}\n{\"ok\":true}\n{");
  cJSON *first = tb_message_take(&buffer, &bad), *second = tb_message_take(&buffer, &bad);
  assert_string_equal(tb_json_text(first, "op", ""), "block");
  assert_true(tb_json_number(first, "calls", 0) == 3);
  assert_true(tb_json_bool(second, "ok", false));
  assert_null(tb_message_take(&buffer, &bad));
  assert_int_equal(buffer.len, 1); /* the third line's beginning stays */
  cJSON_Delete(first);
  cJSON_Delete(second);
  tc_strbuf_free(&buffer);
}

static void test_broken_line(void **state) {
  (void)state;
  struct tc_strbuf buffer = new_buffer();
  bool bad;
  tc_strbuf_puts(&buffer, "Segmentation fault\n{\"ok\":true}\n");
  assert_null(tb_message_take(&buffer, &bad));
  assert_true(bad);
  cJSON *next = tb_message_take(&buffer, &bad);
  assert_non_null(next);
  cJSON_Delete(next);
  tc_strbuf_free(&buffer);
}

static void test_over_a_socket(void **state) {
  (void)state;
  int ends[2];
  struct tc_strbuf buffer = new_buffer();
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  cJSON *message = cJSON_CreateObject();
  cJSON_AddStringToObject(message, "text", "with \"quotes\"\nand a newline");
  assert_true(tb_message_write(ends[0], message));
  cJSON *back = tb_message_read(ends[1], &buffer);
  assert_true(cJSON_Compare(message, back, true));
  cJSON_Delete(back);
  close(ends[0]);
  assert_null(tb_message_read(ends[1], &buffer));   /* the end of the stream */
  assert_false(tb_message_write(ends[1], message)); /* and no signal */
  assert_false(tb_message_write(ends[1], NULL));
  cJSON_Delete(message);
  close(ends[1]);
  tc_strbuf_free(&buffer);
}

static void test_absent_fields(void **state) {
  (void)state;
  cJSON *json = cJSON_Parse("{\"n\": \"text\", \"t\": 3, \"b\": null}");
  assert_true(tb_json_number(json, "n", 7) == 7);
  assert_string_equal(tb_json_text(json, "t", "other"), "other");
  assert_true(tb_json_bool(json, "b", true));
  assert_true(tb_json_number(NULL, "n", 7) == 7);
  cJSON_Delete(json);
}

static void test_tables(void **state) {
  (void)state;
  for (int i = 0; i < TB_REQUEST_COUNT; i++) {
    enum tb_request request;
    assert_true(tb_request_parse(tb_request_name((enum tb_request)i), &request));
    assert_int_equal(request, i);
  }
  for (int i = 0; i < TB_ROLE_COUNT; i++) {
    enum tb_role role;
    assert_true(tb_role_parse(tb_role_name((enum tb_role)i), &role));
    assert_int_equal(role, i);
  }
  enum tb_request request;
  assert_false(tb_request_parse("explode", &request));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces), cmocka_unit_test(test_broken_line),
                                     cmocka_unit_test(test_over_a_socket),
                                     cmocka_unit_test(test_absent_fields), cmocka_unit_test(test_tables)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

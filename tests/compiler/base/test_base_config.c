/* base/config, base/log and base/error: switches by name and by environment, channels, one-line errors. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/config.h"
#include "base/error.h"
#include "base/log.h"

static const char *shown(const struct tc_config *config, const char *name, struct tc_strbuf *buf) {
  tc_strbuf_free(buf);
  tc_config_get(config, tc_config_find(name), buf);
  return tc_strbuf_text(buf);
}

static void variable_of(const char *name, char *variable, size_t room) {
  int n = snprintf(variable, room, "TB_%s", name);
  assert_in_range(n, 4, room - 1);
  for (char *c = variable; *c; c++) *c = *c == '.' ? '_' : (char)toupper((unsigned char)*c);
}

/* A value that the row takes and that is not its default. */
static const char *another_value(const struct tc_config_row *row) {
  if (row->type == TC_CONFIG_TEXT)
    return !row->takes.words ? "some text" : strrchr(row->takes.words, ' ') + 1;
  if (row->type == TC_CONFIG_BOOL) return strcmp(row->default_text, "0") ? "off" : "on";
  return row->takes.most == INT64_MAX ? "987" : "3";
}

static void rows_are_complete_and_unique(void **state) {
  (void)state;
  assert_true(tc_config_count() > 5);
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *row = tc_config_row(i);
    assert_true(row->name[0] && row->help[0]);
    assert_int_equal(tc_config_find(row->name), i);
  }
  assert_int_equal(tc_config_find("no_such_switch"), -1);
  assert_int_equal(tc_config_find(""), -1);
}

static void defaults_are_defaults(void **state) {
  (void)state;
  struct tc_config config;
  tc_config_default(&config);
  for (int i = 0; i < tc_config_count(); i++) assert_true(tc_config_is_default(&config, i));
}

static void every_switch_is_set_and_read_by_name(void **state) {
  (void)state;
  struct tc_strbuf buf;
  tc_strbuf_init(&buf, tc_alloc_system());
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *row = tc_config_row(i);
    struct tc_config config;
    tc_config_default(&config);
    const char *text = another_value(row);
    assert_int_equal(tc_config_set(&config, row->name, text, NULL), TC_OK);
    assert_string_equal(shown(&config, row->name, &buf), text);
    for (int other = 0; other < tc_config_count(); other++)
      assert_int_equal(tc_config_is_default(&config, other), other != i);
  }
  tc_strbuf_free(&buf);
}

static void booleans_take_the_usual_words(void **state) {
  (void)state;
  struct tc_config config;
  tc_config_default(&config);
  static const char *const yes[] = {"on", "yes", "true", "1"}, *const no[] = {"off", "no", "false", "0"};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(tc_config_set(&config, "verify", yes[i], NULL), TC_OK);
    assert_true(config.verify);
    assert_int_equal(tc_config_set(&config, "verify", no[i], NULL), TC_OK);
    assert_false(config.verify);
  }
}

static void bad_values_are_refused_by_name_and_change_nothing(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
  } bad[] = {
      {"verify", "maybe"},
      {"verify", ""},
      {"cache_mb", "many"},
      {"cache_mb", ""},
      {"cache_mb", "-1"},
      {"cache_mb", "10x"},
      {"cache_mb", "99999999999999999999999"},
      {"isa", "foo"},
      {"isa", ""},
      {"isa", "avx"},
      {"isa", "avx2,avx512"},
      {"logs", "foo"},
      {"logs", "graph,,cache"},
      {"llvm_level", "99"},
      {"llvm_level", "4"},
  };
  struct tc_config config, before;
  tc_config_default(&config);
  before = config;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct tc_error err = {0};
    assert_int_equal(tc_config_set(&config, bad[i].name, bad[i].text, &err), TC_ARG);
    assert_int_equal(err.status, TC_ARG);
    assert_non_null(strstr(err.message, bad[i].name));
    assert_null(strchr(err.message, '\n'));
    for (int row = 0; row < tc_config_count(); row++) assert_true(tc_config_is_default(&config, row));
    assert_int_equal(tc_config_key(&config), tc_config_key(&before));
  }
  struct tc_error err = {0};
  assert_int_equal(tc_config_set(&config, "colour", "red", &err), TC_ARG);
  assert_non_null(strstr(err.message, "colour"));
}

static void environment_sets_every_switch(void **state) {
  (void)state;
  char variable[80];
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *row = tc_config_row(i);
    struct tc_config config;
    tc_config_default(&config);
    struct tc_strbuf buf;
    tc_strbuf_init(&buf, tc_alloc_system());
    const char *text = another_value(row);
    variable_of(row->name, variable, sizeof variable);
    setenv(variable, text, 1);
    assert_int_equal(tc_config_from_environment(&config, NULL), TC_OK);
    assert_string_equal(shown(&config, row->name, &buf), text);
    unsetenv(variable);
    tc_strbuf_free(&buf);
  }
}

static void a_bad_environment_names_its_variable(void **state) {
  (void)state;
  struct tc_config config;
  tc_config_default(&config);
  struct tc_error err = {0};
  setenv("TB_CACHE_MB", "lots", 1);
  assert_int_equal(tc_config_from_environment(&config, &err), TC_ARG);
  unsetenv("TB_CACHE_MB");
  assert_non_null(strstr(err.where, "TB_CACHE_MB"));
  assert_non_null(strstr(err.message, "lots"));
}

/* Exactly the rows marked KEY change the key: a switch that changes code and not the key gives stale code.
 * And those marked RUN the other one. */
static void the_key_follows_the_rows_marked_so(void **state) {
  (void)state;
  struct tc_config standard;
  tc_config_default(&standard);
  struct tc_strbuf buf;
  tc_strbuf_init(&buf, tc_alloc_system());
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *row = tc_config_row(i);
    struct tc_config config = standard;
    const char *text = another_value(row);
    assert_int_equal(tc_config_set(&config, row->name, text, NULL), TC_OK);
    assert_int_equal(tc_config_key(&config) != tc_config_key(&standard), row->in_key);
    assert_int_equal(tc_config_run_key(&config) != tc_config_run_key(&standard), row->in_run);
    assert_false(row->in_key && row->in_run);
    assert_false((row->in_key || row->in_run) &&
                 row->aside); /* what changes the artifact changes what is measured */
  }
  tc_strbuf_free(&buf);
}

/* What one function cannot have otherwise: what the context is made of when the module opens. */
static void the_switches_of_opening_are_those_of_the_context(void **state) {
  (void)state;
  static const char *const opening[] = {"cache_dir", "cache_mb",      "logs",
                                        "isa",       "share_choices", "opt.lazy_library"};
  size_t found = 0;
  for (int i = 0; i < tc_config_count(); i++) {
    if (!tc_config_row(i)->at_opening) continue;
    if (found == sizeof opening / sizeof *opening || strcmp(tc_config_row(i)->name, opening[found]))
      fail_msg("%s", tc_config_row(i)->name);
    found++;
  }
  assert_int_equal(found, sizeof opening / sizeof *opening);
}

static void channels_are_parsed(void **state) {
  (void)state;
  struct tc_log log = {0};
  assert_int_equal(tc_log_parse(&log, "", NULL), TC_OK);
  assert_int_equal(log.channels, 0);
  assert_int_equal(tc_log_parse(&log, "graph,cache", NULL), TC_OK);
  assert_true(tc_log_on(&log, TC_LOG_GRAPH) && tc_log_on(&log, TC_LOG_CACHE));
  assert_false(tc_log_on(&log, TC_LOG_GUARDS) || tc_log_on(&log, TC_LOG_KERNELS));
  assert_int_equal(tc_log_parse(&log, "graph,guards,breaks,recompiles,kernels,tune,cache", NULL), TC_OK);
  assert_int_equal(log.channels, (1u << TC_LOG_COUNT) - 1);
}

static void an_unknown_channel_is_named_with_the_known_ones(void **state) {
  (void)state;
  static const char *const bad[] = {"grap", "graphs", "graph,,cache", "graph,weather"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct tc_log log = {0};
    struct tc_error err = {0};
    assert_int_equal(tc_log_parse(&log, bad[i], &err), TC_ARG);
    assert_non_null(strstr(err.message, "recompiles"));
  }
  struct tc_log log = {0};
  struct tc_error err = {0};
  assert_int_equal(tc_log_parse(&log, "graph,weather", &err), TC_ARG);
  assert_non_null(strstr(err.message, "weather"));
}

/* Runs the two writers with stderr in a file; returns what they wrote. */
static char *logged(const struct tc_log *log) {
  FILE *file = tmpfile();
  assert_non_null(file);
  fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  assert_true(saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  tc_log_line(log, TC_LOG_GRAPH, "%d nodes", 12);
  tc_log_line(log, TC_LOG_CACHE, "a hit");
  tc_log_text(log, TC_LOG_GRAPH, "graph 1", "line\nline\n");
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  const long bytes = (fseek(file, 0, SEEK_END), ftell(file));
  char *text = calloc(1, (size_t)bytes + 1);
  assert_non_null(text);
  rewind(file);
  assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
  fclose(file);
  return text;
}

static void only_channels_that_are_on_write(void **state) {
  (void)state;
  char *text = logged(&(struct tc_log){.channels = 1u << TC_LOG_GRAPH});
  assert_string_equal(text, "[graph] 12 nodes\n[graph] graph 1\nline\nline\n");
  free(text);
  text = logged(&(struct tc_log){0});
  assert_string_equal(text, "");
  free(text);
}

static void every_status_has_a_name_and_a_text(void **state) {
  (void)state;
  for (int i = 0; i < TC_STATUS_COUNT; i++) {
    assert_true(tc_status_name((tc_status)i)[0] && tc_status_text((tc_status)i)[0]);
    for (int other = 0; other < i; other++)
      assert_string_not_equal(tc_status_name((tc_status)i), tc_status_name((tc_status)other));
  }
  assert_string_equal(tc_status_name(TC_SHAPE), "SHAPE");
  assert_non_null(tc_status_text((tc_status)TC_STATUS_COUNT));
  assert_non_null(tc_status_name((tc_status)-1));
}

static void fail_fills_the_record(void **state) {
  (void)state;
  struct tc_error err = {.where = "left from before"};
  assert_int_equal(tc_fail(&err, TC_SHAPE, "ops", "got %d of %s", 3, "four"), TC_SHAPE);
  assert_int_equal(err.status, TC_SHAPE);
  assert_string_equal(err.stage, "ops");
  assert_string_equal(err.message, "got 3 of four");
  assert_string_equal(err.where, "");
  assert_int_equal(tc_fail(NULL, TC_IO, "cache", "no record to fill"), TC_IO);
}

static void long_messages_are_cut_not_spilled(void **state) {
  (void)state;
  char text[3 * TC_ERROR_TEXT];
  memset(text, 'm', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  struct {
    struct tc_error err;
    char fence[16];
  } held;
  memset(&held, 0x55, sizeof held);
  tc_fail(&held.err, TC_ARG, "ops", "%s", text);
  assert_int_equal(strlen(held.err.message), TC_ERROR_TEXT - 1);
  tc_error_at(&held.err, "%s", text);
  assert_int_equal(strlen(held.err.where), TC_ERROR_WHERE - 1);
  for (size_t i = 0; i < sizeof held.fence; i++) assert_int_equal(held.fence[i], 0x55);
}

static void the_innermost_place_stays(void **state) {
  (void)state;
  struct tc_error err;
  tc_fail(&err, TC_DTYPE, "ops", "no");
  tc_error_at(&err, "model.lua:%d", 7);
  tc_error_at(&err, "outer.lua:1");
  assert_string_equal(err.where, "model.lua:7");
  tc_error_at(NULL, "nowhere");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_complete_and_unique),
      cmocka_unit_test(defaults_are_defaults),
      cmocka_unit_test(every_switch_is_set_and_read_by_name),
      cmocka_unit_test(booleans_take_the_usual_words),
      cmocka_unit_test(bad_values_are_refused_by_name_and_change_nothing),
      cmocka_unit_test(environment_sets_every_switch),
      cmocka_unit_test(a_bad_environment_names_its_variable),
      cmocka_unit_test(the_key_follows_the_rows_marked_so),
      cmocka_unit_test(the_switches_of_opening_are_those_of_the_context),
      cmocka_unit_test(channels_are_parsed),
      cmocka_unit_test(an_unknown_channel_is_named_with_the_known_ones),
      cmocka_unit_test(only_channels_that_are_on_write),
      cmocka_unit_test(every_status_has_a_name_and_a_text),
      cmocka_unit_test(fail_fills_the_record),
      cmocka_unit_test(long_messages_are_cut_not_spilled),
      cmocka_unit_test(the_innermost_place_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

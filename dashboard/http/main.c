/* tbench-serve: the program that `tbench serve` starts. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "dashboard/server/server.h"
#include "dashboard/store/backup.h"

static enum tb_exit failed(const struct tb_store *store) {
  return (enum tb_exit)tb_verb_failed("serve", "%s", store->error);
}

static enum tb_exit list_tokens(struct tb_store *store) {
  sqlite3_stmt *all = tb_store_get(store, TB_SQL_TOKENS);
  char created[32];
  if (!all) return failed(store);
  while (sqlite3_step(all) == SQLITE_ROW) {
    tb_time_text(sqlite3_column_int64(all, 3), created, sizeof created);
    printf("%lld  %s  made %s\n", (long long)sqlite3_column_int64(all, 0),
           sqlite3_column_int(all, 2) == TB_SCOPE_WRITE ? "write" : "read ", created);
  }
  tb_store_done(all);
  return TB_EXIT_PASS;
}

static enum tb_exit new_token(struct tb_store *store, enum tb_scope scope) {
  char token[TB_TOKEN_TEXT];
  if (!tb_token_new(store, scope, token) || !tb_store_set_meta(store, "first_token", 1, false))
    return failed(store);
  printf("token for %s, shown this once: %s\n", scope == TB_SCOPE_WRITE ? "writing" : "reading", token);
  return TB_EXIT_PASS;
}

static enum tb_exit remove_token(struct tb_store *store, const char *number) {
  long long id;
  sqlite3_stmt *remove = tb_store_get(store, TB_SQL_REMOVE_TOKEN);
  if (!tb_whole_parse(number, &id))
    return (enum tb_exit)tb_verb_usage("serve", "token=remove:%s: use a number that token=list shows",
                                       number);
  if (!remove) return failed(store);
  sqlite3_bind_int64(remove, 1, id);
  if (!tb_store_run(store, remove)) return failed(store);
  if (sqlite3_changes(store->db)) return TB_EXIT_PASS;
  return (enum tb_exit)tb_verb_usage("serve", "token=remove:%s: there is no such token (token=list)", number);
}

/* A server that runs meanwhile takes changes over within a second. */
static enum tb_exit manage_tokens(const struct tb_settings *settings) {
  static const char removal[] = "remove:";
  enum { CACHE_KIB = 512 };
  struct tb_store store;
  struct tc_error err;
  const char *what = settings->token;
  const bool known = !strcmp(what, "new") || !strcmp(what, "read") || !strcmp(what, "list") ||
                     !strncmp(what, removal, strlen(removal));
  if (!known)
    return (enum tb_exit)tb_verb_usage("serve", "token=%s: use new, read, list or remove:NUMBER", what);
  /* a token may be made before the first server is; a list of none, or one less, is asked of a wrong name */
  const bool makes = !strcmp(what, "new") || !strcmp(what, "read");
  if (!makes && tb_backup_source(settings->db, &err) != TC_OK)
    return (enum tb_exit)tb_verb_failed("serve", "%s", err.message);
  if (tb_store_open(&store, settings->db, TB_STORE_WRITE, CACHE_KIB, &err) != TC_OK)
    return (enum tb_exit)tb_verb_failed("serve", "%s", err.message);
  enum tb_exit code;
  if (!strcmp(what, "new"))
    code = new_token(&store, TB_SCOPE_WRITE);
  else if (!strcmp(what, "read"))
    code = new_token(&store, TB_SCOPE_READ);
  else if (!strcmp(what, "list"))
    code = list_tokens(&store);
  else
    code = remove_token(&store, what + strlen(removal));
  tb_store_close(&store);
  return code;
}

static enum tb_exit back_up(const struct tb_settings *settings) {
  struct tb_interrupt interrupt;
  struct tc_error err;
  tc_status status = tb_interrupt_open(&interrupt, &err);
  if (status != TC_OK) return (enum tb_exit)tb_verb_failed("serve", "%s", err.message);
  status = tb_backup(settings->db, settings->backup, &interrupt, &err);
  tb_interrupt_close(&interrupt);
  if (status == TC_INTERRUPTED) return TB_EXIT_INTERRUPTED;
  if (status == TC_ARG) return (enum tb_exit)tb_verb_usage("serve", "%s", err.message);
  if (status != TC_OK) return (enum tb_exit)tb_verb_failed("serve", "%s", err.message);
  puts(settings->backup);
  return TB_EXIT_PASS;
}

static enum tb_exit serve(const struct tb_settings *settings) {
  struct tc_error err = {.message = ""};
  const tc_status status = tb_server_run(settings, &err);
  if (status == TC_OK) return TB_EXIT_PASS;
  return (enum tb_exit)(status == TC_ARG ? tb_verb_usage("serve", "%s", err.message)
                                         : tb_verb_failed("serve", "%s", err.message));
}

/* Memory comes and goes with each document: what was given back is kept for the next one, not asked of the
 * system again each time. */
static void keep_memory(void) {
#ifdef __GLIBC__
  enum { KEEP_BYTES = 4 << 20, MAPPED_BYTES = 1 << 20 };
  mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
  mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
#endif
}

int main(int argc, char **argv) {
  struct tb_verb verb;
  struct tb_settings settings;
  enum tb_exit code = TB_EXIT_USAGE;
  signal(SIGPIPE, SIG_IGN);
  keep_memory();
  signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is told like a full disk */
  if (!tb_verb_begin(&verb, "serve", argc - 1, argv + 1, 0)) return TB_EXIT_USAGE;
  if (tb_settings_read(&verb, &settings))
    code = settings.token    ? manage_tokens(&settings)
           : settings.backup ? back_up(&settings)
                             : serve(&settings);
  tb_verb_end(&verb);
  return fflush(stdout) ? (int)TB_EXIT_FAILED : (int)code;
}

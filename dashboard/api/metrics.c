/* The server about itself: /health and /metrics (Prometheus text). */
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "dashboard/server/answer.h"
#include "harness/base/build.h"

/* After a commit that failed it is not well until one succeeds: whoever watches it learns that results are
 * turned away, and why. */
void tb_health(struct tb_query *request, struct tb_store *store) {
  const struct tb_writer_counts counts = tb_writer_counts(request->server->writer);
  struct tc_strbuf *out = &request->answer.body;
  (void)store;
  request->answer.status = counts.failing ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK;
  request->answer.type = "application/json";
  tc_strbuf_printf(out, "{\"status\":\"%s\",\"version\":\"%s\",\"commit\":\"%s\"",
                   counts.failing ? "nothing can be stored" : "ok", PACKAGE_VERSION, TB_COMMIT);
  if (counts.failing) tc_strbuf_puts(out, ",\"error\":"), tb_json_put_text(out, counts.error);
  tc_strbuf_puts(out, "}\n");
}

static void put(struct tc_strbuf *out, const char *name, const char *type, const char *help, double value) {
  tc_strbuf_printf(out, "# HELP tbench_%s %s\n# TYPE tbench_%s %s\ntbench_%s %.17g\n", name, help, name, type,
                   name, value);
}

static double resident_bytes(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file) return 0;
  if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void put_answers(struct tc_strbuf *out, struct tb_server *server) {
  tc_strbuf_puts(
      out, "# HELP tbench_http_answers_total answers by status\n# TYPE tbench_http_answers_total counter\n");
  for (int i = 0; i < TB_STATUSES; i++) {
    const unsigned long long count = atomic_load(&server->answered[i]);
    if (count) tc_strbuf_printf(out, "tbench_http_answers_total{status=\"%d\"} %llu\n", i, count);
  }
}

static double connections_of(struct tb_server *server) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return info ? info->num_connections : 0;
}

static double count_of(struct tb_store *store, enum tb_statement which) {
  sqlite3_stmt *count = tb_store_get(store, which);
  const double value = tb_store_step(store, count) ? sqlite3_column_double(count, 0) : 0;
  if (count) tb_store_done(count);
  return value;
}

void tb_metrics(struct tb_query *request, struct tb_store *store) {
  struct tb_server *server = request->server;
  struct tc_strbuf *out = &request->answer.body;
  const struct tb_writer_counts counts = tb_writer_counts(server->writer);
  request->answer.type = "text/plain; version=0.0.4; charset=utf-8";
  put(out, "start_time_seconds", "gauge", "when the server started, since 1970",
      (double)server->started_ms / 1000);
  put(out, "documents", "gauge", "stored documents", (double)tb_store_meta(store, "documents"));
  put(out, "points", "gauge", "stored points, one for each case of a document",
      (double)tb_store_meta(store, "points"));
  put(out, "series_waiting", "gauge", "series with points not analysed yet",
      count_of(store, TB_SQL_COUNT_DIRTY));
  put(out, "writes_waiting", "gauge", "documents that wait to be stored",
      (double)tb_writer_waiting(server->writer));
  put(out, "commits_total", "counter", "groups committed", (double)counts.groups);
  put(out, "commits_failed_total", "counter", "groups that could not be committed",
      (double)counts.failed_groups);
  put(out, "writes_total", "counter", "documents and other items written", (double)counts.items);
  put(out, "writer_busy_seconds_total", "counter", "working time of the writer", counts.busy_s);
  put(out, "connections", "gauge", "open connections", connections_of(server));
  put(out, "requests_active", "gauge", "requests not answered yet", atomic_load(&server->active));
  put(out, "answer_bytes", "gauge", "large answers that clients have not read yet",
      (double)atomic_load(&server->answer_bytes));
  put(out, "body_bytes_total", "counter", "bytes of documents received",
      (double)atomic_load(&server->taken_bytes));
  put(out, "resident_memory_bytes", "gauge", "memory of the process", resident_bytes());
  put_answers(out, server);
}

/* GET /result: one stored result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/ablation.h"
#include "dashboard/api/lists.h"
#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"
#include "reporters/reporter.h"

/* What a reporter prints, as it stands. */
static void put_report(struct tc_strbuf *out, const cJSON *document, const char *name, const char *title) {
  const struct tb_reporter *reporter = tb_reporter_find(name);
  const struct tb_report_options options = {.verbose = true};
  char *text = NULL;
  size_t length = 0;
  FILE *stream = reporter ? open_memstream(&text, &length) : NULL;
  if (!stream) return;
  const bool good = reporter->write(document, &options, stream);
  if (!fclose(stream) && good && length) {
    tc_strbuf_printf(out, "<section><h2>%s</h2><pre tabindex=0>", title);
    for (char *line = text; *line;) {
      const size_t bytes = strcspn(line, "\n");
      const bool more = line[bytes];
      line[bytes] = '\0';
      tb_web_text(out, line);
      tc_strbuf_puts(out, "\n");
      line += bytes + more;
    }
    tc_strbuf_puts(out, "</pre></section>\n");
  }
  free(text);
}

/* A link to the ablation, where the result has one. */
static void put_ablation(struct tc_strbuf *out, const cJSON *document, const char *key) {
  struct tb_ablation ablation;
  const struct tb_web_pair query[] = {{"key", key}};
  if (tb_ablation_make(document, &ablation) && ablation.n_rows) {
    tc_strbuf_puts(out, "<p>");
    tb_web_link(out, "", "/ablation", query, TB_COUNT(query), "what each switch of compile time buys");
    tc_strbuf_puts(out, "</p>\n");
  }
  tb_ablation_free(&ablation);
}

void tb_page_result(struct tb_query *request, struct tb_store *store) {
  const char *key = tb_argument(request, "key");
  struct tc_strbuf *out = &request->answer.body;
  cJSON *document = tb_document_json(request, store, key);
  if (!document) {
    tb_web_error(request);
    return;
  }
  tb_web_begin(request, "Result", "/result");
  tc_strbuf_puts(out, "<p>commit ");
  tb_web_commit(out, tb_doc_text(document, "tbench.commit", "?"));
  tc_strbuf_puts(out, ", started ");
  tb_web_text(out, tb_doc_text(document, "started", "?"));
  tc_strbuf_printf(out, " · <a href=\"/api/v1/results/%s\">JSON</a></p>\n", key);
  put_ablation(out, document, key);
  put_report(out, document, "console", "Figures");
  cJSON_Delete(document);
  tb_web_end(request);
}

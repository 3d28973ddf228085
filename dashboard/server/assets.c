/* Files that pages need. */
#include "dashboard/server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TB_DYGRAPHS
#define TB_DYGRAPHS "/usr/share/javascript/dygraphs"
#endif

static const unsigned char style[] = {
#include "dashboard/pages/style.css.inc"
};
static const unsigned char script[] = {
#include "dashboard/pages/page.js.inc"
};

/* The whole file; false where it cannot be read. */
static bool load(const char *name, struct tb_asset *out) {
  enum { PATH = 4096, MOST = 4 << 20 };
  char path[PATH];
  snprintf(path, sizeof path, "%s/%s", TB_DYGRAPHS, name);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  out->data = malloc(MOST);
  out->length = out->data ? fread(out->data, 1, MOST, file) : 0;
  char *fit = out->length ? realloc(out->data, out->length) : NULL;
  if (fit) out->data = fit;
  fclose(file);
  return out->length > 0;
}

void tb_assets_open(struct tb_assets *assets) {
  *assets = (struct tb_assets){0};
  if (!load("dygraph.min.js", &assets->chart) || !load("dygraph.min.css", &assets->chart_style))
    fprintf(stderr, "tbench serve: no charts, only tables: there is no dygraphs in " TB_DYGRAPHS
                    " (Debian package: libjs-dygraphs; configure --with-dygraphs=DIR)\n");
}

void tb_assets_close(struct tb_assets *assets) {
  free(assets->chart.data);
  free(assets->chart_style.data);
}

static void give(struct tb_query *request, const char *type, const void *data, size_t length) {
  struct tb_answer *answer = &request->answer;
  answer->status = MHD_HTTP_OK;
  answer->type = type;
  answer->cached = true;
  if (length)
    tc_strbuf_bytes(&answer->body, data, length);
  else
    tc_strbuf_puts(&answer->body, "/* dygraphs is not installed */\n");
}

static const char css[] = "text/css; charset=utf-8", javascript[] = "text/javascript; charset=utf-8";

void tb_asset_style(struct tb_query *request, struct tb_store *store) {
  (void)store, give(request, css, style, sizeof style);
}
void tb_asset_script(struct tb_query *request, struct tb_store *store) {
  (void)store, give(request, javascript, script, sizeof script);
}

void tb_asset_chart(struct tb_query *request, struct tb_store *store) {
  (void)store;
  give(request, javascript, request->server->assets.chart.data, request->server->assets.chart.length);
}

void tb_asset_chart_style(struct tb_query *request, struct tb_store *store) {
  (void)store;
  give(request, css, request->server->assets.chart_style.data, request->server->assets.chart_style.length);
}

/* Files that pages need: our own are in the program; those of dygraphs are read when the server starts.
 * Nothing of a request's path reaches the file system. */
#ifndef TB_DASHBOARD_ASSETS_H
#define TB_DASHBOARD_ASSETS_H

#include <stddef.h>

struct tb_asset {
  char *data;
  size_t length;
};
struct tb_assets {
  struct tb_asset chart, chart_style;
};

/* Without dygraphs a line on standard error says that there are tables alone. */
void tb_assets_open(struct tb_assets *assets);
void tb_assets_close(struct tb_assets *assets);

#endif

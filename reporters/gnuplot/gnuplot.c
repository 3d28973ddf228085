/* Pictures of a result, drawn by gnuplot (an external program): which kinds stand on a page, and its files.
 *
 * Each file is written under another name, and renamed when it is whole. */
#include "reporters/gnuplot/gnuplot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *name, *needs;
} kinds[] = {
#define TB_PLOT(NAME, name, needs, help) {name, needs},
#include "reporters/gnuplot/plots.def"
#undef TB_PLOT
};

typedef bool add_panels(struct tb_page *page, const struct tb_plot_subject *subject);
static add_panels *const adders[TB_PLOT_KINDS] = {[TB_PLOT_SPEEDUP] = tb_plot_speedup,
                                                  [TB_PLOT_COMPILE] = tb_plot_compile,
                                                  [TB_PLOT_ABLATION] = tb_plot_ablation,
                                                  [TB_PLOT_ROOFLINE] = tb_plot_roofline,
                                                  [TB_PLOT_HISTORY] = tb_plot_history};
static const char *const formats[TB_PLOT_FORMATS] = {
    [TB_PLOT_SVG] = "svg", [TB_PLOT_PNG] = "png", [TB_PLOT_PDF] = "pdf"};

const char *tb_plot_kind_name(enum tb_plot_kind kind) { return kinds[kind].name; }
const char *tb_plot_format_name(enum tb_plot_format format) { return formats[format]; }

/* --- files --- */

enum { DRAFT_PATH = TB_PLOT_PATH + 8 };

struct draft {
  FILE *out;
  const char *path;
  char name[DRAFT_PATH];
};

static bool open_draft(struct draft *d, const char *path) {
  d->path = path;
  snprintf(d->name, sizeof d->name, "%s.part", path);
  d->out = fopen(d->name, "we");
  return d->out != NULL;
}

/* False, with errno, when it was not written. */
static bool close_draft(struct draft *d) {
  bool good = !fflush(d->out) && !ferror(d->out);
  int saved = errno;
  if (fclose(d->out) && good) good = false, saved = errno;
  if (good && rename(d->name, d->path)) good = false, saved = errno;
  if (!good) unlink(d->name);
  errno = saved;
  return good;
}

static bool fail(struct tb_plot *plot, const char *text) {
  return snprintf(plot->message, sizeof plot->message, "%s", text), false;
}

/* "FILE was not written: reason", from errno. */
static bool not_written(struct tb_plot *plot, const char *path) {
  snprintf(plot->message, sizeof plot->message, "%s was not written: %s", path, strerror(errno));
  return false;
}

static bool write_data(const struct tb_page *page, struct tb_plot *plot) {
  struct draft draft;
  if (!open_draft(&draft, plot->data)) return not_written(plot, plot->data);
  fputs("# Data of the pictures beside it, for gnuplot: blocks with an empty line before and after them, "
        "columns by blanks, NaN where nothing is known.\n\n\n",
        draft.out);
  fwrite(page->data_text, 1, page->data_size, draft.out);
  return close_draft(&draft) || not_written(plot, plot->data);
}

static bool write_script(const struct tb_page *page, const char *title, struct tb_plot *plot) {
  struct draft draft;
  if (!open_draft(&draft, plot->script)) return not_written(plot, plot->script);
  tb_page_script(page, plot, title, draft.out);
  return close_draft(&draft) || not_written(plot, plot->script);
}

static bool name_files(struct tb_plot *plot, const char *stem, unsigned wanted) {
  memset(plot, 0, sizeof *plot);
  if (strlen(stem) + sizeof ".data" > TB_PLOT_PATH) return fail(plot, "the path is too long");
  snprintf(plot->data, sizeof plot->data, "%s.dat", stem);
  snprintf(plot->script, sizeof plot->script, "%s.gp", stem);
  for (int f = 0; f < TB_PLOT_FORMATS; f++)
    if (wanted & 1u << f) snprintf(plot->picture[f], sizeof plot->picture[f], "%s.%s", stem, formats[f]);
  return true;
}

/* --- the page --- */

static unsigned usual_kinds(const struct tb_plot_subject *s) {
  if (s->options->history) return 1u << TB_PLOT_HISTORY;
  if (s->ablation->n_rows) return 1u << TB_PLOT_ABLATION;
  return 1u << TB_PLOT_SPEEDUP | 1u << TB_PLOT_COMPILE | 1u << TB_PLOT_ROOFLINE;
}

/* "a", "a, b", "a, b, …" suites · when they were started. */
static void page_title(const struct tb_plot_subject *s, char *out, size_t size) {
  enum { NAMED = 2 };
  const char *named[NAMED];
  int n = 0;
  const cJSON *c;
  size_t used = 0;
  *out = '\0';
  cJSON_ArrayForEach(c, tb_doc_at(s->result, "cases")) {
    const char *suite = tb_doc_text(c, "case.suite", "?");
    bool known = n > NAMED;
    for (int i = 0; i < n && i < NAMED; i++) known |= !strcmp(named[i], suite);
    if (known) continue;
    if (n < NAMED) {
      named[n] = suite;
      snprintf(out + used, size - used, "%s%.80s", n ? ", " : "", suite);
    } else {
      snprintf(out + used, size - used, ", …");
    }
    used = strlen(out);
    n++;
  }
  snprintf(out + used, size - used, "%s%s", n ? " · " : "", tb_doc_text(s->result, "started", ""));
  used = strlen(out);
  if (s->options->history)
    snprintf(out + used, size - used, ", and %d earlier run%s", s->options->history->n_runs - 1,
             s->options->history->n_runs == 2 ? "" : "s");
}

/* "3 cases not drawn: 2 wrong, 1 crashed" behind what is there; nothing where there are none. */
static void append_omitted(const struct tb_omitted *omitted, const char *what, const char *of, char *out,
                           size_t size) {
  char why[TB_PLOT_TITLE / 2];
  const size_t used = strlen(out);
  if (!omitted->total) return;
  tb_omitted_text(omitted, why, sizeof why);
  snprintf(out + used, size - used, "%s%d %s%s%s not drawn: %s", used ? "; " : "", omitted->total, what,
           omitted->total == 1 ? "" : "s", of, why);
}

/* Pictures are of cases that are right: how many are not, and why, stands below the title and among what is
 * told. A history is of those of all its runs, the newest among them. */
static void tell_omitted(struct tb_page *page, const struct tb_plot_subject *s, unsigned wanted) {
  const unsigned history = s->options->history ? 1u << TB_PLOT_HISTORY : 0;
  struct tb_omitted omitted = {0};
  char text[TB_PLOT_TITLE] = "";
  const cJSON *c;
  cJSON_ArrayForEach(c, tb_doc_at(s->result, "cases")) tb_omitted_add(&omitted, c);
  if (wanted != history) append_omitted(&omitted, "case", "", text, sizeof text);
  if (wanted & history)
    append_omitted(&s->options->history->omitted, "measurement", " of the history", text, sizeof text);
  if (!*text) return;
  tb_page_second(page, text);
  tb_page_tell(page, text);
}

/* Adds what is wanted; kinds that were asked for and have nothing to draw are told. */
static bool fill_page(struct tb_page *page, const struct tb_plot_subject *s) {
  const unsigned asked = s->options->kinds, wanted = asked ? asked : usual_kinds(s);
  tell_omitted(page, s, wanted);
  for (int kind = 0; kind < TB_PLOT_KINDS; kind++) {
    const int before = page->n_panels;
    if (!(wanted & 1u << kind)) continue;
    if (!adders[kind](page, s)) return false;
    if (asked && page->n_panels == before)
      tb_page_note(page, "nothing to draw for kind=%s: no case that is right has %s", kinds[kind].name,
                   kinds[kind].needs);
  }
  if (!page->n_panels && !asked)
    tb_page_note(page, "nothing to draw: no case that is right has a speedup or a compile time");
  return tb_page_flush(page);
}

static bool make_page(struct tb_page *page, const struct tb_plot_subject *s, struct tb_plot *plot) {
  char title[TB_PLOT_TITLE];
  if (!tb_page_open(page) || !fill_page(page, s)) return fail(plot, "out of memory");
  snprintf(plot->message, sizeof plot->message, "%s", page->notes);
  if (!page->n_panels) return true;
  page_title(s, title, sizeof title);
  if (!write_data(page, plot) || !write_script(page, title, plot)) return false;
  plot->drawn = tb_gnuplot_draw(plot);
  return true;
}

bool tb_plot_result(const cJSON *result, const char *stem, const struct tb_plot_options *options,
                    struct tb_plot *plot) {
  struct tb_ablation ablation;
  struct tb_page page;
  if (!name_files(plot, stem, options->formats ? options->formats : 1u << TB_PLOT_SVG | 1u << TB_PLOT_PNG))
    return false;
  const struct tb_plot_subject subject = {result, options, &ablation};
  bool good = tb_ablation_make(result, &ablation);
  if (!good) {
    fail(plot, "out of memory");
  } else {
    good = make_page(&page, &subject, plot);
    tb_page_close(&page);
  }
  tb_ablation_free(&ablation);
  return good;
}

/* The page: panels below one another, blocks of data, and the script that draws them.
 *
 * Invariants:
 * 1. Nothing of a document comes into the script outside of a quoted string, or into the data outside of a
 *    quoted column or a comment.
 * 2. Panels are placed by pixels from the top, so that the height of the page is known at its end alone.
 * 3. A block is found by its name ("block 7:"), so that a reader can take blocks out. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/gnuplot/gnuplot.h"

enum {
  WIDTH = 960,
  TOP = 44,
  SECOND = 20 /* line of the title */,
  BOTTOM = 8,
  NOTE = 18 /* line below the panels */,
  POINTS_AN_INCH = 72
};

/* Okabe and Ito's colours, which colour-blind readers tell apart; each with its own shape and dash
 * besides. */
static const struct {
  const char *name, *colour;
  int shape, dash;
} styles[TB_PLOT_SERIES] = {{"blue", "#0072B2", 7, 1},    {"vermilion", "#D55E00", 5, 2},
                            {"green", "#009E73", 9, 3},   {"pink", "#CC79A7", 13, 4},
                            {"orange", "#E69F00", 11, 5}, {"sky", "#56B4E9", 6, 1},
                            {"black", "#000000", 4, 2}};

bool tb_page_open(struct tb_page *page) {
  *page = (struct tb_page){.height = TOP};
  page->data = open_memstream(&page->data_text, &page->data_size);
  page->script = open_memstream(&page->script_text, &page->script_size);
  return page->data && page->script;
}

bool tb_page_flush(struct tb_page *page) {
  const bool data = !fflush(page->data) && !ferror(page->data);
  return !fflush(page->script) && !ferror(page->script) && data;
}

void tb_page_close(struct tb_page *page) {
  if (page->data) fclose(page->data);
  if (page->script) fclose(page->script);
  free(page->data_text);
  free(page->script_text);
}

/* --- text --- */

/* Length of the UTF-8 character at `text`; 0: it is none. */
static int character(const char *text) {
  static const struct {
    unsigned char from, to, second_from, second_to;
    int length;
  } kinds[] = {{0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
               {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
               {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
  const unsigned char *t = (const unsigned char *)text;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (*t < kinds[k].from || *t > kinds[k].to) continue;
    if (kinds[k].length > 1 && (t[1] < kinds[k].second_from || t[1] > kinds[k].second_to)) return 0;
    for (int i = 2; i < kinds[k].length; i++)
      if ((t[i] & 0xC0) != 0x80) return 0;
    return kinds[k].length;
  }
  return 0;
}

/* Is it of a script that the usual fonts have, and no control? Of a character that no font has, gnuplot 5.4
 * draws an emblem as large as the page on PNG and PDF. */
static bool is_drawn(unsigned code) {
  static const struct {
    unsigned from, to;
  } scripts[] = {{0x20, 0x7E},     {0xA0, 0x377},    {0x37A, 0x37F},   {0x384, 0x52F},   {0x1E00, 0x1EFF},
                 {0x2010, 0x2027}, {0x2030, 0x205E}, {0x2070, 0x2071}, {0x2074, 0x208E}, {0x20A0, 0x20B5},
                 {0x2100, 0x2149}, {0x2190, 0x2311}, {0x2500, 0x269C}, {0x2701, 0x27BE}};
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
    if (code >= scripts[i].from && code <= scripts[i].to) return true;
  return false;
}

/* The character at `text`, '?' for one that cannot be drawn, nothing for one that would end a line; returns
 * how many bytes were read. */
static int put_character(FILE *out, const char *text) {
  const int length = character(text);
  if (!length) return fputc('?', out), 1;
  /* Code point of a whole character. */
  static const unsigned char first[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  unsigned code = (unsigned char)*text & first[length];
  for (int i = 1; i < length; i++) code = code << 6 | ((unsigned char)text[i] & 0x3F);
  if (is_drawn(code))
    fwrite(text, 1, (size_t)length, out);
  else if (code >= ' ')
    fputc('?', out);
  return length;
}

/* Would the character at `at` end a "]]>"? gnuplot writes it into an SVG as it stands, where it must not be.
 * What lies between and is dropped does not keep the two apart. */
static bool closes(const char *text, const char *at) {
  if (*at != '>') return false;
  while (at > text && (unsigned char)at[-1] < ' ') at--;
  return at > text && at[-1] == ']';
}

/* A quote becomes an apostrophe: gnuplot takes one at the beginning of a string for its end, doubled or
 * not. */
static void quote(FILE *out, const char *text, char doubled) {
  const char *const begin = text;
  fputc('\'', out);
  while (*text) {
    if (*text == '\'' || closes(begin, text)) {
      fputs(*text == '>' ? "›" : "’", out), text++;
      continue;
    }
    if (*text == doubled) fputc(*text, out);
    text += put_character(out, text);
  }
  fputc('\'', out);
}

void tb_plot_quote(FILE *out, const char *text) { quote(out, text, '\0'); }
void tb_plot_quote_tic(FILE *out, const char *text) { quote(out, text, '%'); }

/* The name of a file in this folder, byte for byte. "./", since gnuplot would run what follows a '|' or
 * '<'. */
static void put_file(FILE *out, const char *name) {
  fputs("\"./", out);
  for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
    const bool plain = *at > 0x7F || (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') ||
                       (*at >= 'a' && *at <= 'z') || strchr(" ._-+=,", *at);
    if (plain)
      fputc(*at, out);
    else
      fprintf(out, "\\%03o", *at);
  }
  fputc('"', out);
}

void tb_plot_column(FILE *out, const char *text) {
  const char *const begin = text;
  fputc('"', out);
  while (*text) {
    if (*text == '"' || *text == '\\')
      fputc('_', out), text++;
    else if (closes(begin, text))
      fputs("›", out), text++;
    else
      text += put_character(out, text);
  }
  fputc('"', out);
}

static bool begins_character(char c) { return ((unsigned char)c & 0xC0) != 0x80; }

void tb_plot_shorten(char *text, int most) {
  int count = 0, at = 0;
  char *head = text, *tail = text;
  for (const char *t = text; *t; t++) count += begins_character(*t);
  if (count <= most || most < 4) return;
  for (char *t = text; *t; t++) {
    if (!begins_character(*t)) continue;
    if (at == most / 2) head = t;
    if (at == count - (most - most / 2 - 1)) tail = t;
    at++;
  }
  static const char gap[] = "…";
  if (tail - head < (long)strlen(gap)) return; /* nothing would be won */
  memcpy(head, gap, strlen(gap));
  memmove(head + strlen(gap), tail, strlen(tail) + 1);
}

/* --- panels and blocks --- */

void tb_page_second(struct tb_page *page, const char *text) {
  snprintf(page->second, sizeof page->second, "%s", text);
  page->height += *text ? SECOND : 0;
}

void tb_page_panel(struct tb_page *page, int height, int legend_lines, const char *what) {
  FILE *out = page->script;
  fputs("\n", out);
  fprintf(out, "# --- panel %d: ", ++page->n_panels);
  while (*what) { /* a brace in a comment would count as one of the loop around it */
    if (*what == '{' || *what == '}')
      fputc('_', out), what++;
    else
      what += put_character(out, what);
  }
  fputs(" ---\nreset\n", out);
  page->height += height;
  fprintf(out, "set size 1, %d. / height\nset origin 0, 1 - %d. / height   # from the top, in pixels\n",
          height, page->height);
  fputs("set grid lc rgb '#bbbbbb' dt 3 lw 0.6\nset border 3 lc rgb '#444444'\nset tics nomirror\n", out);
  if (legend_lines)
    fprintf(out, "set key below left Left reverse horizontal maxcols 1 samplen 3 width 1\nset bmargin %g\n",
            4 + 1.05 * legend_lines);
  else
    fputs("set key off\n", out);
}

void tb_page_title(struct tb_page *page, const char *title, const char *second) {
  fputs("set title ", page->script);
  tb_plot_quote(page->script, title);
  if (*second) {
    fputs(".\"\\n\".", page->script);
    tb_plot_quote(page->script, second);
  }
  fputc('\n', page->script);
}

int tb_page_block(struct tb_page *page, const char *what, const char *columns) {
  if (page->n_blocks) fputs("\n\n", page->data);
  fprintf(page->data, "# block %d: ", ++page->n_blocks);
  while (*what) what += put_character(page->data, what);
  fputc('\n', page->data);
  const char *text = columns;
  fputs("# ", page->data);
  while (*text) text += put_character(page->data, text);
  fputc('\n', page->data);
  return page->n_blocks;
}

void tb_page_index(struct tb_page *page, int block) {
  fprintf(page->script, "data index 'block %d:' ", block);
}

void tb_page_tell(struct tb_page *page, const char *text) {
  const size_t used = strlen(page->notes);
  snprintf(page->notes + used, sizeof page->notes - used, "%s%s", used ? "; " : "", text);
}

void tb_page_note(struct tb_page *page, const char *format, ...) {
  char text[TB_PLOT_TITLE];
  const size_t used = strlen(page->below);
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tb_page_tell(page, text);
  if (used + strlen(text) + 1 >= sizeof page->below) return;
  snprintf(page->below + used, sizeof page->below - used, "%s\n", text);
  page->n_below++;
}

/* --- axes --- */

void tb_plot_log_range(double *lo, double *hi) {
  static const double room = 0.06, least = 1.04;
  const double factor = fmax(pow(*hi / *lo, room), least);
  *lo /= factor;
  *hi *= factor;
}

enum { TICS_MIN = 4, TICS_MAX = 9, TICS_ROOM = 128 };

/* Tics of these tenths in every `stride`-th decade. */
static int decade_tics(double lo, double hi, const unsigned char *tenths, int stride, double *out) {
  int n = 0;
  for (int decade = (int)floor(log10(lo)); decade <= (int)floor(log10(hi)); decade++) {
    for (const unsigned char *t = tenths; *t && decade % stride == 0; t++) {
      const double value = *t / 10.0 * pow(10, decade);
      if (value >= lo && value <= hi && n < TICS_ROOM) out[n++] = value;
    }
  }
  return n;
}

/* Less than a few tics by decades: even steps of 1, 2 or 5 times a power of ten. */
static int even_tics(double lo, double hi, double *out) {
  static const double nice[] = {1, 2, 5, 10};
  const double least = (hi - lo) / (TICS_MAX - 1), power = pow(10, floor(log10(least)));
  double step = power;
  int n = 0;
  for (size_t i = 0; i < sizeof nice / sizeof *nice && step < least; i++) step = nice[i] * power;
  for (double k = ceil(lo / step); k * step <= hi && n < TICS_ROOM; k++) out[n++] = k * step;
  return n;
}

static int choose_tics(double lo, double hi, double *out) {
  static const unsigned char sets[][8] = {
      {10}, {10, 30}, {10, 20, 50}, {10, 15, 20, 30, 40, 50, 70}, {10, 12, 15, 20, 25, 30, 40}};
  enum { N_SETS = sizeof sets / sizeof *sets, COARSE = 3, FEW = 5 };
  int n = 0;
  for (int i = 0; i < N_SETS && n < (i < COARSE ? TICS_MIN : FEW); i++)
    n = decade_tics(lo, hi, sets[i], 1, out);
  for (int stride = 2; n > TICS_MAX && stride < TICS_ROOM && hi / lo > pow(10, TICS_MAX); stride++)
    n = decade_tics(lo, hi, sets[0], stride, out);
  return n < TICS_MIN || n > TICS_MAX ? even_tics(lo, hi, out) : n;
}

void tb_plot_log_axis(FILE *out, char axis, double lo, double hi) {
  double tics[TICS_ROOM];
  tb_plot_log_range(&lo, &hi);
  const int n = choose_tics(lo, hi, tics);
  fprintf(out, "set logscale %c\nset %crange [%.9g:%.9g]\nset %ctics (", axis, axis, lo, hi, axis);
  for (int i = 0; i < n; i++) fprintf(out, "%s'%.6g' %.9g", i ? ", " : "", tics[i], tics[i]);
  fputs(")\n", out);
}

/* --- the script --- */

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int whole_height(const struct tb_page *page) { return page->height + NOTE * page->n_below + BOTTOM; }

static void put_terminal(const struct tb_page *page, const struct tb_plot *plot, enum tb_plot_format format,
                         FILE *out) {
  const int height = whole_height(page);
  fprintf(out, "if (format eq '%s') {\n  set terminal ", tb_plot_format_name(format));
  if (format == TB_PLOT_SVG)
    fprintf(out, "svg noenhanced size %d,%d dynamic background '#ffffff' font 'sans,13'", WIDTH, height);
  else if (format == TB_PLOT_PNG)
    fprintf(out, "pngcairo noenhanced size %d,%d background '#ffffff' font 'sans,10'", WIDTH, height);
  else
    fprintf(out, "pdfcairo noenhanced size %.3fin,%.3fin background '#ffffff' font 'sans,13' fontscale 1",
            (double)WIDTH / POINTS_AN_INCH, (double)height / POINTS_AN_INCH);
  fputs("\n  set output ", out);
  put_file(out, base_name(plot->picture[format]));
  fputs("\n}\n", out);
}

/* What is not drawn, line by line, in a plot that has nothing else. */
static void put_below(const struct tb_page *page, FILE *out) {
  char line[TB_PLOT_TITLE];
  int n = 0;
  if (!page->n_below) return;
  fprintf(out, "\n# --- what is not drawn ---\nreset\nset size 1, %d. / height\nset origin 0, %d. / height\n",
          NOTE * page->n_below, BOTTOM);
  fputs("set lmargin 0\nset rmargin 0\nset tmargin 0\nset bmargin 0\nunset border\nunset tics\nset key "
        "off\nset xrange [0:1]\nset yrange [0:1]\n",
        out);
  for (const char *at = page->below; *at; at += strlen(line) + 1, n++) {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    fputs("set label ", out);
    tb_plot_quote(out, line);
    fprintf(out, " at graph 0.5, graph %g center font ',9' tc rgb '#444444'\n",
            1 - (n + 0.5) / page->n_below);
  }
  fputs("plot 2 notitle   # beyond the range\n", out);
}

void tb_page_script(const struct tb_page *page, const struct tb_plot *plot, const char *title, FILE *out) {
  fputs("# Draws the pictures beside it from ", out);
  for (const char *t = base_name(plot->data); *t;) t += put_character(out, t);
  fputs(" (its blocks say their columns and units).\n# Run it in its folder with gnuplot, version 5.2 or "
        "newer; change what you like.\n\nset encoding utf8\ndata = ",
        out);
  put_file(out, base_name(plot->data));
  fprintf(out, "\nheight = %d   # of the page, in pixels\n", whole_height(page));
  fputs("# Colours by Okabe and Ito, which colour-blind readers tell apart; shapes (pt) and dashes (dt) "
        "differ as well.\n",
        out);
  for (int i = 0; i < TB_PLOT_SERIES; i++)
    fprintf(out, "set linetype %d lc rgb '%s' lw 2 pt %d ps 0.8 dt %d   # %s\n", i + 1, styles[i].colour,
            styles[i].shape, styles[i].dash, styles[i].name);
  fputs("\ndo for [format in '", out);
  for (int f = 0, n = 0; f < TB_PLOT_FORMATS; f++)
    if (*plot->picture[f]) fprintf(out, "%s%s", n++ ? " " : "", tb_plot_format_name((enum tb_plot_format)f));
  fputs("'] {   # the same panels for each format\n", out);
  for (int f = 0; f < TB_PLOT_FORMATS; f++)
    if (*plot->picture[f]) put_terminal(page, plot, (enum tb_plot_format)f, out);
  fputs("set multiplot title ", out);
  tb_plot_quote(out, title);
  if (*page->second) {
    fputs(".\"\\n\".", out);
    tb_plot_quote(out, page->second);
  }
  fputs("\n", out);
  fwrite(page->script_text, 1, page->script_size, out);
  put_below(page, out);
  fputs("\nunset multiplot\nunset output\n}\n", out);
}

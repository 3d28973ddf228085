/* The text of a tensor, in the manner of PyTorch:
 *
 *     tensor([[1.0000, 2.5000],
 *             [3.0000, 4.0000]], dtype=f32, shape=[2, 2])
 *
 * Above SUMMARY_ELEMENTS elements only EDGE_ITEMS at each end of a dimension are shown. All text goes through
 * a luaL_Buffer, so that a failing allocation leaks nothing. */
#include <math.h>
#include <stdio.h>

#include "lua/module.h"
#include "tensor/host.h"

enum {
  SUMMARY_ELEMENTS = 1000,
  EDGE_ITEMS = 3,
  LINE_WIDTH = 80,
  ELEMENT_BYTES = 48,
  INDENT = 7 /* of "tensor(" */
};

enum style { STYLE_INTEGER, STYLE_WHOLE, STYLE_FIXED, STYLE_SCIENTIFIC };
static const double SCIENTIFIC_ABOVE = 1e8, SCIENTIFIC_BELOW = 1e-4, SCIENTIFIC_RATIO = 1e3;

struct printer {
  luaL_Buffer *out;
  const struct tc_tensor *x;
  bool summary;
  enum style style;
  int width;
  double low, high; /* magnitudes of finite elements that are not 0 */
  bool whole;       /* all finite elements are integers */
};

static int format_element(const struct printer *p, int64_t index, char text[ELEMENT_BYTES]) {
  const struct tc_tensor *x = p->x;
  if (x->dtype == TC_BOOL)
    return snprintf(text, ELEMENT_BYTES, "%s", tc_tensor_get_i64(x, index) ? "true" : "false");
  if (p->style == STYLE_INTEGER)
    return snprintf(text, ELEMENT_BYTES, "%lld", (long long)tc_tensor_get_i64(x, index));
  const double value = tc_tensor_get_f64(x, index);
  if (isnan(value)) return snprintf(text, ELEMENT_BYTES, "nan");
  if (isinf(value)) return snprintf(text, ELEMENT_BYTES, value > 0 ? "inf" : "-inf");
  switch (p->style) {
    case STYLE_WHOLE: return snprintf(text, ELEMENT_BYTES, "%.0f.", value);
    case STYLE_SCIENTIFIC: return snprintf(text, ELEMENT_BYTES, "%.4e", value);
    default: return snprintf(text, ELEMENT_BYTES, "%.4f", value);
  }
}

static void note_magnitude(struct printer *p, int64_t index) {
  const double value = fabs(tc_tensor_get_f64(p->x, index));
  if (!isfinite(value)) return;
  if (value != floor(value)) p->whole = false;
  if (value == 0) return;
  if (p->low == 0 || value < p->low) p->low = value;
  if (value > p->high) p->high = value;
}

static void note_width(struct printer *p, int64_t index) {
  char text[ELEMENT_BYTES];
  const int width = format_element(p, index, text);
  if (width > p->width) p->width = width;
}

static int64_t elements_below(const struct tc_tensor *x, int dim) {
  int64_t count = 1;
  for (int d = dim; d < x->ndim; d++) count *= x->sizes[d];
  return count;
}

/* The item that is shown after item i of a dimension: leaps over the elided middle. */
static int64_t next_shown(const struct printer *p, int64_t i, int64_t size) {
  return p->summary && size > 2 * EDGE_ITEMS && i + 1 == EDGE_ITEMS ? size - EDGE_ITEMS : i + 1;
}

static void each_shown(struct printer *p, int dim, int64_t first,
                       void (*visit)(struct printer *p, int64_t index)) {
  if (dim == p->x->ndim) {
    visit(p, first);
    return;
  }
  const int64_t size = p->x->sizes[dim], step = elements_below(p->x, dim + 1);
  for (int64_t i = 0; i < size; i = next_shown(p, i, size)) each_shown(p, dim + 1, first + i * step, visit);
}

static enum style choose_style(const struct printer *p) {
  if (!tc_dtype_is_float(p->x->dtype)) return STYLE_INTEGER;
  if (p->whole) return p->high > SCIENTIFIC_ABOVE ? STYLE_SCIENTIFIC : STYLE_WHOLE;
  const bool wide =
      p->high > SCIENTIFIC_ABOVE || p->low < SCIENTIFIC_BELOW || p->high > SCIENTIFIC_RATIO * p->low;
  return wide ? STYLE_SCIENTIFIC : STYLE_FIXED;
}

static void add_spaces(struct printer *p, int count) {
  while (count-- > 0) luaL_addchar(p->out, ' ');
}

static void add_element(struct printer *p, int64_t index) {
  char text[ELEMENT_BYTES];
  const int width = format_element(p, index, text);
  add_spaces(p, p->width - width);
  luaL_addstring(p->out, text);
}

static void add_line_break(struct printer *p, int count, int dim) {
  while (count-- > 0) luaL_addchar(p->out, '\n');
  add_spaces(p, INDENT + dim + 1);
}

/* The last dimension: as many elements a line as fit. */
static void add_row(struct printer *p, int64_t first) {
  const int dim = p->x->ndim - 1, room = (LINE_WIDTH - INDENT - dim - 1) / (p->width + 2),
            per_line = room > 1 ? room : 1;
  const int64_t size = p->x->sizes[dim];
  int on_line = 0;
  for (int64_t i = 0, next; i < size; i = next) {
    next = next_shown(p, i, size);
    add_element(p, first + i);
    if (next >= size) return;
    luaL_addchar(p->out, ',');
    if (++on_line == per_line)
      add_line_break(p, 1, dim);
    else
      luaL_addchar(p->out, ' ');
    on_line %= per_line;
    if (next != i + 1) luaL_addstring(p->out, "..., ");
  }
}

static void add_part(struct printer *p, int dim, int64_t first) {
  const struct tc_tensor *x = p->x;
  if (dim == x->ndim) {
    add_element(p, first);
    return;
  }
  const int64_t size = x->sizes[dim], step = elements_below(x, dim + 1);
  luaL_addchar(p->out, '[');
  if (dim == x->ndim - 1) add_row(p, first);
  for (int64_t i = 0, next; dim < x->ndim - 1 && i < size; i = next) {
    next = next_shown(p, i, size);
    add_part(p, dim + 1, first + i * step);
    if (next >= size) break;
    luaL_addchar(p->out, ',');
    add_line_break(p, x->ndim - dim - 1, dim);
    if (next != i + 1) {
      luaL_addstring(p->out, "...,");
      add_line_break(p, x->ndim - dim - 1, dim);
    }
  }
  luaL_addchar(p->out, ']');
}

static void add_tail(struct printer *p) {
  char text[ELEMENT_BYTES];
  luaL_addstring(p->out, ", dtype=");
  luaL_addstring(p->out, tc_dtype_name(p->x->dtype));
  luaL_addstring(p->out, ", shape=[");
  for (int d = 0; d < p->x->ndim; d++) {
    snprintf(text, sizeof text, d ? ", %lld" : "%lld", (long long)p->x->sizes[d]);
    luaL_addstring(p->out, text);
  }
  luaL_addstring(p->out, "])");
}

int tc_lua_tostring(lua_State *L) {
  luaL_Buffer buffer;
  const struct tc_tensor *x = tc_lua_on_host(L, tc_lua_check_tensor(L, 1, "tostring"), "tostring");
  const int64_t count = tc_tensor_numel(x);
  struct printer p = {.out = &buffer, .x = x, .summary = count > SUMMARY_ELEMENTS, .whole = true};
  luaL_buffinit(L, &buffer);
  luaL_addstring(&buffer, "tensor(");
  if (count == 0) {
    luaL_addstring(&buffer, "[]");
  } else {
    if (tc_dtype_is_float(x->dtype)) each_shown(&p, 0, 0, note_magnitude);
    p.style = choose_style(&p);
    each_shown(&p, 0, 0, note_width);
    add_part(&p, 0, 0);
  }
  add_tail(&p);
  luaL_pushresult(&buffer);
  return 1;
}

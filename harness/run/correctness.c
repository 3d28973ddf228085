/* Streams of values, compared in step. Invariants:
 * 1. Whatever is found, every stream is read to its end, so that each worker can be asked again.
 * 2. The first finding stays: later ones of the same call are often its consequence. */
#include "harness/run/correctness.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/wire/exchange.h"
#include "tensor/dtype.h"

static const double error_factor = 3, eps_factor = 8;

enum { ROLE_Y, ROLE_B, ROLE_R, ROLES };
static const char *const role_words[ROLES] = {"the compiled function", "the function", "the f64 reference"};

struct streams {
  struct tb_process *process[ROLES]; /* NULL: no such role */
  struct tb_item item[ROLES];
  size_t left[ROLES]; /* bytes of the current item's payload that are not read yet */
  bool ended[ROLES];
  double timeout_s;
  struct tb_comparison *out;
  struct tc_error *err;
  int64_t *chunk[ROLES];
};

/* --- arithmetic --- */

static const struct tb_tolerance tolerances[] = {
#define TB_TOLERANCE(dtype, eps, baseline) {dtype, eps, baseline},
#include "harness/run/tolerance.def"
#undef TB_TOLERANCE
};

const struct tb_tolerance *tb_tolerance_of(const char *dtype) {
  const struct tb_tolerance *found = NULL;
  for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++)
    if (!strcmp(tolerances[i].dtype, dtype)) found = &tolerances[i];
  return found ? found : tb_tolerance_of("f32");
}

/* NaN with NaN, an infinity with the same one. */
static bool same_special(double a, double b) { return (isnan(a) && isnan(b)) || a == b; }

void tb_maxima_add(struct tb_maxima *m, const double *y, const double *b, const double *r, size_t count,
                   double largest) {
  for (size_t i = 0; i < count; i++) {
    if (isfinite(y[i]) && isfinite(b[i]) && isfinite(r[i])) {
      m->error = fmax(m->error, fabs(y[i] - r[i]));
      m->baseline_error = fmax(m->baseline_error, fabs(b[i] - r[i]));
      m->reference = fmax(m->reference, fabs(r[i]));
      continue;
    }
    if (!same_special(y[i], b[i]) && !same_special(y[i], r[i])) m->special = true;
    if (!same_special(b[i], r[i]) && !(fabs(r[i]) > largest)) m->baseline_special = true;
  }
}

static void note(struct tb_comparison *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct tb_comparison *c, const char *format, ...) {
  if (!c->ok) return;
  c->ok = false;
  va_list args;
  va_start(args, format);
  vsnprintf(c->detail, sizeof c->detail, format, args);
  va_end(args);
}

/* Of the plain function alone. */
static void note_baseline(struct tb_comparison *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void note_baseline(struct tb_comparison *c, const char *format, ...) {
  char text[TB_DETAIL_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!*c->baseline) memcpy(c->baseline, text, sizeof text);
  note(c, "%s", text);
}

void tb_comparison_add(struct tb_comparison *c, const struct tb_maxima *m, const struct tb_tolerance *t,
                       double baseline_tolerance, bool has_reference, const char *path) {
  const double tolerated = (baseline_tolerance > 0 ? baseline_tolerance : t->baseline) * m->reference;
  const double bound =
      has_reference ? error_factor * m->baseline_error + eps_factor * t->eps * m->reference : tolerated;
  if (c->ok && tb_nearness(m->error, bound) >= tb_nearness(c->max_error, c->bound)) {
    c->max_error = m->error;
    c->bound = bound;
  }
  if (m->special)
    note(c, "%s: %s has a NaN or an infinity where %s has none, or the reverse", path, role_words[ROLE_Y],
         role_words[ROLE_B]);
  if (m->error > bound)
    note(c, "%s: max|compiled - %s| = %.3g, allowed %.3g", path, has_reference ? "f64" : "baseline", m->error,
         bound);
  if (has_reference && m->baseline_special)
    note_baseline(c, "%s: %s itself has a NaN or an infinity where %s has none", path, role_words[ROLE_B],
                  role_words[ROLE_R]);
  if (has_reference && m->baseline_error > tolerated)
    note_baseline(c, "%s: %s itself is wrong: max|baseline - f64| = %.3g, allowed %.3g", path,
                  role_words[ROLE_B], m->baseline_error, tolerated);
}

/* --- streams --- */

static size_t element_bytes(const struct tb_item *item) {
  return item->kind == TB_ITEM_STRING ? 1 : sizeof(int64_t);
}

static bool has_payload(const struct tb_item *item) {
  return item->kind == TB_ITEM_TENSOR || item->kind == TB_ITEM_NUMBER || item->kind == TB_ITEM_INTEGER ||
         item->kind == TB_ITEM_BOOLEAN || item->kind == TB_ITEM_STRING;
}

static tc_status read_payload(struct streams *s, int role, size_t bytes) {
  s->left[role] -= bytes;
  return tb_process_read(s->process[role], s->chunk[role], bytes, s->timeout_s, s->err);
}

static tc_status read_item(struct streams *s, int role) {
  const tc_status status =
      tb_process_read(s->process[role], &s->item[role], sizeof s->item[role], s->timeout_s, s->err);
  if (status) return status;
  struct tb_item *item = &s->item[role];
  item->path[TB_PATH_MAX - 1] = '\0';
  if (item->magic != TB_ITEM_MAGIC || item->count < 0 || item->ndim > TC_MAX_DIMS ||
      item->dtype >= TC_DTYPE_COUNT)
    return tb_process_fail(s->process[role], TB_OUTCOME_ERROR, s->err, "%s sent unreadable values",
                           role_words[role]);
  s->ended[role] = item->kind == TB_ITEM_END;
  s->left[role] = has_payload(item) ? (size_t)item->count * element_bytes(item) : 0;
  return TC_OK;
}

static tc_status skip_payload(struct streams *s, int role) {
  while (s->left[role]) {
    const size_t most = TB_CHUNK * sizeof(int64_t), take = s->left[role] < most ? s->left[role] : most;
    const tc_status status = read_payload(s, role, take);
    if (status) return status;
  }
  return TC_OK;
}

/* Reads a stream from wherever it stands to its end. */
static tc_status drain(struct streams *s, int role) {
  tc_status status = TC_OK;
  while (!status && !s->ended[role]) {
    status = skip_payload(s, role);
    if (!status) status = read_item(s, role);
  }
  return status;
}

/* --- items in step --- */

static bool same_shape(const struct tb_item *a, const struct tb_item *b) {
  if (a->kind != b->kind || a->count != b->count || strcmp(a->path, b->path)) return false;
  return a->kind != TB_ITEM_TENSOR ||
         (a->ndim == b->ndim && !memcmp(a->sizes, b->sizes, sizeof *a->sizes * a->ndim));
}

static void describe_item(const struct tb_item *item, char *text, size_t bytes) {
  static const char *const kinds[] = {"nothing",  "a tensor", "a number", "an integer",    "a boolean",
                                      "a string", "nil",      "a table",  "its old value", "no data"};
  size_t n = (size_t)snprintf(text, bytes, "%s",
                              item->kind < sizeof kinds / sizeof *kinds ? kinds[item->kind] : "?");
  if (item->kind == TB_ITEM_TENSOR) {
    n += (size_t)snprintf(text + n, bytes - n, " %s [", tc_dtype_name((tc_dtype)item->dtype));
    for (uint32_t d = 0; d < item->ndim && n < bytes; d++)
      n += (size_t)snprintf(text + n, bytes - n, d ? ", %lld" : "%lld", (long long)item->sizes[d]);
    if (n < bytes) snprintf(text + n, bytes - n, "]");
  } else if (item->kind == TB_ITEM_STRING || item->kind == TB_ITEM_TABLE) {
    snprintf(text + n, bytes - n, " of %lld", (long long)item->count);
  }
}

static void note_difference(struct streams *s, int role) {
  char one[100], other[100];
  const struct tb_item *a = &s->item[role], *b = &s->item[ROLE_B];
  describe_item(a, one, sizeof one);
  describe_item(b, other, sizeof other);
  note(s->out, "%s: %s gave %s where %s gave %s", *a->path ? a->path : b->path, role_words[role], one,
       role_words[ROLE_B], other);
}

/* Whether the heads of all roles fit together; notes where not. The reference may have wider floats. */
static bool heads_fit(struct streams *s) {
  const struct tb_item *b = &s->item[ROLE_B];
  for (int role = 0; role < ROLES; role++) {
    if (role == ROLE_B || !s->process[role]) continue;
    const struct tb_item *a = &s->item[role];
    const bool widened =
        role == ROLE_R && tc_dtype_is_float((tc_dtype)a->dtype) && tc_dtype_is_float((tc_dtype)b->dtype);
    if (same_shape(a, b) && (a->dtype == b->dtype || widened)) continue;
    note_difference(s, role);
    return false;
  }
  return true;
}

static double largest_of(const struct tb_item *item) {
  return item->kind == TB_ITEM_TENSOR && item->dtype == TC_F64 ? DBL_MAX : FLT_MAX;
}

/* Exact kinds: y must be b's, or the reference's (an argmax between two equals may fall either way). */
static void compare_exact(struct streams *s, size_t n, size_t bytes) {
  const char *y = (const char *)s->chunk[ROLE_Y], *b = (const char *)s->chunk[ROLE_B],
             *r = (const char *)s->chunk[ROLE_R];
  for (size_t i = 0; i < n; i++) {
    const bool good =
        !memcmp(y + i * bytes, b + i * bytes, bytes) || !memcmp(y + i * bytes, r + i * bytes, bytes);
    if (!good)
      note(s->out, "%s: %s and %s differ at element %zu", s->item[ROLE_B].path, role_words[ROLE_Y],
           role_words[ROLE_B], i + 1);
  }
}

static tc_status read_chunks(struct streams *s, size_t bytes) {
  for (int role = 0; role < ROLES; role++) {
    const tc_status status = s->process[role] ? read_payload(s, role, bytes) : TC_OK;
    if (status) return status;
  }
  if (!s->process[ROLE_R]) memcpy(s->chunk[ROLE_R], s->chunk[ROLE_B], bytes);
  return TC_OK;
}

static tc_status compare_payload(struct streams *s, const char *dtype, double tolerance) {
  const struct tb_item *b = &s->item[ROLE_B];
  if (!has_payload(b)) return TC_OK;
  const bool floating =
      b->kind == TB_ITEM_NUMBER || (b->kind == TB_ITEM_TENSOR && tc_dtype_is_float((tc_dtype)b->dtype));
  const size_t bytes = element_bytes(b);
  struct tb_maxima maxima = {0};
  for (int64_t done = 0; done < b->count;) {
    const size_t left = (size_t)(b->count - done), n = left < TB_CHUNK ? left : TB_CHUNK;
    const tc_status status = read_chunks(s, n * bytes);
    if (status) return status;
    if (floating)
      tb_maxima_add(&maxima, (const double *)s->chunk[ROLE_Y], (const double *)s->chunk[ROLE_B],
                    (const double *)s->chunk[ROLE_R], n, largest_of(b));
    else
      compare_exact(s, n, bytes);
    done += (int64_t)n;
  }
  const char *name = b->kind == TB_ITEM_TENSOR ? tc_dtype_name((tc_dtype)b->dtype) : dtype;
  if (floating)
    tb_comparison_add(s->out, &maxima, tb_tolerance_of(name), tolerance, s->process[ROLE_R] != NULL, b->path);
  return TC_OK;
}

static tc_status compare_streams(struct streams *s, const char *dtype, double tolerance) {
  for (;;) {
    for (int role = 0; role < ROLES; role++) {
      const tc_status status = s->process[role] ? read_item(s, role) : TC_OK;
      if (status) return status;
    }
    if (!heads_fit(s)) {
      tc_status first = TC_OK;
      for (int role = 0; role < ROLES; role++) {
        const tc_status status = s->process[role] ? drain(s, role) : TC_OK;
        if (!first) first = status;
      }
      return first;
    }
    if (s->ended[ROLE_B]) return TC_OK;
    const tc_status status = compare_payload(s, dtype, tolerance);
    if (status) return status;
  }
}

static void note_own_check(struct tb_comparison *out, int role, const cJSON *reply) {
  if (tb_json_bool(reply, "good", true)) return;
  const char *why = tb_json_text(reply, "why", "the suite's check failed");
  if (role == ROLE_B)
    note_baseline(out, "%s", why);
  else
    note(out, "%s", why);
}

/* One worker ended in mid-stream: the others' streams are read to their ends. */
static void drain_rest(struct streams *s) {
  for (int role = 0; role < ROLES; role++)
    if (s->process[role] && s->process[role]->link.pid)
      (void)drain(s, role); /* the first failure is the one that is told */
}

static tc_status receive_replies(struct streams *s) {
  tc_status first = TC_OK;
  for (int role = 0; role < ROLES; role++) {
    cJSON *reply = NULL;
    if (!s->process[role] || !s->process[role]->link.pid) continue;
    const tc_status status = tb_process_receive(s->process[role], s->timeout_s, &reply, s->err);
    if (!first) first = status;
    if (!status && role != ROLE_R) note_own_check(s->out, role, reply);
    cJSON_Delete(reply);
  }
  return first;
}

static tc_status send_checks(struct streams *s) {
  for (int role = 0; role < ROLES; role++) {
    if (!s->process[role]) continue;
    cJSON *request = tb_process_request(TB_REQUEST_check);
    cJSON_AddBoolToObject(request, "send", true);
    const tc_status status = tb_process_send(s->process[role], request, s->err);
    if (status) return status;
  }
  return TC_OK;
}

tc_status tb_compare(struct tb_process *compiled, struct tb_process *baseline, struct tb_process *reference,
                     const char *dtype, double tolerance, double timeout_s, struct tb_comparison *out,
                     struct tc_error *err) {
  *out = (struct tb_comparison){.ok = true};
  struct streams s = {
      .process = {compiled, baseline, reference}, .timeout_s = timeout_s, .out = out, .err = err};
  int64_t *chunks = malloc(ROLES * TB_CHUNK * sizeof *chunks);
  if (!chunks) return tc_fail_memory(err, "correctness");
  for (int role = 0; role < ROLES; role++) s.chunk[role] = chunks + role * TB_CHUNK;
  tc_status status = send_checks(&s);
  if (!status) status = compare_streams(&s, dtype, tolerance);
  if (status && status != TC_INTERRUPTED) {
    struct tc_error later;
    s.err = &later;
    drain_rest(&s);
  }
  const tc_status replies = status == TC_INTERRUPTED ? status : receive_replies(&s);
  free(chunks);
  return status ? status : replies;
}

tc_status tb_digest(struct tb_process *process, double timeout_s, char digest[TB_DIGEST_BYTES], bool *good,
                    char *why, struct tc_error *err) {
  cJSON *reply;
  const tc_status status =
      tb_process_ask(process, tb_process_request(TB_REQUEST_check), timeout_s, &reply, err);
  if (status) return status;
  snprintf(digest, TB_DIGEST_BYTES, "%s", tb_json_text(reply, "digest", ""));
  *good = tb_json_bool(reply, "good", true);
  snprintf(why, TB_DETAIL_BYTES, "%s", tb_json_text(reply, "why", ""));
  cJSON_Delete(reply);
  return TC_OK;
}

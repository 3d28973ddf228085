/* Reading stored documents. */
#include "harness/verdict/stored.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/args.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"
#include "harness/run/result.h"
#include "harness/verdict/stored_check.h"
#include "results/document.h"

enum { RESULT_LIMIT = 1 << 30 };

/* The whole file in the arena, with a zero behind its *size bytes. */
static char *read_file(struct tc_arena *arena, const char *path, size_t *size, struct tc_error *err) {
  struct stat info;
  char *text = NULL;
  const char *why;
  FILE *in = tb_regular_open(path, &why);
  if (!in)
    tc_fail(err, errno == EINVAL ? TC_CORRUPT : TC_IO, "result", "%s: %s", path, why);
  else if (fstat(fileno(in), &info))
    tc_fail(err, TC_IO, "result", "%s: %s", path, strerror(errno));
  else if (info.st_size > RESULT_LIMIT)
    tc_fail(err, TC_LIMIT, "result", "%s is larger than 1 GiB", path);
  else if (!(text = tc_arena_bytes(arena, (size_t)info.st_size + 1)))
    tc_fail(err, TC_NOMEM, "result", "out of memory for %s", path);
  else
    text[ *size = fread(text, 1, (size_t)info.st_size, in)] = '\0';
  if (in) fclose(in);
  return text;
}

static bool all_objects(const cJSON *array) {
  for (const cJSON *item = array->child; item; item = item->next)
    if (!cJSON_IsObject(item)) return false;
  return true;
}

/* Why a document cannot be read; NULL: it can. */
static const char *not_readable(struct tc_arena *arena, const cJSON *document) {
  const cJSON *cases = tb_doc_at(document, "cases"), *schema = tb_doc_at(document, "schema");
  if (!cJSON_IsArray(cases) || !all_objects(cases))
    return "is not a result of tbench: it has no list of cases";
  if (!schema || (cJSON_IsNumber(schema) && schema->valuedouble == TB_SCHEMA)) return NULL;
  const char *text =
      tb_format(arena, "was written by another version of tbench: its schema is not %d", TB_SCHEMA);
  return text ? text : "has another schema";
}

static int line_of(const char *text, const char *place) {
  int line = 1;
  for (const char *c = text; c < place; c++) line += *c == '\n';
  return line;
}

/* A damaged file is not repaired: a name with other bytes in it would be another case. */
static bool is_text(const char *path, const char *text, size_t size, struct tc_error *err) {
  const size_t broken = tb_text_broken_at(text, size);
  if (broken == size) return true;
  tc_fail(err, TC_CORRUPT, "result",
          "%s: the byte 0x%02x at offset %zu (line %d) is not UTF-8: the file is damaged, or in another "
          "encoding; get an undamaged copy, or convert it to UTF-8 (iconv -f ENCODING -t UTF-8)",
          path, (unsigned)(unsigned char)text[broken], broken, line_of(text, text + broken));
  return false;
}

bool tb_stored_is_comparison(const cJSON *document) {
  return !strcmp(tb_doc_text(document, "kind", ""), "comparison");
}

static cJSON *load(struct tc_arena *arena, const char *path, const char **bytes, size_t *size,
                   struct tc_error *err) {
  const char *text = *bytes = read_file(arena, path, size, err), *end = text;
  if (!text || !is_text(path, text, *size, err)) return NULL;
  cJSON *document = cJSON_ParseWithOpts(text, &end, true);
  if (!document) {
    tc_fail(err, TC_CORRUPT, "result", "%s: line %d is not JSON", path, line_of(text, end));
    return NULL;
  }
  const char *why = not_readable(arena, document);
  if (!why) {
    tb_text_clean_json(document); /* it may come from anywhere, and goes to a terminal: of control characters,
                                     spaces are left */
    if (!tb_stored_is_comparison(document)) why = tb_stored_wrong(arena, document);
  }
  if (!why) return document;
  tc_fail(err, TC_CORRUPT, "result", "%s %s", path, why);
  cJSON_Delete(document);
  return NULL;
}

cJSON *tb_stored_load(struct tc_arena *arena, const char *path, struct tc_error *err) {
  const char *bytes;
  size_t size;
  return load(arena, path, &bytes, &size, err);
}

cJSON *tb_stored_load_result_bytes(struct tc_arena *arena, const char *path, const char **bytes, size_t *size,
                                   struct tc_error *err) {
  cJSON *document = load(arena, path, bytes, size, err);
  if (!document || !tb_stored_is_comparison(document)) return document;
  tc_fail(err, TC_CORRUPT, "result", "%s is a comparison of results, not a result", path);
  cJSON_Delete(document);
  return NULL;
}

cJSON *tb_stored_load_result(struct tc_arena *arena, const char *path, struct tc_error *err) {
  const char *bytes;
  size_t size;
  return tb_stored_load_result_bytes(arena, path, &bytes, &size, err);
}

/* Making and writing of that document. Invariant: each file that pieces stand in is told once, however many
 * pieces and cases do. */
#include "harness/cli/explanation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/atomic_file.h"
#include "harness/base/build.h"
#include "harness/base/text.h"
#include "harness/wire/protocol.h"
#include "reporters/reporter.h"

enum { SOURCE_LIMIT = 4 << 20 };

cJSON *tb_explanation_new(void) {
  cJSON *document = cJSON_CreateObject();
  cJSON_AddStringToObject(document, "kind", "explanation");
  cJSON_AddStringToObject(document, "version", PACKAGE_VERSION);
  const bool good = cJSON_AddArrayToObject(document, "cases") && cJSON_AddArrayToObject(document, "sources");
  if (good) return document;
  cJSON_Delete(document);
  return NULL;
}

/* Lua does not tell an empty list from an empty table. */
static void mark_lists(cJSON *item) {
  static const char *const lists[] = {"breaks",  "fallbacks", "recompile_reasons", "pieces",
                                      "entries", "guards",    "operations",        "launches"};
  for (cJSON *child = item->child; child; child = child->next) {
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
      if (child->string && !strcmp(child->string, lists[i]) && cJSON_IsObject(child) && !child->child)
        child->type = cJSON_Array;
    mark_lists(child);
  }
}

/* NULL: it is no file that can be shown. */
static char *read_source(const char *path) {
  FILE *in = fopen(path, "rbe");
  struct stat info;
  char *text = NULL;
  if (in && !fstat(fileno(in), &info) && S_ISREG(info.st_mode) && info.st_size <= SOURCE_LIMIT &&
      (text = malloc((size_t)info.st_size + 1)))
    text[fread(text, 1, (size_t)info.st_size, in)] = '\0';
  if (in) fclose(in);
  return text;
}

static void add_source(cJSON *sources, const char *chunk) {
  const cJSON *known;
  if (*chunk != '@') return;
  cJSON_ArrayForEach(known, sources)
    if (!strcmp(tb_json_text(known, "chunk", ""), chunk)) return;
  char *text = read_source(chunk + 1);
  if (!text) return;
  cJSON *source = cJSON_CreateObject();
  cJSON_AddStringToObject(source, "chunk", chunk);
  cJSON_AddStringToObject(source, "text", text);
  free(text);
  if (!cJSON_AddItemToArray(sources, source)) cJSON_Delete(source);
}

bool tb_explanation_add(cJSON *document, const char *id, cJSON *explanation) {
  cJSON *one = cJSON_CreateObject(), *sources = cJSON_GetObjectItemCaseSensitive(document, "sources");
  const cJSON *piece;
  cJSON_ArrayForEach(piece, cJSON_GetObjectItemCaseSensitive(explanation, "pieces"))
    add_source(sources, tb_json_text(piece, "chunk", ""));
  if (explanation) mark_lists(explanation);
  if (one && cJSON_AddStringToObject(one, "id", id) &&
      cJSON_AddItemToObject(one, "explanation", explanation) &&
      cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(document, "cases"), one))
    return true;
  if (one && !cJSON_GetObjectItemCaseSensitive(one, "explanation")) cJSON_Delete(explanation);
  cJSON_Delete(one);
  return false;
}

static bool print(const cJSON *document, bool html, FILE *out) {
  if (html) return tb_explanation_html(document, out);
  char *text = cJSON_Print(document);
  if (text) fprintf(out, "%s\n", text);
  cJSON_free(text);
  return text && !ferror(out);
}

tc_status tb_explanation_write(cJSON *document, bool html, const char *path, struct tc_error *err) {
  tb_text_clean_json(document); /* source and texts may hold any bytes; JSON is UTF-8 */
  if (!*path)
    return print(document, html, stdout)
               ? TC_OK
               : tc_fail(err, TC_IO, "explain", "standard output was not written: %s", strerror(errno));
  struct tb_atomic_file file;
  bool good = tb_atomic_file_begin(path, &file);
  if (good) good = tb_atomic_file_end(&file, print(document, html, file.out));
  return good ? TC_OK : tc_fail(err, TC_IO, "explain", "%s was not written: %s", path, strerror(errno));
}

/* Which files a history is made of. */
#include "harness/verdict/history.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/base/args.h"
#include "harness/verdict/stored.h"
#include "results/document.h"

bool tb_history_finished(const cJSON *document) {
  return cJSON_IsString(tb_doc_at(document, "finished")) && !cJSON_IsTrue(tb_doc_at(document, "interrupted"));
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tc_status tb_history_paths(struct tc_arena *arena, const struct tb_history_source *source, tb_texts *out,
                           struct tc_error *err) {
  for (size_t i = 0; i < source->n_places; i++) {
    const char *place = source->places[i];
    DIR *folder = opendir(place);
    if (!folder && errno != ENOTDIR) return tc_fail(err, TC_ARG, "history", "%s: %s", place, strerror(errno));
    bool good = folder || tc_vec_push(tc_arena_alloc(arena), out, place);
    for (const struct dirent *entry; good && folder && (entry = readdir(folder));) {
      if (!tc_text_stem(entry->d_name, ".json")) continue;
      const char *path = tb_format(arena, "%s/%s", place, entry->d_name);
      good = path && tc_vec_push(tc_arena_alloc(arena), out, path);
    }
    if (folder) closedir(folder);
    if (!good) return tc_fail_memory(err, "history");
  }
  if (out->len) qsort(out->data, out->len, sizeof *out->data, by_text); /* a folder has no order of its own */
  return TC_OK;
}

tc_status tb_history_newest(struct tc_arena *arena, const struct tb_history_source *source, cJSON **out,
                            struct tc_error *err) {
  tb_texts paths = {0};
  *out = NULL;
  tc_status status = tb_history_paths(arena, source, &paths, err);
  for (size_t i = 0; !status && i < paths.len; i++) {
    struct tc_error why = {0};
    struct tc_arena *scratch = tc_arena_new(tc_alloc_system());
    cJSON *document = scratch ? tb_stored_load_result(scratch, paths.data[i], &why) : NULL;
    tc_arena_free(scratch);
    const bool usable = document && tb_history_finished(document) &&
                        strcmp(tb_doc_text(document, "started", ""), tb_doc_text(*out, "started", "")) > 0;
    if (usable) {
      cJSON_Delete(*out);
      *out = document;
    } else {
      cJSON_Delete(document);
    }
    if (!scratch) status = tc_fail_memory(err, "history");
  }
  if (!status && !*out)
    status = tc_fail(err, TC_ARG, "history", "%s has no finished result",
                     source->n_places ? source->places[0] : "?");
  if (status) cJSON_Delete(*out), *out = NULL;
  return status;
}

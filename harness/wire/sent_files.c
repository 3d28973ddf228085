/* A list is enough: a run sends few files. */
#include "harness/wire/sent_files.h"

#include <string.h>

#include "base/strbuf.h"

const char *tb_sent_files_find(const struct tb_sent_files *files, const char *path) {
  for (size_t i = 0; i < files->items.len; i++)
    if (!strcmp(files->items.data[i].path, path)) return files->items.data[i].name;
  return NULL;
}

tc_status tb_sent_files_add(struct tb_sent_files *files, const char *path, const char *name,
                            struct tc_error *err) {
  const struct tb_sent_file file = {tc_arena_text(files->arena, path), tc_arena_text(files->arena, name)};
  return file.path && file.name && tc_vec_push(tc_arena_alloc(files->arena), &files->items, file)
             ? TC_OK
             : tc_fail_memory(err, "transport");
}

static char *replaced(const char *text, const char *name, const char *path) {
  struct tc_strbuf out;
  tc_strbuf_init(&out, tc_alloc_system());
  for (const char *at; (at = strstr(text, name)); text = at + strlen(name)) {
    tc_strbuf_bytes(&out, text, (size_t)(at - text));
    tc_strbuf_puts(&out, path);
  }
  tc_strbuf_puts(&out, text);
  const char *whole = tc_strbuf_text(&out);
  char *copy = whole ? cJSON_malloc(strlen(whole) + 1) : NULL;
  if (copy) strcpy(copy, whole);
  tc_strbuf_free(&out);
  return copy;
}

void tb_sent_files_restore(const struct tb_sent_files *files, cJSON *item) {
  for (; item; item = item->next) {
    for (size_t i = 0; cJSON_IsString(item) && i < files->items.len; i++) {
      const struct tb_sent_file *file = &files->items.data[i];
      char *text =
          strstr(item->valuestring, file->name) ? replaced(item->valuestring, file->name, file->path) : NULL;
      if (!text) continue;
      cJSON_free(item->valuestring);
      item->valuestring = text;
    }
    tb_sent_files_restore(files, item->child);
  }
}

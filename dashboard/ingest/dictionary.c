/* Dictionaries, and samples for them. */
#include "dashboard/ingest/dictionary.h"

#include <stdlib.h>
#include <string.h>
#include <zdict.h>

#include "dashboard/ingest/intake.h"

enum {
  MISFIT = 4 /* a document that fits is packed into less than this part of it */,
  PATIENCE = 64,
  PATIENCE_GROWS = 8
};

static struct tb_dictionary *add(struct tb_dictionaries *dictionaries, struct tb_dictionary *dictionary) {
  dictionary->older = atomic_load(&dictionaries->newest);
  atomic_store_explicit(&dictionaries->newest, dictionary, memory_order_release);
  return dictionary;
}

/* zstd puts tables before the bytes, in one that was made from a sample. */
static bool begins_with(const struct tb_dictionary *dictionary, const struct tb_dictionaries *names) {
  const size_t tables = ZDICT_getDictHeaderSize(dictionary->bytes, dictionary->length),
               skip = ZDICT_isError(tables) ? 0 : tables;
  return dictionary->length >= skip + names->names_length &&
         !memcmp(dictionary->bytes + skip, names->names, names->names_length);
}

bool tb_dictionaries_open(struct tb_dictionaries *dictionaries, const struct tb_schema *schema,
                          struct tb_store *store) {
  struct tb_dictionary *newest = calloc(1, sizeof *newest);
  *dictionaries = (struct tb_dictionaries){.patience = PATIENCE};
  atomic_init(&dictionaries->newest, NULL);
  atomic_init(&dictionaries->misfits, 1);
  if (!newest) return tb_store_failed(store, "out of memory");
  add(dictionaries, newest);
  dictionaries->names_length = tb_schema_names(schema, dictionaries->names, sizeof dictionaries->names);
  const bool found = tb_store_dictionary(store, &newest->id, newest->bytes, &newest->length);
  if (found && (begins_with(newest, dictionaries) || newest->id >= TB_STORE_DICTIONARIES)) {
    if (newest->length > dictionaries->names_length) atomic_store(&dictionaries->misfits, PATIENCE);
    return true;
  }
  memcpy(newest->bytes, dictionaries->names, newest->length = dictionaries->names_length);
  return tb_store_add_dictionary(store, newest->bytes, newest->length, &newest->id);
}

void tb_dictionaries_close(struct tb_dictionaries *dictionaries) {
  struct tb_dictionary *one = atomic_load(&dictionaries->newest);
  while (one) {
    struct tb_dictionary *older = one->older;
    free(one);
    one = older;
  }
  atomic_store(&dictionaries->newest, NULL);
}

/* --- samples --- */

struct sample {
  struct tb_write write;
  struct tb_dictionary *dictionary;
};

static enum tb_written apply(struct tb_write *self, struct tb_store *store) {
  struct tb_dictionary *dictionary = ((struct sample *)self)->dictionary;
  return tb_store_add_dictionary(store, dictionary->bytes, dictionary->length, &dictionary->id)
             ? TB_WRITTEN_STORED
             : TB_WRITTEN_FAILED;
}

static void done(struct tb_write *self) {
  struct tb_dictionaries *dictionaries = self->owner;
  struct tb_dictionary *dictionary = ((struct sample *)self)->dictionary;
  if (self->written == TB_WRITTEN_STORED)
    add(dictionaries, dictionary);
  else
    free(dictionary);
  atomic_store(&dictionaries->misfits, dictionaries->patience);
  dictionaries->patience *= PATIENCE_GROWS;
  free(self);
}

/* With the tables for documents like it, which else would be made anew for each of them; without, where zstd
 * does not find enough in it. */
static bool fill(struct tb_dictionary *dictionary, const struct tb_dictionaries *names, const char *text,
                 size_t length) {
  enum { TABLES = 512 /* bytes of them, at most */ };
  const size_t room = sizeof dictionary->bytes - TABLES - names->names_length,
               sample = length < room ? length : room;
  char *bytes = malloc(names->names_length + sample);
  if (!bytes) return false;
  memcpy(bytes, names->names, names->names_length);
  memcpy(bytes + names->names_length, text, sample);
  const size_t made = ZDICT_finalizeDictionary(dictionary->bytes, sizeof dictionary->bytes, bytes,
                                               names->names_length + sample, text, &sample, 1,
                                               (ZDICT_params_t){.compressionLevel = TB_INTAKE_LEVEL});
  dictionary->length = ZDICT_isError(made) ? names->names_length + sample : made;
  if (ZDICT_isError(made)) memcpy(dictionary->bytes, bytes, dictionary->length);
  free(bytes);
  return true;
}

static struct sample *new_sample(struct tb_dictionaries *dictionaries, const char *text, size_t length) {
  struct sample *sample = calloc(1, sizeof *sample);
  struct tb_dictionary *dictionary = calloc(1, sizeof *dictionary);
  if (!sample || !dictionary || !fill(dictionary, dictionaries, text, length)) {
    free(sample);
    free(dictionary);
    return NULL;
  }
  *sample = (struct sample){.write = {.apply = apply, .done = done, .owner = dictionaries},
                            .dictionary = dictionary};
  return sample;
}

struct tb_write *tb_dictionary_offer(struct tb_dictionaries *dictionaries, const char *text, size_t length,
                                     size_t packed) {
  if (packed < length / MISFIT || tb_dictionary_newest(dictionaries)->id >= TB_STORE_DICTIONARIES)
    return NULL;
  if (atomic_load_explicit(&dictionaries->misfits, memory_order_relaxed) <= 0 ||
      atomic_fetch_sub(&dictionaries->misfits, 1) != 1)
    return NULL;
  struct sample *sample = new_sample(dictionaries, text, length);
  return sample ? &sample->write : NULL;
}

#include "reporters/equal_texts.h"

#include <stdlib.h>
#include <string.h>

struct placed {
  const char *text;
  int place;
};

static int by_text(const void *a, const void *b) {
  const struct placed *x = a, *y = b;
  const int order = strcmp(x->text, y->text);
  return order ? order : x->place - y->place;
}

bool tb_equal_texts_make(const char *const *texts, int count, struct tb_equal_texts *out) {
  const size_t room = (size_t)count + 1;
  struct placed *sorted = malloc(sizeof *sorted * room);
  *out = (struct tb_equal_texts){malloc(sizeof *out->first * room), malloc(sizeof *out->next * room)};
  const bool good = sorted && out->first && out->next;
  for (int i = 0; good && i < count; i++) sorted[i] = (struct placed){texts[i], i};
  if (good) qsort(sorted, (size_t)count, sizeof *sorted, by_text);
  for (int i = 0; good && i < count; i++) {
    const bool again = i && !strcmp(sorted[i].text, sorted[i - 1].text);
    out->first[sorted[i].place] = again ? out->first[sorted[i - 1].place] : sorted[i].place;
    out->next[sorted[i].place] = -1;
    if (again) out->next[sorted[i - 1].place] = sorted[i].place;
  }
  free(sorted);
  if (!good) tb_equal_texts_free(out);
  return good;
}

void tb_equal_texts_free(struct tb_equal_texts *equal) {
  free(equal->first);
  free(equal->next);
  *equal = (struct tb_equal_texts){0};
}

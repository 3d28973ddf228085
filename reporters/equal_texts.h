/* Which of many texts are equal. By sorting: of n texts some n log n are held against one another, whatever a
 * document holds, so that nobody keeps a server busy with names. */
#ifndef TB_REPORTERS_EQUAL_TEXTS_H
#define TB_REPORTERS_EQUAL_TEXTS_H

#include <stdbool.h>

struct tb_equal_texts {
  int *first; /* of each text: the place of the first that equals it */
  int *next;  /* the place of the next one; -1: there is none */
};

/* Texts may be freed behind it. False: memory is out, and there is nothing to free. */
bool tb_equal_texts_make(const char *const *texts, int count, struct tb_equal_texts *out);
void tb_equal_texts_free(struct tb_equal_texts *equal);

#endif

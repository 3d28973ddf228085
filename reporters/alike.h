/* Which of many texts are equal. By sorting: of n texts some n log n are held against one another, whatever a
 * document holds, so that nobody keeps a server busy with names. */
#ifndef TB_REPORTERS_ALIKE_H
#define TB_REPORTERS_ALIKE_H

#include <stdbool.h>

struct tb_alike {
  int *first; /* of each text: the place of the first that equals it */
  int *next;  /* the place of the next one; -1: there is none */
};

/* Texts may be freed behind it. False: memory is out, and there is nothing to free. */
bool tb_alike_make(const char *const *texts, int count, struct tb_alike *out);
void tb_alike_free(struct tb_alike *alike);

#endif

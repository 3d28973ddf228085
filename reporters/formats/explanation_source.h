/* Inside of the page of an explanation: the lines of one file of a case, and what explanation.c shows beside
 * them. */
#ifndef TB_REPORTERS_EXPLANATION_SOURCE_H
#define TB_REPORTERS_EXPLANATION_SOURCE_H

#include "reporters/text_out.h"

/* A whole number at a path; `otherwise` where there is none. */
int tb_html_whole(const cJSON *item, const char *path, int otherwise);

/* Visits the entries of all pieces in order; `graph` is their number as the text of tb.explain has it, 0:
 * nothing is computed. */
typedef void (*tb_entry_visit)(const cJSON *piece, const cJSON *entry, int graph, void *context);
void tb_each_entry(const cJSON *explanation, tb_entry_visit visit, void *context);
/* explanation.c: one entry of a piece, folded. */
void tb_html_entry(FILE *out, const cJSON *piece, const cJSON *entry, int graph);
/* explanation.c: a break by its number, from 1. */
void tb_html_break(FILE *out, const cJSON *one, int number);

/* Is the break shown beside a line of some file? */
bool tb_break_is_shown(const cJSON *explanation, const cJSON *sources, const cJSON *one);
/* All files of the case. */
void tb_html_sources(FILE *out, const cJSON *explanation, const cJSON *sources);

#endif

/* Steps of a history that are known by hand: a text file, a line each:
 *     2026-11-20T00:00:00Z  mlp/(*)   new allocator            -- (*) stands for a star here
 * from that time on (UTC; a day alone, or without the seconds, is as good), cases that match the glob begin a
 * new segment; what follows is why. '#' starts a comment. */
#ifndef TB_MARKS_H
#define TB_MARKS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct tb_mark {
  const char *from, *pattern, *why;
};
typedef TC_VEC(struct tb_mark) tb_marks;

/* Appends the marks of a file, in the arena. A file that is not there has none, unless it `must` be there.
 * TC_ARG: it cannot be read, or a line (its number is told) is no mark. */
tc_status tb_marks_read(struct tc_arena *arena, const char *path, bool must, tb_marks *out,
                        struct tc_error *err);

#endif

/* Registers that a frame shares with closures: where a frame may be left and gone on with in another frame.
 *
 * A closure that captures a register and the frame that owns the register see each other's writes until a
 * CLOSE, or the end of the function, parts them. A frame that goes on elsewhere has copies. That is right as
 * long as nothing is written on one side that the other one reads later; nested functions count by what any
 * of their code may do, at any time from their making on. It follows from the code alone, so functions
 * without debug information are judged as well. A to-be-closed variable cannot move at all. A closing value
 * of a generic `for` does not count here: what runs TFORPREP sees to it that a frame with such a value is not
 * left (resume.h). Threads: pure. */
#ifndef TC_CAPTURE_SHARING_H
#define TC_CAPTURE_SHARING_H

#include "capture/bytecode/liveness.h"

struct tc_shared {               /* before an instruction */
  struct tc_live captured;       /* a closure may share the register */
  struct tc_live written_inside; /* … one that may write it */
  struct tc_live used;     /* before it is parted from closures: the frame may read, write or capture it */
  struct tc_live written;  /* … may write it, or make a closure that does */
  struct tc_live to_close; /* may hold a to-be-closed variable */
};

struct tc_sharing {
  struct tc_shared *at;
}; /* [n_code] in the arena; NULL: the function captures no register and closes nothing */

/* The proto passed tc_flow_check. */
tc_status tc_sharing_find(struct tc_arena *arena, const struct tc_proto *proto, struct tc_sharing *out,
                          struct tc_error *err);
/* Why the frame cannot be left before pc, for people; NULL: it can. */
const char *tc_sharing_forbids(const struct tc_sharing *sharing, int pc);

#endif

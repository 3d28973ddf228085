/* Instruction counts of one case under callgrind (callgrind.h), as a result keeps them.
 *
 * Counted in processes of their own, which are not timed: code for AVX2, one process for the cold call and
 * the one after a reset, one with the cache that the cold one filled, which goes on to steady calls. All
 * threads are summed. In the run's arena. */
#ifndef TB_INSTRUCTIONS_H
#define TB_INSTRUCTIONS_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "base/vec.h"

/* cold, disk and memory are first calls, by stage; steady is the mean of calls that find all compiled. */
enum tb_counted { TB_COUNTED_COLD, TB_COUNTED_DISK, TB_COUNTED_MEMORY, TB_COUNTED_STEADY, TB_COUNTED_COUNT };

struct tb_stage_count {
  const char *stage;
  double count;
};

struct tb_instruction_count {
  bool known;
  double total;
  TC_VEC(struct tb_stage_count)
  stages;          /* in the order in which they ended; their sum is the total. None of steady calls */
  const char *why; /* where it is not known */
};

struct tb_instructions {
  bool asked;          /* counters= named callgrind */
  double steady_calls; /* whose mean the steady count is */
  struct tb_instruction_count counts[TB_COUNTED_COUNT];
};

/* Adds "instructions" to a case's document. */
void tb_instructions_record(cJSON *object, const struct tb_instructions *instructions);

#endif

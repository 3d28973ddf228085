/* The table of figures. */
#include "results/fields.h"

#include <stddef.h>

/* What a shape has at which path, below that of the row. */
#define VALUE_WHOLE
#define VALUE_NUMBER
#define VALUE_SIGNED
#define VALUE_TEXT
#define VALUE_LIST
#define VALUE_EACH
#define VALUE_EVENTS
#define VALUE_PART
#define VALUE_DURATION         ".median"
#define VALUE_TIMING           ".median_ns"
#define SAMPLES_WHOLE(path)    NULL
#define SAMPLES_NUMBER(path)   NULL
#define SAMPLES_SIGNED(path)   NULL
#define SAMPLES_TEXT(path)     NULL
#define SAMPLES_LIST(path)     NULL
#define SAMPLES_EACH(path)     NULL
#define SAMPLES_EVENTS(path)   NULL
#define SAMPLES_PART(path)     NULL
#define SAMPLES_DURATION(path) path ".samples"
#define SAMPLES_TIMING(path)   path ".replicates"

enum { LOWER = false, HIGHER = true };

static const struct tb_field fields[] = {
#define TB_FIELD(path_, member_, shape_, unit_, better, metric_, column_, exact_, help_)                     \
  {.path = path_ VALUE_##shape_,                                                                             \
   .samples = SAMPLES_##shape_(path_),                                                                       \
   .member = TB_SHAPE_##shape_ == TB_SHAPE_EVENTS ? "value" : "",                                            \
   .shape = TB_SHAPE_##shape_,                                                                               \
   .unit = TB_UNIT_##unit_,                                                                                  \
   .higher_is_better = better,                                                                               \
   .help = help_,                                                                                            \
   .metric = {metric_},                                                                                      \
   .column = {column_},                                                                                      \
   .exact = {exact_}},
#define METRIC(name_)                   .name = name_
#define BOUNDED(name_, lo_, hi_)        .name = name_, .lo = lo_, .hi = hi_
#define COLUMN(place_, name_, meaning_) .place = place_, .name = #name_, .meaning = meaning_
#define EXACT(name_, kind_, tolerance_) .name = name_, .kind = TB_EXACT_##kind_, .tolerance = tolerance_
#define NONE                            .name = NULL
#include "results/fields.def"
};

int tb_field_count(void) { return (int)(sizeof fields / sizeof *fields); }
const struct tb_field *tb_field_at(int index) { return &fields[index]; }

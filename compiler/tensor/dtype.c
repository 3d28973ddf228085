#include "tensor/dtype.h"

#include <stddef.h>

enum { BOOL = TC_CATEGORY_BOOL, INT = TC_CATEGORY_INT, FLOAT = TC_CATEGORY_FLOAT };

static const struct {
  const char *name;
  int bytes;
  enum tc_category category;
  tc_dtype accumulate;
} rows[] = {
#define TC_DTYPE(NAME, text, bytes, category, acc, ctype) {text, bytes, (enum tc_category)category, TC_##acc},
#include "tensor/dtype.def"
#undef TC_DTYPE
};

static const struct {
  const char *name;
  tc_dtype dtype;
} aliases[] = {{"float32", TC_F32},   {"float", TC_F32}, {"float64", TC_F64}, {"double", TC_F64},
               {"bfloat16", TC_BF16}, {"int64", TC_I64}, {"long", TC_I64}};

int tc_dtype_bytes(tc_dtype dtype) { return rows[dtype].bytes; }
const char *tc_dtype_name(tc_dtype dtype) { return rows[dtype].name; }
enum tc_category tc_dtype_category(tc_dtype dtype) { return rows[dtype].category; }
tc_dtype tc_dtype_accumulate(tc_dtype dtype) { return rows[dtype].accumulate; }

bool tc_dtype_parse(const char *name, tc_dtype *dtype) {
  for (int i = 0; i < TC_DTYPE_COUNT; i++)
    if (!strcmp(rows[i].name, name)) return *dtype = (tc_dtype)i, true;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (!strcmp(aliases[i].name, name)) return *dtype = aliases[i].dtype, true;
  return false;
}

/* The rows stand in order of promotion. */
tc_dtype tc_dtype_promote(tc_dtype a, tc_dtype b) { return a > b ? a : b; }

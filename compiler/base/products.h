/* How a matrix product is computed: the rows of products.def. */
#ifndef TC_BASE_PRODUCTS_H
#define TC_BASE_PRODUCTS_H

enum tc_product {
#define TC_PRODUCT(name, rows, columns) TC_PRODUCT_##name,
#include "base/products.def"
#undef TC_PRODUCT
  TC_PRODUCTS
};
/* What matmul= takes beside them: the fastest, by trying; and what the mode says (the library, where there is
 * none). */
#define TC_PRODUCT_SEARCH "search"
#define TC_PRODUCT_AUTO   "auto"

extern const char tc_product_names[]; /* "auto, library, …, search" */

struct tc_product_row {
  const char *name;
  int rows, columns;
};
const struct tc_product_row *tc_product_row(enum tc_product product);
/* The row of this name; -1: none has it. */
int tc_product_find(const char *name);

#endif

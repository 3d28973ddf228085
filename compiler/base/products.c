#include "base/products.h"

#include <string.h>

static const struct tc_product_row rows[TC_PRODUCTS] = {
#define TC_PRODUCT(name, rows, columns) [TC_PRODUCT_##name] = {#name, rows, columns},
#include "base/products.def"
#undef TC_PRODUCT
};

const char tc_product_names[] = TC_PRODUCT_AUTO ", "
#define TC_PRODUCT(name, rows, columns) #name ", "
#include "base/products.def"
#undef TC_PRODUCT
    TC_PRODUCT_SEARCH;

const struct tc_product_row *tc_product_row(enum tc_product product) { return &rows[product]; }

int tc_product_find(const char *name) {
  for (int i = 0; i < TC_PRODUCTS; i++)
    if (!strcmp(rows[i].name, name)) return i;
  return -1;
}

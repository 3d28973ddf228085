/* tb.mark_dynamic(tensor, dim) or (tensor, {dim, …}): these dimensions are compiled as size variables from
 * the first call on, whatever dynamic= says. Dimensions count from 1, negative ones from the end.
 *
 * 1. The mark belongs to the tensor object: what is computed from it, or copied, is not marked.
 * 2. As with torch.compile, a marked dimension that cannot vary is an error: one of size 0 or 1, for those
 *    sizes are compiled for themselves, at once; one that the code fixes to a single value, when it is
 *    compiled (tc_lua_check_marks). */
#include "lua/compile/compiled_object.h"

static const char me[] = "mark_dynamic";

/* The dimension at an index, from 0. */
static int check_dim(lua_State *L, int index, const struct tc_tensor *x) {
  int is_integer;
  const lua_Integer dim = lua_tointegerx(L, index, &is_integer);
  if (!is_integer || lua_type(L, index) != LUA_TNUMBER)
    tc_lua_raise_text(L, me, "a dimension must be an integer, got %s", tc_lua_given(L, index));
  if (dim == 0 || dim > x->ndim || dim < -x->ndim)
    tc_lua_raise_text(L, me, "dimension %lld is outside of a tensor of %d dimension%s", (long long)dim,
                      x->ndim, x->ndim == 1 ? "" : "s");
  const int d = (int)(dim > 0 ? dim - 1 : x->ndim + dim);
  if (x->sizes[d] < TC_SYM_SIZE_MIN)
    tc_lua_raise_text(
        L, me, "dimension %d has size %lld; sizes 0 and 1 are always specialised, so it cannot be dynamic",
        d + 1, (long long)x->sizes[d]);
  return d;
}

int tc_lua_mark_dynamic(lua_State *L) {
  const struct tc_tensor *x = tc_lua_check_tensor(L, 1, me);
  uint32_t dims = 0;
  lua_settop(L, 2);
  if (lua_istable(L, 2)) {
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 2); i++) {
      lua_rawgeti(L, 2, i);
      dims |= UINT32_C(1) << check_dim(L, lua_gettop(L), x);
      lua_pop(L, 1);
    }
    if (!dims)
      tc_lua_raise_text(L, me, "argument 2 is an empty list; it must be a dimension or a list of them");
  } else {
    dims = UINT32_C(1) << check_dim(L, 2, x);
  }
  ((struct tc_lua_object *)lua_touserdata(L, 1))->dynamic_dims |= dims;
  return 0;
}

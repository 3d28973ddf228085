dnl Lua 5.4, no other: capture decodes the bytecode of 5.4. Its static archive is taken where there is one; a library that LUA_LIBS
dnl names is taken as it is.

AC_DEFUN([TB_CHECK_LUA], [
  tb_lua_version=unknown tb_lua_linkage=shared
  AS_IF([test -n "$LUA_LIBS"], [tb_lua_linkage=given])
  PKG_CHECK_MODULES([LUA], [lua5.4], [tb_lua=yes],
    [PKG_CHECK_MODULES([LUA], [lua-5.4], [tb_lua=yes], [tb_lua=no])])
  AS_IF([test $tb_lua = no], [TB_MISSING([Lua 5.4], [liblua5.4-dev])], [
    tb_save_CPPFLAGS=$CPPFLAGS tb_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $LUA_CFLAGS"
    AC_MSG_CHECKING([that the Lua headers are those of 5.4])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <lua.h>
#if LUA_VERSION_NUM != 504
#error "another Lua"
#endif
      ]])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([$LUA_CFLAGS leads to the headers of another Lua; tbench needs 5.4 (Debian package: liblua5.4-dev)])])
    tb_lua_version=$($PKG_CONFIG --modversion lua5.4 2>/dev/null || $PKG_CONFIG --modversion lua-5.4)
    AS_IF([test $tb_lua_linkage != given], [
      AC_MSG_CHECKING([for a static liblua5.4])
      LIBS="-l:liblua5.4.a -lm -ldl $tb_save_LIBS"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <lua.h>
#include <lauxlib.h>
        ]], [[lua_close(luaL_newstate());]])],
        [AC_MSG_RESULT([yes])
         LUA_LIBS="-l:liblua5.4.a -lm -ldl" tb_lua_linkage=static],
        [AC_MSG_RESULT([no])])])
    CPPFLAGS=$tb_save_CPPFLAGS LIBS=$tb_save_LIBS])])

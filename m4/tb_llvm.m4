dnl LLVM 19 through its C API. LLVM_LIBS is for tbench, LLVM_TEST_LIBS for the test programs, which take
dnl the shared library: they are many, and their start is not measured.

m4_define([TB_LLVM_COMPONENTS], [core analysis target x86])

AC_DEFUN([TB_CHECK_LLVM], [
  AC_ARG_ENABLE([static-llvm],
    [AS_HELP_STRING([--enable-static-llvm@<:@=yes|no|auto@:>@],
      [link tbench with the static archives of LLVM, so that it starts faster (auto: where they are installed, except with sanitizers)])],
    [], [enable_static_llvm=auto])
  AS_CASE([$enable_static_llvm], [yes|no|auto], [], [AC_MSG_ERROR([--enable-static-llvm takes yes, no or auto])])
  AC_ARG_VAR([LLVM_CONFIG], [llvm-config of LLVM 19])
  AC_PATH_PROGS([LLVM_CONFIG], [llvm-config-19 llvm-config], [no], [$PATH:/usr/lib/llvm-19/bin])
  LLVM_VERSION=none tb_llvm_linkage=missing
  AS_IF([test "$LLVM_CONFIG" != no], [LLVM_VERSION=$($LLVM_CONFIG --version)])
  AC_MSG_CHECKING([for LLVM 19])
  AC_MSG_RESULT([$LLVM_VERSION])
  AS_CASE([$LLVM_VERSION],
    [19.*], [TB_LLVM_FLAGS],
    [TB_MISSING([LLVM 19 (found: $LLVM_VERSION)], [llvm-19-dev])])
  AC_SUBST([LLVM_CFLAGS])
  AC_SUBST([LLVM_LIBS])
  AC_SUBST([LLVM_TEST_LIBS])])

dnl Sets $1 (yes or no): does a program with the LLVM core link with $2?
AC_DEFUN([TB_LLVM_LINKS], [
  tb_save_LIBS=$LIBS LIBS="$2 $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
    ]], [[
LLVMInitializeX86Target();
LLVMContextDispose(LLVMContextCreate());]])], [$1=yes], [$1=no])
  LIBS=$tb_save_LIBS])

AC_DEFUN([TB_LLVM_FLAGS], [
  LLVM_CFLAGS="-isystem $($LLVM_CONFIG --includedir)"
  tb_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $LLVM_CFLAGS"
  AC_CHECK_HEADER([llvm-c/Core.h], [tb_llvm_header=yes], [tb_llvm_header=no])

  tb_llvm_dir=$($LLVM_CONFIG --libdir)
  dnl LLVM's folder may hold a libgomp that is its own OpenMP runtime: the compiler's comes first.
  tb_gomp=$($CC -print-file-name=libgomp.so)
  AS_CASE([$tb_gomp], [*/*], [tb_gomp_first="-L${tb_gomp%/*} "], [tb_gomp_first=])
  tb_llvm_shared="$tb_gomp_first-L$tb_llvm_dir $($LLVM_CONFIG --link-shared --libs TB_LLVM_COMPONENTS 2>/dev/null)"
  dnl --as-needed leaves out what the archives could use but this program does not (z3, libxml2).
  tb_llvm_static="$tb_gomp_first-L$tb_llvm_dir $($LLVM_CONFIG --link-static --libs TB_LLVM_COMPONENTS 2>/dev/null) -Wl,--as-needed"
  tb_llvm_static="$tb_llvm_static $($LLVM_CONFIG --link-static --system-libs TB_LLVM_COMPONENTS 2>/dev/null) -l:libstdc++.a"
  tb_llvm_static_works=no tb_llvm_shared_works=no
  AS_IF([test $enable_static_llvm = yes || { test $enable_static_llvm = auto && test $tb_sanitized = no; }], [
    AC_MSG_CHECKING([for static archives of LLVM])
    TB_LLVM_LINKS([tb_llvm_static_works], [$tb_llvm_static])
    AC_MSG_RESULT([$tb_llvm_static_works])])
  AC_MSG_CHECKING([for the shared library of LLVM])
  TB_LLVM_LINKS([tb_llvm_shared_works], [$tb_llvm_shared])
  AC_MSG_RESULT([$tb_llvm_shared_works])
  CPPFLAGS=$tb_save_CPPFLAGS

  AS_IF([test $enable_static_llvm = yes && test $tb_llvm_static_works = no],
    [TB_MISSING([what the static archives of LLVM need], [llvm-19-dev zlib1g-dev libzstd-dev libxml2-dev libz3-dev libstdc++-12-dev])])
  AS_IF([test $tb_llvm_header = no || test $tb_llvm_shared_works$tb_llvm_static_works = nono],
    [TB_MISSING([headers and libraries of LLVM 19], [llvm-19-dev])])
  AS_IF([test $tb_llvm_static_works = yes],
    [LLVM_LIBS=$tb_llvm_static tb_llvm_linkage=static],
    [LLVM_LIBS=$tb_llvm_shared tb_llvm_linkage=shared])
  AS_IF([test $tb_llvm_shared_works = yes], [LLVM_TEST_LIBS=$tb_llvm_shared], [LLVM_TEST_LIBS=$tb_llvm_static])])

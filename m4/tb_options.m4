dnl Options of configure that change how the code is compiled: sanitizers, the hostile build, -Werror.

dnl TB_ENABLE(name, help)
AC_DEFUN([TB_ENABLE], [
  AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [$2])], [], [enable_$1=no])
  AS_CASE([$enable_$1], [yes|no], [], [AC_MSG_ERROR([--enable-$1 takes yes or no])])
  AS_IF([test $enable_$1 = yes], [tb_checks="$tb_checks $1"])])

AC_DEFUN([TB_OPTIONS], [
  tb_checks=
  TB_ENABLE([asan], [build with AddressSanitizer])
  TB_ENABLE([ubsan], [build with UndefinedBehaviorSanitizer; the first finding ends the program])
  TB_ENABLE([tsan], [build with ThreadSanitizer])
  TB_ENABLE([hostile], [caches of two entries, poisoned memory, shuffled ready lists, tiny vectors: for tests])
  TB_ENABLE([werror], [treat compiler warnings as errors])
  AS_IF([test $enable_asan = yes && test $enable_tsan = yes],
    [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])

  CHECK_CFLAGS=
  AS_IF([test $enable_asan = yes], [CHECK_CFLAGS="$CHECK_CFLAGS -fsanitize=address"])
  AS_IF([test $enable_ubsan = yes], [CHECK_CFLAGS="$CHECK_CFLAGS -fsanitize=undefined -fno-sanitize-recover=all"])
  AS_IF([test $enable_tsan = yes], [CHECK_CFLAGS="$CHECK_CFLAGS -fsanitize=thread"])
  tb_sanitized=no
  AS_IF([test -n "$CHECK_CFLAGS"], [tb_sanitized=yes; CHECK_CFLAGS="$CHECK_CFLAGS -fno-omit-frame-pointer"])
  AC_SUBST([CHECK_CFLAGS])
  AS_IF([test -z "$tb_checks"], [tb_checks=none])

  dnl clang warns where it does not vectorise a loop that asks for it: no fault of the code, and no warning of gcc.
  WARNING_CFLAGS=
  tb_save_CFLAGS=$CFLAGS CFLAGS="$CFLAGS -Werror -Wpass-failed"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [WARNING_CFLAGS=-Wno-pass-failed])
  CFLAGS=$tb_save_CFLAGS
  AS_IF([test $enable_werror = yes], [WARNING_CFLAGS="-Werror $WARNING_CFLAGS"])
  AC_SUBST([WARNING_CFLAGS])
  AM_CONDITIONAL([HOSTILE], [test $enable_hostile = yes])

  dnl A fixed address saves relocations at each start, and instructions in each call; sanitizers choose the layout themselves, and code
  dnl that may lie anywhere serves the program and the module (tbench.so) then.
  PIC_CFLAGS="-fPIC -fvisibility=hidden"
  PIE_CFLAGS=$PIC_CFLAGS PIE_LDFLAGS=
  AS_IF([test $tb_sanitized = no], [PIE_CFLAGS=-fno-pie PIE_LDFLAGS=-no-pie])
  AC_SUBST([PIC_CFLAGS])
  AM_CONDITIONAL([ALL_PIC], [test $tb_sanitized = yes])
  AC_SUBST([PIE_CFLAGS])
  AC_SUBST([PIE_LDFLAGS])])

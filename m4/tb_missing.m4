dnl Missing dependencies are collected, and reported together with the Debian packages that hold them.

AC_DEFUN([TB_MISSING_INIT], [
  tb_missing_packages=])

dnl TB_MISSING(what is missing, Debian package)
AC_DEFUN([TB_MISSING], [
  AC_MSG_WARN([missing: $1 (Debian package: $2)])
  tb_missing_packages="$tb_missing_packages $2"])

AC_DEFUN([TB_MISSING_REPORT], [
  AS_IF([test -n "$tb_missing_packages"],
    [AC_MSG_ERROR([dependencies are missing (see the warnings above); on Debian 12: apt-get install$tb_missing_packages])])])

dnl TB_CHECK_PKG(variable prefix, pkg-config module, Debian package)
AC_DEFUN([TB_CHECK_PKG], [
  PKG_CHECK_MODULES([$1], [$2], [], [TB_MISSING([$2], [$3])])])

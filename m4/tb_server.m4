dnl The server behind `tbench serve`: it is left out where its libraries are missing.
AC_DEFUN([TB_CHECK_SERVER], [
  tb_server=yes tb_server_missing=
  PKG_CHECK_MODULES([MICROHTTPD], [libmicrohttpd], [], [tb_server=no tb_server_missing="$tb_server_missing, missing: libmicrohttpd-dev"])
  PKG_CHECK_MODULES([SQLITE], [sqlite3 >= 3.35], [], [tb_server=no tb_server_missing="$tb_server_missing, missing: libsqlite3-dev"])
  PKG_CHECK_MODULES([ZSTD], [libzstd], [], [tb_server=no tb_server_missing="$tb_server_missing, missing: libzstd-dev"])
  PKG_CHECK_MODULES([CRYPTO], [libcrypto >= 1.1], [], [tb_server=no tb_server_missing="$tb_server_missing, missing: libssl-dev"])
  AM_CONDITIONAL([HAVE_SERVER], [test $tb_server = yes])
  AC_ARG_WITH([dygraphs],
    [AS_HELP_STRING([--with-dygraphs@<:@=DIR@:>@], [folder of dygraph.min.js, which pages of tbench serve draw with (default: /usr/share/javascript/dygraphs)])],
    [], [with_dygraphs=/usr/share/javascript/dygraphs])
  AC_SUBST([DYGRAPHS], [$with_dygraphs])])

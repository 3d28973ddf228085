dnl OpenBLAS, the OpenMP build of it: kernels and the library share one pool of threads. It is opened at run
dnl time by its absolute path, so that the system's default BLAS does not matter and starting costs nothing.

AC_DEFUN([TB_CHECK_OPENMP], [
  AC_OPENMP
  AS_IF([test "x$enable_openmp" = xno], [AC_MSG_ERROR([tbench needs OpenMP: its kernels share the threads of OpenBLAS])])
  AS_IF([test "x$ac_cv_prog_c_openmp" = xunsupported],
    [TB_MISSING([OpenMP for $CC], [libgomp1 (gcc) or libomp-19-dev (clang)])])])

AC_DEFUN([TB_CHECK_OPENBLAS], [
  AC_ARG_VAR([TC_OPENBLAS_PATH], [absolute path of the libopenblas.so.0 that was built with OpenMP])
  AC_MSG_CHECKING([for the OpenMP build of OpenBLAS])
  AS_IF([test -z "$TC_OPENBLAS_PATH"], [
    tb_multiarch=$($CC -print-multiarch 2>/dev/null)
    for tb_dir in "/usr/lib/${tb_multiarch:-x86_64-linux-gnu}/openblas-openmp" /usr/lib/x86_64-linux-gnu/openblas-openmp \
                  /usr/local/lib /usr/lib64 /usr/lib; do
      AS_IF([test -z "$TC_OPENBLAS_PATH" && test -e "$tb_dir/libopenblas.so.0"], [TC_OPENBLAS_PATH=$tb_dir/libopenblas.so.0])
    done])
  AS_IF([test -z "$TC_OPENBLAS_PATH"],
    [AC_MSG_RESULT([no])
     TB_MISSING([OpenBLAS built with OpenMP], [libopenblas-openmp-dev])],
    [AC_MSG_RESULT([$TC_OPENBLAS_PATH])
     TB_OPENBLAS_PARALLEL])])

dnl The library says itself how it was built: 0 sequential, 1 pthreads, 2 OpenMP.
AC_DEFUN([TB_OPENBLAS_PARALLEL], [
  tb_save_LIBS=$LIBS LIBS="-ldl $LIBS"
  AC_MSG_CHECKING([that it runs on OpenMP])
  AC_RUN_IFELSE([AC_LANG_PROGRAM([[
#include <dlfcn.h>
    ]], [[
void *library = dlopen("$TC_OPENBLAS_PATH", RTLD_NOW);
if (!library) return 3;
int (*get_parallel)(void) = (int (*)(void))dlsym(library, "openblas_get_parallel");
if (!get_parallel) return 4;
return get_parallel() == 2 ? 0 : 5;]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     TB_MISSING([OpenBLAS built with OpenMP ($TC_OPENBLAS_PATH is another build, or does not load)], [libopenblas-openmp-dev])],
    [AC_MSG_RESULT([cannot be run here: taken as yes])])
  LIBS=$tb_save_LIBS])

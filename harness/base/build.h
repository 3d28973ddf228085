/* What the build tells the program about itself. Each name comes from the build system; the values here
 * are for a compile by hand. */
#ifndef TB_BUILD_H
#define TB_BUILD_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#if __has_include("commit.h")
#include "commit.h" /* TB_COMMIT, TB_COMMIT_WHOLE */
#endif
#include <llvm/Config/llvm-config.h> /* LLVM_VERSION_STRING; no code of LLVM */

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif
#ifndef TB_COMMIT
#define TB_COMMIT "unknown"
#endif
#ifndef TB_COMMIT_WHOLE /* all of its digits; "": unknown */
#define TB_COMMIT_WHOLE ""
#endif
#ifndef TB_SRCDIR /* suites are found in the source tree while the program runs out of TB_BUILDDIR */
#define TB_SRCDIR "."
#endif
#ifndef TB_BUILDDIR
#define TB_BUILDDIR "."
#endif
#ifndef TB_PKGDATADIR
#define TB_PKGDATADIR "/usr/local/share/tbench"
#endif

#ifdef __clang__
#define TB_COMPILER "clang " __clang_version__
#else
#define TB_COMPILER "gcc " __VERSION__
#endif

#endif

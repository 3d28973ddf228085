/* What the build tells the program about itself. Each name comes from the build system; the values here
 * are for a compile by hand. */
#ifndef TB_BUILD_H
#define TB_BUILD_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif
#ifndef TB_COMMIT
#define TB_COMMIT "unknown"
#endif
#ifndef TB_BUILD
#define TB_BUILD "by hand"
#endif
#ifndef TB_SRCDIR /* the source tree: suites are found there while the program runs from TB_BUILDDIR */
#define TB_SRCDIR "."
#endif
#ifndef TB_BUILDDIR
#define TB_BUILDDIR "."
#endif
#ifndef TB_PKGDATADIR
#define TB_PKGDATADIR "/usr/local/share/tbench"
#endif
#ifndef TB_LLVM_VERSION
#define TB_LLVM_VERSION "unknown"
#endif

#endif

/* What this processor has, and how large its caches are. */
#ifndef TC_DEVICE_CPU_FEATURES_H
#define TC_DEVICE_CPU_FEATURES_H

#include "base/error.h"
#include "base/target.h"

/* Fills a target for `isa` ("auto", "avx2", "avx512"). TC_UNSUPPORTED names what the machine lacks; TC_ARG an
 * unknown name. */
tc_status tc_cpu_target(const char *isa, int threads, struct tc_target *out, struct tc_error *err);
/* CPUs that this process may run on. */
int tc_cpu_available(void);

#endif

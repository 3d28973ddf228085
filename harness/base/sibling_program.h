/* Programs that belong to tbench and are started by it (tbench-serve). */
#ifndef TB_SIBLING_PROGRAM_H
#define TB_SIBLING_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Where such a program lies: beside this one (in a build folder), in ../libexec/tbench (an installation, also
 * one that was moved), or where it was to be installed. False: in none of them. */
bool tb_sibling_program_find(const char *name, char *path, size_t size);

#endif

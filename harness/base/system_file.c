/* Reading of the system's files: they are small, and made as they are read, so nothing of them is kept. */
#include "harness/base/system_file.h"

#include <stdio.h>
#include <string.h>

bool tb_system_line(const char *path, const char *key, char *line, size_t bytes) {
  FILE *in = fopen(path, "re");
  bool found = false;
  while (in && !found && fgets(line, (int)bytes, in)) found = !strncmp(line, key, strlen(key));
  if (in) fclose(in);
  if (found) line[strcspn(line, "\n")] = '\0';
  return found;
}

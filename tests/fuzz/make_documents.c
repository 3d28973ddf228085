/* Seeds of fuzz_results: `make_documents FOLDER` writes some documents that the schema allows, and pieces of
 * them. */
#include "tests/dashboard/documents.h"

enum { MOST_CASES = 3, WAYS = 3 };

int main(int argc, char **argv) {
  static char text[DOCUMENT_HEAD + MOST_CASES * DOCUMENT_CASE], path[4096];
  if (argc != 2) return 2;
  for (int i = 0; i < MOST_CASES * WAYS; i++) {
    const size_t length = document_write(text, i, i % MOST_CASES + 1);
    snprintf(path, sizeof path, "%s/document%d", argv[1], i);
    FILE *file = fopen(path, "we");
    if (!file) return 1;
    fputc(i / MOST_CASES, file);
    fwrite(text, 1, length, file);
    if (fclose(file)) return 1;
  }
  return 0;
}

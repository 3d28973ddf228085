/* Hashing a file piece by piece. */
#include "harness/base/file_hash.h"

#include <stdio.h>

enum { PIECE_BYTES = 1 << 16 };

bool tb_file_hash(const char *path, char text[TC_SHA256_HEX]) {
  unsigned char digest[TC_SHA256_BYTES];
  char piece[PIECE_BYTES];
  struct tc_sha256 sha;
  FILE *in = fopen(path, "rbe");
  if (!in) return false;
  tc_sha256_init(&sha);
  for (size_t got; (got = fread(piece, 1, sizeof piece, in));) tc_sha256_add(&sha, piece, got);
  const bool good = !ferror(in);
  fclose(in);
  tc_sha256_end(&sha, digest);
  tc_sha256_hex(digest, text);
  return good;
}

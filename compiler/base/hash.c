#include "base/hash.h"

#include <string.h>

uint64_t tc_hash_bytes(uint64_t seed, const void *data, size_t bytes) {
  const unsigned char *at = data;
  uint64_t hash = tc_hash_mix(seed, bytes);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = tc_hash_mix(hash, word);
  }
  uint64_t tail = 0;
  if (bytes) memcpy(&tail, at, bytes);
  return tc_hash_mix(hash, tail);
}

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

/* FIPS 180-4, section 4.2.2. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void tc_sha256_init(struct tc_sha256 *sha) {
  *sha = (struct tc_sha256){
      {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
      0,
      {0}};
}

/* One round; the eight words of the state are given in turned order instead of being moved. */
static inline void sha_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
                             uint32_t g, uint32_t *h, uint32_t word) {
  const uint32_t t1 = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + word;
  *d += t1;
  *h = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

static void sha_block(uint32_t state[8], const unsigned char *block) {
  uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5],
                  g = state[6], h = state[7];
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
           block[4 * i + 3];
  for (int i = 16; i < 64; i++)
    w[i] = w[i - 16] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
           (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
  for (int i = 0; i < 64; i += 8) {
    const uint32_t *k = round_constants + i, *v = w + i;
    sha_round(a, b, c, &d, e, f, g, &h, k[0] + v[0]);
    sha_round(h, a, b, &c, d, e, f, &g, k[1] + v[1]);
    sha_round(g, h, a, &b, c, d, e, &f, k[2] + v[2]);
    sha_round(f, g, h, &a, b, c, d, &e, k[3] + v[3]);
    sha_round(e, f, g, &h, a, b, c, &d, k[4] + v[4]);
    sha_round(d, e, f, &g, h, a, b, &c, k[5] + v[5]);
    sha_round(c, d, e, &f, g, h, a, &b, k[6] + v[6]);
    sha_round(b, c, d, &e, f, g, h, &a, k[7] + v[7]);
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g,
      state[7] += h;
}

void tc_sha256_add(struct tc_sha256 *sha, const void *data, size_t bytes) {
  const unsigned char *at = data;
  while (bytes) {
    const size_t have = sha->bytes % 64, room = 64 - have, take = bytes < room ? bytes : room;
    const int whole = take == 64; /* it need not be put together first */
    if (!whole) memcpy(sha->block + have, at, take);
    if (have + take == 64) sha_block(sha->state, whole ? at : sha->block);
    sha->bytes += take;
    at += take;
    bytes -= take;
  }
}

void tc_sha256_end(struct tc_sha256 *sha, unsigned char digest[TC_SHA256_BYTES]) {
  const uint64_t bits = sha->bytes * 8;
  static const unsigned char first = 0x80, zero = 0;
  tc_sha256_add(sha, &first, 1);
  while (sha->bytes % 64 != 56) tc_sha256_add(sha, &zero, 1);
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
  tc_sha256_add(sha, length, 8);
  for (int i = 0; i < 32; i++) digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void tc_hex(const void *bytes, size_t count, char *text) {
  static const char digits[] = "0123456789abcdef";
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; i++) {
    text[2 * i] = digits[at[i] >> 4];
    text[2 * i + 1] = digits[at[i] & 15];
  }
  text[2 * count] = '\0';
}

void tc_sha256_hex(const unsigned char digest[TC_SHA256_BYTES], char text[TC_SHA256_HEX]) {
  tc_hex(digest, TC_SHA256_BYTES, text);
}

void tc_sha256_of(const void *data, size_t bytes, char text[TC_SHA256_HEX]) {
  unsigned char digest[TC_SHA256_BYTES];
  struct tc_sha256 sha;
  tc_sha256_init(&sha);
  tc_sha256_add(&sha, data, bytes);
  tc_sha256_end(&sha, digest);
  tc_sha256_hex(digest, text);
}

void tc_sha256_join(char text[TC_SHA256_HEX], const char *more) {
  unsigned char digest[TC_SHA256_BYTES];
  struct tc_sha256 sha;
  tc_sha256_init(&sha);
  tc_sha256_add(&sha, text, strlen(text));
  tc_sha256_add(&sha, more, strlen(more));
  tc_sha256_end(&sha, digest);
  tc_sha256_hex(digest, text);
}

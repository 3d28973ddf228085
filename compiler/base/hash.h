/* Hashes. tc_hash_* is a fast 64-bit mix (multiply-xorshift in the manner of wyhash; not for
 * adversaries): keys of in-memory tables. tc_sha256 (FIPS 180-4) names artifacts and cache entries. */
#ifndef TC_BASE_HASH_H
#define TC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t tc_hash_mix(uint64_t a, uint64_t b) {
  const __uint128_t product = (__uint128_t)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD1B54A32D192ED03u);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
uint64_t tc_hash_bytes(uint64_t seed, const void *data, size_t bytes);
static inline uint64_t tc_hash_u64(uint64_t seed, uint64_t value) { return tc_hash_mix(seed, value); }

enum { TC_SHA256_BYTES = 32, TC_SHA256_HEX = 65 };

struct tc_sha256 {
  uint32_t state[8];
  uint64_t bytes;
  unsigned char block[64];
};
void tc_sha256_init(struct tc_sha256 *sha);
void tc_sha256_add(struct tc_sha256 *sha, const void *data, size_t bytes);
void tc_sha256_end(struct tc_sha256 *sha, unsigned char digest[TC_SHA256_BYTES]);
/* `count` bytes as 2 * count lower-case hex digits and a terminating zero. */
void tc_hex(const void *bytes, size_t count, char *text);
/* The digest of one piece, in hex. */
void tc_sha256_of(const void *data, size_t bytes, char text[TC_SHA256_HEX]);
/* Lower-case hex with a terminating zero. */
void tc_sha256_hex(const unsigned char digest[TC_SHA256_BYTES], char text[TC_SHA256_HEX]);
/* One digest for two: of the text, which holds the first, and `more` behind it, in the place of the first. */
void tc_sha256_join(char text[TC_SHA256_HEX], const char *more);

#endif

/* SHA-256 (FIPS 180-4) with the SHA extensions: four rounds a step, two words of the schedule at a time. */
#include "dashboard/store/digest.h"

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

enum { BLOCK = 64, STEPS = 16, LENGTH_BYTES = 8 };

bool tb_digest_is_fast(void) {
  enum { LEAF = 7, SHA_BIT = 29, SSE41_BIT = 19, SSSE3_BIT = 9 };
  unsigned a, b, c, d;
  if (!__get_cpuid_count(LEAF, 0, &a, &b, &c, &d) || !(b >> SHA_BIT & 1)) return false;
  return __get_cpuid(1, &a, &b, &c, &d) && (c >> SSE41_BIT & 1) && (c >> SSSE3_BIT & 1);
}

static const uint32_t round_constants[STEPS][4] __attribute__((aligned(16))) = {
    {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5}, {0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5},
    {0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3}, {0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174},
    {0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc}, {0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da},
    {0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7}, {0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967},
    {0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13}, {0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85},
    {0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3}, {0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070},
    {0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5}, {0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3},
    {0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208}, {0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2}};

/* The instructions want the state as ABEF and CDGH. */
__attribute__((target("sha,sse4.1,ssse3"))) static void add_blocks(uint32_t state[8],
                                                                   const unsigned char *data, size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xB1);
  const __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1B);
  __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xF0);
  for (; blocks; blocks--, data += BLOCK) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; i++)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)), swap);
#pragma GCC unroll 16
    for (int step = 0; step < STEPS; step++) {
      const __m128i now = w[step % 4],
                    words = _mm_add_epi32(
                        now, _mm_load_si128((const __m128i *)(const void *)round_constants[step]));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0E));
      if (step < STEPS - 4) { /* the four words that are wanted four steps from here */
        const __m128i next = w[(step + 1) % 4], last = w[(step + 3) % 4];
        const __m128i sum =
            _mm_add_epi32(_mm_sha256msg1_epu32(now, next), _mm_alignr_epi8(last, w[(step + 2) % 4], 4));
        w[step % 4] = _mm_sha256msg2_epu32(sum, last);
      }
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static void digest_fast(const unsigned char *data, size_t bytes, unsigned char digest[TC_SHA256_BYTES]) {
  struct tc_sha256 start;
  unsigned char tail[2 * BLOCK] = {0};
  const size_t whole = bytes / BLOCK, rest = bytes % BLOCK,
               padded = rest + 1 + LENGTH_BYTES <= BLOCK ? BLOCK : 2 * BLOCK;
  tc_sha256_init(&start);
  add_blocks(start.state, data, whole);
  memcpy(tail, data + whole * BLOCK, rest);
  tail[rest] = 0x80;
  for (int i = 0; i < LENGTH_BYTES; i++)
    tail[padded - 1 - (size_t)i] = (unsigned char)((uint64_t)bytes * 8 >> (8 * i));
  add_blocks(start.state, tail, padded / BLOCK);
  for (int i = 0; i < TC_SHA256_BYTES; i++)
    digest[i] = (unsigned char)(start.state[i / 4] >> (24 - 8 * (i % 4)));
}

void tb_digest(bool fast, const void *data, size_t bytes, unsigned char digest[TC_SHA256_BYTES]) {
  struct tc_sha256 sha;
  if (fast) {
    digest_fast(data, bytes, digest);
    return;
  }
  tc_sha256_init(&sha);
  tc_sha256_add(&sha, data, bytes);
  tc_sha256_end(&sha, digest);
}

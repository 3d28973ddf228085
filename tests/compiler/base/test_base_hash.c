/* base/hash: SHA-256 against known answers, and the properties that tables and keys rest on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

/* The examples of FIPS 180-4 and of the NIST test vectors. */
static void sha256_gives_the_known_answers(void **state) {
  (void)state;
  static const struct {
    const char *message, *digest;
  } known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopq"
       "rstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
  };
  char text[TC_SHA256_HEX];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    tc_sha256_of(known[i].message, strlen(known[i].message), text);
    assert_string_equal(text, known[i].digest);
  }
}

static void hex_is_two_lower_case_digits_a_byte(void **state) {
  (void)state;
  char text[2 * 4 + 1] = "xxxxxxxx";
  tc_hex("\x00\x0f\xa0\xff", 4, text);
  assert_string_equal(text, "000fa0ff");
  tc_hex("", 0, text);
  assert_string_equal(text, "");
}

static void sha256_of_two_is_that_of_both_texts(void **state) {
  (void)state;
  char first[TC_SHA256_HEX] = "abc", both[TC_SHA256_HEX], text[2 * TC_SHA256_HEX];
  tc_sha256_of("abcabcdef", strlen("abcabcdef"), both);
  tc_sha256_join(first, "abcdef");
  assert_string_equal(first, both);
  snprintf(text, sizeof text, "%s%s", both, "x");
  tc_sha256_join(first, "x");
  tc_sha256_of(text, strlen(text), both);
  assert_string_equal(first, both);
}

static void sha256_of_a_million_letters(void **state) {
  (void)state;
  enum { MILLION = 1000000 };
  char *letters = malloc(MILLION), text[TC_SHA256_HEX];
  assert_non_null(letters);
  memset(letters, 'a', MILLION);
  tc_sha256_of(letters, MILLION, text);
  assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  free(letters);
}

/* Every length around the block size, given whole and in pieces of every size: padding is where it breaks. */
static void sha256_does_not_depend_on_the_pieces(void **state) {
  (void)state;
  enum { LONGEST = 200 };
  unsigned char data[LONGEST];
  for (int i = 0; i < LONGEST; i++) data[i] = (unsigned char)(i * 73 + 5);
  for (size_t length = 0; length <= LONGEST; length++) {
    char whole[TC_SHA256_HEX], pieces[TC_SHA256_HEX];
    tc_sha256_of(data, length, whole);
    for (size_t piece = 1; piece <= 70; piece += 3) {
      struct tc_sha256 sha;
      unsigned char digest[TC_SHA256_BYTES];
      tc_sha256_init(&sha);
      for (size_t at = 0; at < length; at += piece)
        tc_sha256_add(&sha, data + at, length - at < piece ? length - at : piece);
      tc_sha256_end(&sha, digest);
      tc_sha256_hex(digest, pieces);
      assert_string_equal(pieces, whole);
    }
  }
}

static void hash_sees_seed_length_and_every_bit(void **state) {
  (void)state;
  enum { LONGEST = 40 };
  unsigned char data[LONGEST] = {0};
  for (size_t length = 0; length <= LONGEST; length++) {
    const uint64_t hash = tc_hash_bytes(1, data, length);
    assert_int_equal(hash, tc_hash_bytes(1, data, length));
    assert_int_not_equal(hash, tc_hash_bytes(2, data, length));
    if (length) assert_int_not_equal(hash, tc_hash_bytes(1, data, length - 1)); /* zeros count too */
    for (size_t bit = 0; bit < length * 8; bit++) {
      data[bit / 8] ^= (unsigned char)(1u << bit % 8);
      assert_int_not_equal(hash, tc_hash_bytes(1, data, length));
      data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
  }
}

static void hash_depends_on_order(void **state) {
  (void)state;
  assert_int_not_equal(tc_hash_u64(tc_hash_u64(0, 1), 2), tc_hash_u64(tc_hash_u64(0, 2), 1));
  assert_int_not_equal(tc_hash_bytes(0, "ab", 2), tc_hash_bytes(0, "ba", 2));
}

/* Small consecutive numbers are what keys are made of: their hashes must spread over the low bits. */
static void hash_of_small_numbers_fills_a_table(void **state) {
  (void)state;
  enum { SLOTS = 4096, KEYS = 4096, WORST = 12 };
  unsigned char *load = calloc(SLOTS, 1);
  assert_non_null(load);
  int worst = 0;
  for (uint64_t key = 0; key < KEYS; key++) {
    unsigned char *slot = &load[tc_hash_u64(0, key) % SLOTS];
    if (++*slot > worst) worst = *slot;
  }
  assert_true(worst <= WORST);
  free(load);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sha256_gives_the_known_answers),
      cmocka_unit_test(sha256_of_a_million_letters),
      cmocka_unit_test(sha256_of_two_is_that_of_both_texts),
      cmocka_unit_test(hex_is_two_lower_case_digits_a_byte),
      cmocka_unit_test(sha256_does_not_depend_on_the_pieces),
      cmocka_unit_test(hash_sees_seed_length_and_every_bit),
      cmocka_unit_test(hash_depends_on_order),
      cmocka_unit_test(hash_of_small_numbers_fills_a_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* base/: the allocators and what grows on them (arena, vec, strbuf), with every allocation failed in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/reserve.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Counts live bytes and allocations, and fails the n-th call that asks for memory. */
struct counting {
  struct tc_alloc alloc;
  size_t live_bytes;
  int calls, fail_at; /* fail_at: 0 never; else the call that fails, counted from 1 */
};

static void *counting_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct counting *counting = self;
  if (new_bytes && ++counting->calls == counting->fail_at) return NULL;
  void *moved = new_bytes ? realloc(block, new_bytes) : (free(block), NULL);
  if (new_bytes && !moved) return NULL;
  counting->live_bytes += new_bytes - old_bytes;
  return moved;
}

static void counting_init(struct counting *counting, int fail_at) {
  *counting = (struct counting){.alloc = {counting_resize, counting}, .fail_at = fail_at};
}

static bool all_bytes_are(const void *block, unsigned char value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (((const unsigned char *)block)[i] != value) return false;
  return true;
}

static void system_allocator_grows_and_keeps(void **state) {
  (void)state;
  const struct tc_alloc *a = tc_alloc_system();
  char *block = tc_new_bytes(a, 10);
  assert_non_null(block);
  memcpy(block, "123456789", 10);
  block = a->resize(a->self, block, 10, 100000);
  assert_non_null(block);
  assert_string_equal(block, "123456789");
  assert_null(a->resize(a->self, block, 100000, 0));
}

static void zeroed_memory_is_zero_and_checks_its_product(void **state) {
  (void)state;
  const struct tc_alloc *a = tc_alloc_system();
  int64_t *numbers = TC_NEW_ARRAY(a, int64_t, 1000);
  assert_non_null(numbers);
  assert_true(all_bytes_are(numbers, 0, 1000 * sizeof *numbers));
  TC_FREE_ARRAY(a, numbers, 1000);
  assert_null(tc_new_zeroed(a, SIZE_MAX / 2, 3));
}

static void freeing_nothing_is_fine(void **state) {
  (void)state;
  struct counting counting;
  counting_init(&counting, 0);
  tc_free_bytes(&counting.alloc, NULL, 0);
  tc_arena_free(NULL);
  assert_int_equal(counting.live_bytes, 0);
}

static void arena_blocks_are_aligned_apart_and_writable(void **state) {
  (void)state;
  enum { BLOCKS = 500 };
  struct counting counting;
  counting_init(&counting, 0);
  struct tc_arena *arena = tc_arena_new(&counting.alloc);
  assert_non_null(arena);
  unsigned char *blocks[BLOCKS];
  size_t bytes = 0;
  for (int i = 0; i < BLOCKS; i++) {
    const size_t size = (size_t)(i * 37 % 900);
    blocks[i] = tc_arena_bytes(arena, size);
    assert_non_null(blocks[i]);
    assert_int_equal((uintptr_t)blocks[i] % 16, 0);
    memset(blocks[i], i & 0xff, size);
    bytes += size;
  }
  for (int i = 0; i < BLOCKS; i++)
    assert_true(all_bytes_are(blocks[i], (unsigned char)i, (size_t)(i * 37 % 900)));
  assert_true(tc_arena_used(arena) >= bytes);
  tc_arena_free(arena);
  assert_int_equal(counting.live_bytes, 0);
}

static void arena_takes_blocks_larger_than_a_chunk(void **state) {
  (void)state;
  struct counting counting;
  counting_init(&counting, 0);
  struct tc_arena *arena = tc_arena_new(&counting.alloc);
  const size_t large = (size_t)5 << 20;
  char *block = tc_arena_bytes(arena, large);
  assert_non_null(block);
  memset(block, 1, large);
  assert_non_null(tc_arena_bytes(arena, 8));
  tc_arena_free(arena);
  assert_int_equal(counting.live_bytes, 0);
}

static void arena_refuses_impossible_sizes_and_stays_usable(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  assert_null(tc_arena_bytes(arena, SIZE_MAX));
  assert_null(tc_arena_bytes(arena, SIZE_MAX - 64));
  assert_null(tc_arena_bytes(arena, SIZE_MAX / 2));
  assert_string_equal(tc_arena_text(arena, "still here"), "still here");
  tc_arena_free(arena);
}

static void arena_text_is_a_copy(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  char text[] = "before";
  const char *copy = tc_arena_text(arena, text);
  text[0] = 'x';
  assert_string_equal(copy, "before");
  assert_string_equal(tc_arena_text(arena, ""), "");
  tc_arena_free(arena);
}

static void arena_as_allocator_resizes_and_reuses_the_newest(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  const struct tc_alloc *a = tc_arena_alloc(arena);
  char *block = tc_new_bytes(a, 16);
  memcpy(block, "0123456789abcde", 16);
  char *other = tc_new_bytes(a, 16);
  assert_non_null(other);
  char *moved = a->resize(a->self, block, 16, 4096); /* not the newest: it must move and keep its text */
  assert_non_null(moved);
  assert_string_equal(moved, "0123456789abcde");
  const size_t used = tc_arena_used(arena);
  char *newest = tc_new_bytes(a, 64);
  tc_free_bytes(a, newest, 64);
  assert_int_equal(tc_arena_used(arena), used);
  assert_ptr_equal(tc_new_bytes(a, 64), newest);
  tc_arena_free(arena);
}

/* Fills an arena through all its ways in; false as soon as one of them is out of memory. */
static bool exercise_arena(const struct tc_alloc *parent) {
  struct tc_arena *arena = tc_arena_new(parent);
  if (!arena) return false;
  bool fine = true;
  for (size_t size = 1; size < (size_t)4 << 20; size *= 3) {
    char *block = tc_arena_bytes(arena, size);
    if (block) memset(block, 7, size);
    fine = fine && block;
  }
  const struct tc_alloc *a = tc_arena_alloc(arena);
  TC_VEC(int) numbers = {0};
  for (int i = 0; fine && i < 100000; i++) fine = tc_vec_push(a, &numbers, i);
  tc_arena_free(arena);
  return fine;
}

static void arena_survives_each_failed_allocation(void **state) {
  (void)state;
  struct counting counting;
  counting_init(&counting, 0);
  assert_true(exercise_arena(&counting.alloc));
  const int calls = counting.calls;
  assert_true(calls > 3);
  for (int n = 1; n <= calls; n++) {
    counting_init(&counting, n);
    assert_false(exercise_arena(&counting.alloc));
    assert_int_equal(counting.live_bytes, 0);
  }
}

enum { LARGE = 1 << 20, SMALL = TC_RESERVE_SMALLEST - 1 };

static void reserve_gives_large_blocks_again(void **state) {
  (void)state;
  struct counting counting;
  counting_init(&counting, 0);
  struct tc_reserve reserve;
  tc_reserve_open(&reserve, &counting.alloc, 3 * LARGE);
  char *first = tc_new_bytes(&reserve.alloc, LARGE), *second = tc_new_bytes(&reserve.alloc, LARGE);
  memset(first, 1, LARGE);
  memset(second, 2, LARGE);
  const int calls = counting.calls;
  tc_free_bytes(&reserve.alloc, first, LARGE);
  tc_free_bytes(&reserve.alloc, second, LARGE);
  assert_int_equal(counting.live_bytes, 2 * LARGE);
  assert_ptr_equal(tc_new_bytes(&reserve.alloc, LARGE), second);
  char *other = tc_new_bytes(&reserve.alloc, LARGE + 1); /* of another size: the parent's */
  assert_ptr_equal(tc_new_bytes(&reserve.alloc, LARGE), first);
  assert_int_equal(counting.calls, calls + 1);
  memset(first, 3, LARGE);
  assert_true(all_bytes_are(first, 3, LARGE));
  tc_free_bytes(&reserve.alloc, first, LARGE);
  char *grown = reserve.alloc.resize(reserve.alloc.self, other, LARGE + 1,
                                     2 * LARGE); /* growing is the parent's business too */
  assert_non_null(grown);
  tc_reserve_close(&reserve);
  assert_int_equal(counting.live_bytes, 3 * LARGE);
  tc_free_bytes(&reserve.alloc, grown, 2 * LARGE); /* late, and not kept */
  tc_free_bytes(&reserve.alloc, second, LARGE);
  assert_int_equal(counting.live_bytes, 0);
}

static void reserve_keeps_no_more_than_its_limit(void **state) {
  (void)state;
  struct counting counting;
  counting_init(&counting, 0);
  struct tc_reserve reserve;
  tc_reserve_open(&reserve, &counting.alloc, 2 * LARGE);
  char *blocks[TC_RESERVE_BLOCKS + 2];
  for (int i = 0; i < 3; i++) blocks[i] = tc_new_bytes(&reserve.alloc, LARGE);
  for (int i = 0; i < 3; i++) tc_free_bytes(&reserve.alloc, blocks[i], LARGE);
  assert_int_equal(counting.live_bytes, 2 * LARGE); /* the oldest went */
  char *small = tc_new_bytes(&reserve.alloc, SMALL);
  tc_free_bytes(&reserve.alloc, small, SMALL);
  char *huge = tc_new_bytes(&reserve.alloc, 3 * LARGE);
  tc_free_bytes(&reserve.alloc, huge, 3 * LARGE);
  assert_int_equal(counting.live_bytes, 2 * LARGE);
  tc_reserve_close(&reserve);
  assert_int_equal(counting.live_bytes, 0);
  tc_reserve_open(&reserve, &counting.alloc, SIZE_MAX);
  for (int i = 0; i < TC_RESERVE_BLOCKS + 2; i++)
    blocks[i] = tc_new_bytes(&reserve.alloc, TC_RESERVE_SMALLEST);
  for (int i = 0; i < TC_RESERVE_BLOCKS + 2; i++)
    tc_free_bytes(&reserve.alloc, blocks[i], TC_RESERVE_SMALLEST);
  assert_int_equal(counting.live_bytes, TC_RESERVE_BLOCKS * TC_RESERVE_SMALLEST);
  tc_reserve_close(&reserve);
  assert_int_equal(counting.live_bytes, 0);
}

static void reserve_survives_each_failed_allocation(void **state) {
  (void)state;
  struct counting counting;
  counting_init(&counting, 0);
  assert_true(exercise_arena(&counting.alloc));
  const int calls = counting.calls;
  for (int n = 1; n <= calls; n++) {
    counting_init(&counting, n);
    struct tc_reserve reserve;
    tc_reserve_open(&reserve, &counting.alloc, 2 * LARGE);
    assert_false(exercise_arena(&reserve.alloc));
    assert_true(exercise_arena(&reserve.alloc)); /* with memory again, and what was kept */
    tc_reserve_close(&reserve);
    assert_int_equal(counting.live_bytes, 0);
  }
}

static void vec_keeps_what_is_pushed(void **state) {
  (void)state;
  enum { ITEMS = 10000 };
  struct counting counting;
  counting_init(&counting, 0);
  TC_VEC(int) numbers = {0};
  for (int i = 0; i < ITEMS; i++) assert_true(tc_vec_push(&counting.alloc, &numbers, i * 3));
  assert_int_equal(numbers.len, ITEMS);
  assert_true(numbers.cap >= numbers.len);
  for (int i = 0; i < ITEMS; i++) assert_int_equal(numbers.data[i], i * 3);
  tc_vec_free(&counting.alloc, &numbers);
  assert_null(numbers.data);
  assert_int_equal(numbers.len + numbers.cap, 0);
  assert_int_equal(counting.live_bytes, 0);
}

static void vec_loses_nothing_when_growing_fails(void **state) {
  (void)state;
  enum { ITEMS = 1000 };
  struct counting counting;
  counting_init(&counting, 0);
  TC_VEC(int) whole = {0};
  for (int i = 0; i < ITEMS; i++) assert_true(tc_vec_push(&counting.alloc, &whole, i));
  const int calls = counting.calls;
  tc_vec_free(&counting.alloc, &whole);
  for (int n = 1; n <= calls; n++) {
    counting_init(&counting, n);
    TC_VEC(int) numbers = {0};
    int pushed = 0;
    while (pushed < ITEMS && tc_vec_push(&counting.alloc, &numbers, pushed)) pushed++;
    assert_true(pushed < ITEMS);
    assert_int_equal(numbers.len, pushed);
    for (int i = 0; i < pushed; i++) assert_int_equal(numbers.data[i], i);
    assert_true(tc_vec_push(&counting.alloc, &numbers, pushed)); /* the next call has memory again */
    tc_vec_free(&counting.alloc, &numbers);
    assert_int_equal(counting.live_bytes, 0);
  }
}

static void vec_refuses_an_overflowing_size(void **state) {
  (void)state;
  void *data = NULL;
  size_t cap = SIZE_MAX / 4;
  assert_false(tc_vec_grow_(tc_alloc_system(), &data, &cap, SIZE_MAX / 4, 16));
  assert_null(data);
  assert_int_equal(cap, SIZE_MAX / 4);
}

static bool fill_strbuf(struct tc_strbuf *buf) {
  for (int i = 0; i < 400; i++) {
    tc_strbuf_puts(buf, "item ");
    tc_strbuf_printf(buf, "%d of %s", i, "many");
    tc_strbuf_bytes(buf, ";\n", 2);
  }
  return tc_strbuf_text(buf) != NULL;
}

static void strbuf_builds_text(void **state) {
  (void)state;
  struct counting counting;
  counting_init(&counting, 0);
  struct tc_strbuf buf;
  tc_strbuf_init(&buf, &counting.alloc);
  assert_string_equal(tc_strbuf_text(&buf), "");
  tc_strbuf_puts(&buf, "a");
  tc_strbuf_printf(&buf, "%s-%d", "b", 42);
  tc_strbuf_bytes(&buf, "cdef", 2);
  tc_strbuf_bytes(&buf, "never", 0);
  tc_strbuf_puts(&buf, "");
  assert_string_equal(tc_strbuf_text(&buf), "ab-42cd");
  assert_int_equal(buf.len, strlen("ab-42cd"));
  tc_strbuf_free(&buf);
  assert_int_equal(counting.live_bytes, 0);
  tc_strbuf_puts(&buf, "again");
  assert_string_equal(tc_strbuf_text(&buf), "again");
  tc_strbuf_free(&buf);
}

static void strbuf_prints_text_longer_than_its_room(void **state) {
  (void)state;
  enum { LONG = 100000 };
  char *text = malloc(LONG + 1);
  assert_non_null(text);
  memset(text, 'x', LONG);
  text[LONG] = '\0';
  struct tc_strbuf buf;
  tc_strbuf_init(&buf, tc_alloc_system());
  tc_strbuf_printf(&buf, "<%s>", text);
  const char *got = tc_strbuf_text(&buf);
  assert_int_equal(strlen(got), LONG + 2);
  assert_int_equal(got[0], '<');
  assert_int_equal(got[LONG + 1], '>');
  tc_strbuf_free(&buf);
  free(text);
}

static void strbuf_failure_is_sticky(void **state) {
  (void)state;
  struct counting counting;
  counting_init(&counting, 0);
  struct tc_strbuf buf;
  tc_strbuf_init(&buf, &counting.alloc);
  assert_true(fill_strbuf(&buf));
  tc_strbuf_free(&buf);
  const int calls = counting.calls;
  assert_true(calls > 2);
  for (int n = 1; n <= calls; n++) {
    counting_init(&counting, n);
    tc_strbuf_init(&buf, &counting.alloc);
    assert_false(fill_strbuf(&buf));
    assert_true(buf.failed);
    assert_int_equal(counting.calls, n); /* nothing is asked for after the failure */
    assert_null(tc_strbuf_text(&buf));
    tc_strbuf_free(&buf);
    assert_int_equal(counting.live_bytes, 0);
    assert_true(fill_strbuf(&buf)); /* freeing makes it usable again */
    tc_strbuf_free(&buf);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(system_allocator_grows_and_keeps),
      cmocka_unit_test(zeroed_memory_is_zero_and_checks_its_product),
      cmocka_unit_test(freeing_nothing_is_fine),
      cmocka_unit_test(arena_blocks_are_aligned_apart_and_writable),
      cmocka_unit_test(arena_takes_blocks_larger_than_a_chunk),
      cmocka_unit_test(arena_refuses_impossible_sizes_and_stays_usable),
      cmocka_unit_test(arena_text_is_a_copy),
      cmocka_unit_test(arena_as_allocator_resizes_and_reuses_the_newest),
      cmocka_unit_test(arena_survives_each_failed_allocation),
      cmocka_unit_test(reserve_gives_large_blocks_again),
      cmocka_unit_test(reserve_keeps_no_more_than_its_limit),
      cmocka_unit_test(reserve_survives_each_failed_allocation),
      cmocka_unit_test(vec_keeps_what_is_pushed),
      cmocka_unit_test(vec_loses_nothing_when_growing_fails),
      cmocka_unit_test(vec_refuses_an_overflowing_size),
      cmocka_unit_test(strbuf_builds_text),
      cmocka_unit_test(strbuf_prints_text_longer_than_its_room),
      cmocka_unit_test(strbuf_failure_is_sticky),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

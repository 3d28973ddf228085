/* Fuel: how many optional transformations of each kind (fuel.def) a compile may still make.
 *
 * Each asks in one place, right before it is made. So the first N are the same whatever the limit is beyond
 * N, and a search over N finds the one that made a program wrong or slower (tbench bisect). Without a limit a
 * question is a comparison and a count. Ownership: the arena of the compile. Threads: one. */
#ifndef TC_BASE_FUEL_H
#define TC_BASE_FUEL_H

#include "base/arena.h"
#include "base/config.h"

enum tc_fuel_kind {
#define TC_FUEL(name, unit, where) TC_FUEL_##name,
#include "base/fuel.def"
#undef TC_FUEL
  TC_FUEL_COUNT
};
const char *tc_fuel_name(enum tc_fuel_kind kind);

struct tc_fuel {
  struct tc_arena *arena;
  int64_t limit[TC_FUEL_COUNT]; /* TC_CONFIG_UNLIMITED: none */
  int64_t spent[TC_FUEL_COUNT];
  const char *last[TC_FUEL_COUNT]; /* what the unit was that took the last of a limited fuel; NULL: there is
                                      some left, or memory was out */
};

/* With the switches' limits. NULL when memory is out. */
struct tc_fuel *tc_fuel_new(struct tc_arena *arena, const struct tc_config *config);

/* May one more be made? It then counts as made. NULL: always. */
static inline bool tc_fuel_spend(struct tc_fuel *fuel, enum tc_fuel_kind kind) {
  if (!fuel) return true;
  if (fuel->spent[kind] == fuel->limit[kind]) return false;
  fuel->spent[kind]++;
  return true;
}

/* Was the unit that was just spent the last of a limited fuel? Then it is to be told. */
static inline bool tc_fuel_ended(const struct tc_fuel *fuel, enum tc_fuel_kind kind) {
  return fuel && fuel->spent[kind] == fuel->limit[kind];
}
/* For people: where memory is out, it is left out. */
void tc_fuel_tell(struct tc_fuel *fuel, enum tc_fuel_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What outlives the compile, for who asks. Copied. */
enum { TC_FUEL_TEXT = 160 };
struct tc_fuel_report {
  int64_t spent[TC_FUEL_COUNT];
  char last[TC_FUEL_COUNT][TC_FUEL_TEXT]; /* "": not told */
};
void tc_fuel_report(const struct tc_fuel *fuel, struct tc_fuel_report *out);
/* "inline 3, fuse 17 (the last that fuel.fuse allows: relu (v4) into sum (v5))", appended; "none" where
 * nothing was spent. */
void tc_fuel_print(struct tc_strbuf *out, const struct tc_fuel_report *report);

#endif

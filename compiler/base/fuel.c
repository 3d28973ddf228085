/* Fuel of a compile: counts against limits, and what the last unit was. */
#include "base/fuel.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
#define TC_FUEL(name, unit, where) #name,
#include "base/fuel.def"
#undef TC_FUEL
};
const char *tc_fuel_name(enum tc_fuel_kind kind) { return names[kind]; }

struct tc_fuel *tc_fuel_new(struct tc_arena *arena, const struct tc_config *config) {
  const int64_t limits[] = {
#define TC_FUEL(name, unit, where) config->fuel_##name,
#include "base/fuel.def"
#undef TC_FUEL
  };
  struct tc_fuel *fuel = TC_NEW(tc_arena_alloc(arena), struct tc_fuel);
  if (!fuel) return NULL;
  fuel->arena = arena;
  for (int i = 0; i < TC_FUEL_COUNT; i++) fuel->limit[i] = limits[i];
  return fuel;
}

void tc_fuel_tell(struct tc_fuel *fuel, enum tc_fuel_kind kind, const char *format, ...) {
  char text[TC_FUEL_TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fuel->last[kind] = tc_arena_text(fuel->arena, text);
}

void tc_fuel_report(const struct tc_fuel *fuel, struct tc_fuel_report *out) {
  for (int i = 0; i < TC_FUEL_COUNT; i++) {
    out->spent[i] = fuel->spent[i];
    snprintf(out->last[i], sizeof out->last[i], "%s", fuel->last[i] ? fuel->last[i] : "");
  }
}

void tc_fuel_print(struct tc_strbuf *out, const struct tc_fuel_report *report) {
  const char *before = "";
  for (int i = 0; i < TC_FUEL_COUNT; i++) {
    if (!report->spent[i]) continue;
    tc_strbuf_printf(out, "%s%s %lld", before, names[i], (long long)report->spent[i]);
    if (*report->last[i])
      tc_strbuf_printf(out, " (the last that fuel.%s allows: %s)", names[i], report->last[i]);
    before = ", ";
  }
  if (!*before) tc_strbuf_puts(out, "none");
}

/* Times as RFC 3339 writes them. */
#include "results/rfc3339.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Days since 1970 of a date of the Gregorian calendar. */
static int64_t days_of(int year, int month, int day) {
  const int since_march = (month + 9) % 12, y = year - (month <= 2);
  const int era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
  return (int64_t)146097 * era +
         (of_era * 365 + of_era / 4 - of_era / 100 + (153 * since_march + 2) / 5 + day - 1) - 719468;
}

static int days_in(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
  return days[month - 1] + (month == 2 && leap);
}

/* A number of that many digits, within bounds. */
static bool take_digits(const char **at, const char *end, int count, int highest, int *out) {
  *out = 0;
  for (int i = 0; i < count; i++, (*at)++) {
    if (*at == end || **at < '0' || **at > '9') return false;
    *out = *out * 10 + (**at - '0');
  }
  return *out <= highest;
}

static bool take_one_of(const char **at, const char *end, const char *letters) {
  return *at < end && **at && strchr(letters, **at) && (*at)++;
}

static bool take_fraction(const char **at, const char *end, int *nanoseconds) {
  enum { SECOND = 1000000000 };
  const char *first = *at;
  int digit;
  for (int scale = SECOND / 10; *at < end && **at >= '0' && **at <= '9'; scale /= 10)
    take_digits(at, end, 1, 9, &digit), *nanoseconds += digit * scale;
  return *at > first;
}

bool tb_time_read(const char *at, size_t length, struct tb_time *out) {
  enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };
  const char *end = at + length;
  int year, month, day, hour, minute, second, off_hours = 0, off_minutes = 0;
  out->nanoseconds = 0;
  bool good = take_digits(&at, end, 4, 9999, &year) && take_one_of(&at, end, "-") &&
              take_digits(&at, end, 2, 12, &month) && month && take_one_of(&at, end, "-") &&
              take_digits(&at, end, 2, 31, &day) && day && take_one_of(&at, end, "Tt") &&
              take_digits(&at, end, 2, 23, &hour) && take_one_of(&at, end, ":") &&
              take_digits(&at, end, 2, 59, &minute) && take_one_of(&at, end, ":") &&
              take_digits(&at, end, 2, 60, &second);
  good = good && day <= days_in(year, month);
  if (!good || (take_one_of(&at, end, ".") && !take_fraction(&at, end, &out->nanoseconds))) return false;
  const bool east = at < end && *at == '+';
  if (!take_one_of(&at, end, "Zz"))
    good = take_one_of(&at, end, "+-") && take_digits(&at, end, 2, 23, &off_hours) &&
           take_one_of(&at, end, ":") && take_digits(&at, end, 2, 59, &off_minutes);
  const int64_t offset = off_hours * HOUR + off_minutes * MINUTE;
  out->seconds =
      days_of(year, month, day) * DAY + hour * HOUR + minute * MINUTE + second - (east ? offset : -offset);
  return good && at == end;
}

double tb_doc_time(const cJSON *item, const char *path) {
  static const int64_t year_1 = -62135596800;
  const char *text = tb_doc_text(item, path, "");
  struct tb_time time;
  return tb_time_read(text, strlen(text), &time) && time.seconds >= year_1
             ? (double)time.seconds + time.nanoseconds / 1e9
             : NAN;
}

void tb_utc_text(double seconds, char out[TB_UTC_TEXT]) {
  const time_t time = (time_t)floor(seconds);
  struct tm utc;
  if (!gmtime_r(&time, &utc) || !strftime(out, TB_UTC_TEXT, "%Y-%m-%dT%H:%M:%S", &utc)) *out = '\0';
}

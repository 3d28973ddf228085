/* Token, network, spool and sender put together. Invariants:
 * 1. A document is in the spool before it is sent, and as long as the spool has room all are before the first
 *    is.
 * 2. Of documents of one call that replace each other at the endpoint, one is sent. */
#include "harness/push/pusher.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "harness/base/verb.h"
#include "harness/verdict/stored.h"

/* As --help says it (verb_options.def). */
static const char *default_text(const char *name) { return tb_verb_option_find("push", name)->default_text; }
static double default_number(const char *name) { return strtod(default_text(name), NULL); }
static bool default_flag(const char *name) {
  bool value = false;
  return tb_flag_parse(default_text(name), &value) && value;
}

struct tb_pusher_options tb_pusher_defaults(const char *verb) {
  return (struct tb_pusher_options){.verb = verb,
                                    .to = "",
                                    .format = default_text("format"),
                                    .spool = "",
                                    .token_file = "",
                                    .branch = default_text("branch"),
                                    .policy = {.tries = (int)default_number("tries"),
                                               .wait_s = default_number("wait"),
                                               .wait_most_s = default_number("wait_most"),
                                               .compress = default_flag("compress"),
                                               .plain = default_flag("plain")},
                                    .http = {.cacert = "",
                                             .connect_s = default_number("connect"),
                                             .stall_s = default_number("stall"),
                                             .total_s = default_number("timeout")}};
}

/* --- opening --- */

static tc_status choose_format(struct tb_pusher *p, struct tc_error *err) {
  const char *name = p->options.format, *why = tb_push_file_only(name);
  p->format = tb_push_format_find(name);
  if (p->format) return TC_OK;
  if (why)
    return tc_fail(err, TC_ARG, "push", "format=%s: %s (tbench report FILE format=%s)", name, why, name);
  struct tb_nearest nearest = tb_nearest_to(name);
  const char *all = "";
  for (int i = 0; i < tb_push_format_count() && all; i++) {
    tb_nearest_offer(&nearest, tb_push_format_at(i)->name);
    all = tb_format(p->arena, "%s%s%s", all, i ? ", " : "", tb_push_format_at(i)->name);
  }
  return tc_fail(err, TC_ARG, "push", "there is no format '%s'%s; formats: %s", name,
                 tb_nearest_hint(p->arena, &nearest), all ? all : "");
}

static tc_status choose_target(struct tb_pusher *p, struct tc_error *err) {
  if (!*p->options.to) return TC_OK;
  const tc_status status = tb_url_parse(p->arena, p->options.to, &p->url, err);
  return status ? status : tb_push_target(p->arena, p->format, &p->url, &p->target, err);
}

static tc_status check_secrecy(const struct tb_pusher *p, struct tc_error *err) {
  if (!*p->token || !p->target || p->url.secure || p->url.loopback || p->options.policy.plain) return TC_OK;
  return tc_fail(err, TC_ARG, "push",
                 "to=%s: the token would go unencrypted; use https://, or allow it with plain=yes",
                 p->options.to);
}

tc_status tb_pusher_open(struct tb_pusher *p, const struct tb_pusher_options *options, struct tc_arena *arena,
                         struct tb_interrupt *interrupt, struct tc_error *err) {
  *p = (struct tb_pusher){.options = *options, .arena = arena};
  tc_status status = choose_format(p, err);
  if (!status) status = choose_target(p, err);
  if (!status) status = tb_token_read(options->token_file, p->token, err);
  if (!status) status = check_secrecy(p, err);
  if (!status) {
    const char *file = p->options.http.cacert;
    status = !*file || !access(file, R_OK) ? TC_OK
                                           : tc_fail(err, TC_ARG, "push", "cacert=%s cannot be read", file);
  }
  if (!status) status = tb_push_http_open(&options->http, interrupt, &p->http, err);
  if (!status) status = tb_spool_disk(arena, options->spool, &p->disk, &p->spool.folder, err);
  p->spool.disk = &p->disk;
  if (!status) status = tb_spool_open(&p->spool, err);
  if (!status) status = tb_spool_disk_check(p->spool.folder, err);
  if (status) return status;
  p->push = (struct tb_push){.spool = &p->spool,
                             .world = tb_push_http_world(p->http),
                             .policy = options->policy,
                             .arena = arena,
                             .random = {(uint64_t)tb_now_ns() ^ (uint64_t)getpid() << 32},
                             .token = *p->token ? p->token : NULL,
                             .token_origin = p->target ? p->url.origin : NULL};
  return TC_OK;
}

void tb_pusher_close(struct tb_pusher *p) {
  tb_push_http_close(p->http);
  explicit_bzero(p->token, sizeof p->token);
}

/* --- telling, and sending --- */

/* Whether a reason was told just before: of many lines with the same one the first is told, and the others
 * are counted. */
static bool is_told(struct tb_pusher *p, const char *why) {
  if (!strcmp(why, p->told)) return p->told_again++, true;
  snprintf(p->told, sizeof p->told, "%s", why);
  return false;
}

/* A line on a document, `link` between its file and why. */
static void tell(const struct tb_pusher *p, const char *file, const char *link, const char *why) {
  char line[2 * TB_PUSH_WHY + 64];
  snprintf(line, sizeof line, "%.500s%s%s", file, link, why);
  tb_text_clean(line, TB_TEXT_LINE);
  fflush(stdout);
  fprintf(stderr, "tbench %s: %s\n", p->options.verb, line);
}

static void leave(struct tb_pusher *p, enum tb_left left, const char *file, const char *link,
                  const char *why) {
  p->left[left]++;
  if (left == TB_LEFT_ASIDE && !*p->left_why)
    snprintf(p->left_why, sizeof p->left_why, "%s", why), tb_text_clean(p->left_why, TB_TEXT_LINE);
  if (!is_told(p, why)) tell(p, file, link, why);
}

/* A line on what was not sent. */
static void tell_outcome(struct tb_pusher *p, const struct tb_push_outcome *o) {
  static const char *const what[TB_FATES] = {"sent: ", "known already: ", "not sent: ", "refused: "};
  char link[32];
  if (!*o->why || o->fate == TB_FATE_KNOWN || is_told(p, o->why)) return;
  snprintf(link, sizeof link, "%s%s", *o->source ? ": " : "", what[o->fate]);
  tell(p, o->source, link, o->why);
}

static void deliver_all(struct tb_pusher *p, const tb_spool_names *names) {
  for (size_t i = 0; i < names->len; i++) {
    struct tb_push_outcome outcome;
    tb_push_deliver(&p->push, &names->data[i], &outcome);
    p->count[outcome.fate]++;
    tell_outcome(p, &outcome);
  }
}

void tb_pusher_deliver(struct tb_pusher *p, const tb_spool_names *names) {
  deliver_all(p, names);
  if (p->told_again)
    fprintf(stderr, "tbench %s: %d more for the same reasons\n", p->options.verb, p->told_again);
  p->told_again = 0;
}

/* --- what is to be sent --- */

/* Adds an entry; where the spool does not take it, once more when what this call has put there is delivered,
 * which may have made room. */
static tc_status spool_entry(struct tb_pusher *p, struct tc_arena *arena, struct tb_spool_entry *entry,
                             tb_spool_names *names, struct tc_error *err) {
  struct tb_spool_name name;
  tc_status status = tb_spool_add(&p->spool, arena, entry, &name, err);
  if (status && names->len) {
    deliver_all(p, names);
    names->len = 0;
    status = tb_spool_add(&p->spool, arena, entry, &name, err);
  }
  if (status) return status;
  if (!tc_vec_push(tc_arena_alloc(p->arena), names, name))
    p->count[TB_FATE_KEPT]++; /* it lies there, and this process does not send it */
  return TC_OK;
}

/* The file of another document of this call that goes to the URL, and would be replaced; NULL: there is
 * none. */
static const char *claimed_by(const struct tb_pusher *p, const char *url, const char *file) {
  for (size_t i = 0; i < p->claims.len; i++)
    if (!strcmp(p->claims.data[i].url, url))
      return strcmp(p->claims.data[i].file, file) ? p->claims.data[i].file : NULL;
  return NULL;
}

/* False: memory is out. */
static bool claim(struct tb_pusher *p, const char *url, const char *file) {
  const struct tb_pusher_claim one = {tc_arena_text(p->arena, url), file};
  return !tb_push_replaces(p->format) || (one.url && tc_vec_push(tc_arena_alloc(p->arena), &p->claims, one));
}

/* False: not all of them got there. */
static bool spool_bodies(struct tb_pusher *p, struct tc_arena *arena, const char *file, const char *url,
                         const tb_push_bodies *bodies, tb_spool_names *names) {
  const char *link =
      bodies->len > 1 ? " was not sent as a whole, and is unchanged: " : " was not sent, and is unchanged: ";
  bool all = true;
  for (size_t i = 0; i < bodies->len; i++) {
    struct tb_spool_entry entry = {.url = url,
                                   .format = p->format->name,
                                   .source = file,
                                   .body = bodies->data[i].text,
                                   .bytes = bodies->data[i].bytes};
    struct tc_error err = {0};
    if (spool_entry(p, arena, &entry, names, &err))
      leave(p, TB_LEFT_ASIDE, file, link, err.message), all = false;
  }
  return all;
}

static void place_bodies(struct tb_pusher *p, struct tc_arena *arena, const char *file, const cJSON *result,
                         const tb_push_bodies *bodies, tb_spool_names *names) {
  const char *url = tb_push_target_of(arena, p->target, result),
             *first = url ? claimed_by(p, url, file) : NULL;
  if (first) {
    const char *why =
        tb_format(arena, "it would replace %s, which goes to %s too: push the one to keep", first, url);
    leave(p, TB_LEFT_UNFIT, file, ": ", why ? why : "it would replace another one");
  } else if (!url || !claim(p, url, file))
    leave(p, TB_LEFT_ASIDE, file, " was not sent, and is unchanged: ", "out of memory");
  else if (!spool_bodies(p, arena, file, url, bodies, names) && p->claims.len)
    p->claims.len--; /* another one may go there */
}

static void add_file(struct tb_pusher *p, struct tc_arena *arena, const char *file, tb_spool_names *names) {
  struct tb_push_document document = {0};
  struct tc_error err = {0};
  tb_push_bodies bodies = {0};
  const struct tb_push_place place = {.url = &p->url, .branch = p->options.branch};
  cJSON *result = tb_stored_load_result_bytes(arena, file, &document.text, &document.bytes, &err);
  document.result = result;
  if (!result)
    leave(p, err.status == TC_NOMEM ? TB_LEFT_ASIDE : TB_LEFT_BROKEN, "", "", err.message);
  else if (!tb_push_make(arena, p->format, &document, &place, &bodies, &err))
    place_bodies(p, arena, file, result, &bodies, names);
  else
    leave(p, err.status == TC_NOMEM ? TB_LEFT_ASIDE : TB_LEFT_UNFIT, file, ": ", err.message);
  cJSON_Delete(result);
}

void tb_pusher_add(struct tb_pusher *p, const char *file, tb_spool_names *names) {
  struct tc_arena *arena =
      tc_arena_new(tc_arena_parent(p->arena)); /* a file at a time: there may be thousands */
  if (!arena) {
    leave(p, TB_LEFT_ASIDE, file, " was not sent, and is unchanged: ", "out of memory");
    return;
  }
  add_file(p, arena, file, names);
  tc_arena_free(arena);
}

int tb_pusher_left(const struct tb_pusher *p) {
  return p->left[TB_LEFT_BROKEN] + p->left[TB_LEFT_UNFIT] + p->left[TB_LEFT_ASIDE];
}

/* The origin that an entry goes to, in the arena; NULL: it cannot be read, and needs no token. */
static const char *origin_of(struct tb_pusher *p, const struct tb_spool_name *name, bool refused) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tb_spool_entry entry;
  struct tb_url url = {0};
  struct tc_error err = {0};
  const bool known = arena && !tb_spool_look(&p->spool, arena, name, refused, &entry, &err) &&
                     !tb_url_parse(arena, entry.url, &url, &err);
  const char *origin = known ? tc_arena_text(p->arena, url.origin) : NULL;
  if (arena) tc_arena_free(arena);
  return origin;
}

/* Leaves those that go to the origin of to=, or, without it, sees whom the token is for: *only, NULL before
 * the first. Of refused ones that cannot be read nobody knows whose they are: without to= alone they are
 * tried again. */
static tc_status choose_entries(struct tb_pusher *p, bool refused, tb_spool_names *names, const char **only,
                                struct tc_error *err) {
  size_t kept = 0;
  for (size_t i = 0; i < names->len; i++) {
    const char *origin = origin_of(p, &names->data[i], refused);
    if (p->target && (origin ? strcmp(origin, p->url.origin) != 0 : refused)) continue;
    names->data[kept++] = names->data[i];
    if (p->target || !origin) continue;
    if (*only && *p->token && strcmp(*only, origin))
      return tc_fail(
          err, TC_ARG, "push",
          "the spool has entries for %s and for %s, and the token is for one of them: name it with to=URL",
          *only, origin);
    *only = origin;
  }
  names->len = kept;
  return TC_OK;
}

/* Those to be sent, `again`: and of the refused ones those that are to be tried again. Changes nothing. */
static tc_status choose_all(struct tb_pusher *p, tb_spool_names *names, tb_spool_names *again,
                            struct tc_error *err) {
  const char *only = NULL;
  tc_status status = tb_spool_list(&p->spool, p->arena, names, err);
  if (!status) status = choose_entries(p, false, names, &only, err);
  if (!status && again) status = tb_spool_list_refused(&p->spool, p->arena, again, err);
  if (!status && again) status = choose_entries(p, true, again, &only, err);
  if (!p->target) p->push.token_origin = only;
  return status;
}

tc_status tb_pusher_spooled(struct tb_pusher *p, bool refused, tb_spool_names *names, struct tc_error *err) {
  tb_spool_names again = {0};
  tc_status status = choose_all(p, names, refused ? &again : NULL, err);
  for (size_t i = 0; i < again.len && !status; i++) status = tb_spool_restore(&p->spool, &again.data[i], err);
  if (status || !again.len) return status;
  names->len = 0; /* in the order of all: once more, with those that were put back */
  return choose_all(p, names, NULL, err);
}

/* --- what came of it --- */

/* How many documents are nowhere but in their files, and why. */
static void summarise_left(const struct tb_pusher *p, FILE *out) {
  static const char *const what[TB_LEFTS] = {"unreadable", "not fit for this format", "could not be spooled"};
  const char *link = " (";
  if (!tb_pusher_left(p)) return;
  fprintf(out, ", %d left out", tb_pusher_left(p));
  for (int i = 0; i < TB_LEFTS; i++) {
    if (!p->left[i]) continue;
    fprintf(out, "%s%d %s", link, p->left[i], what[i]);
    link = ", ";
  }
  fprintf(out, "%s%s)", *p->left_why ? ": " : "", p->left_why);
}

void tb_pusher_summarise(const struct tb_pusher *p, FILE *out) {
  const int kept = p->count[TB_FATE_KEPT], refused = p->count[TB_FATE_REFUSED];
  fprintf(out, "%d sent, %d known already, %d spooled, %d refused", p->count[TB_FATE_SENT],
          p->count[TB_FATE_KNOWN], kept, refused);
  summarise_left(p, out);
  fputc('\n', out);
  if (kept) fprintf(out, "spooled in %s: `tbench push spooled=yes` sends them\n", p->spool.folder);
  if (refused)
    fprintf(
        out,
        "refused, in %s/refused with the reasons: `tbench push spooled=yes refused=yes` tries them again\n",
        p->spool.folder);
}

enum tb_exit tb_pusher_exit(const struct tb_pusher *p) {
  if (p->push.interrupted) return TB_EXIT_INTERRUPTED;
  if (p->left[TB_LEFT_BROKEN] || p->left[TB_LEFT_UNFIT]) return TB_EXIT_USAGE;
  return p->count[TB_FATE_KEPT] || p->count[TB_FATE_REFUSED] || p->left[TB_LEFT_ASIDE] ? TB_EXIT_FAILED
                                                                                       : TB_EXIT_PASS;
}

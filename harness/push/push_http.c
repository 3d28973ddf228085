/* HTTP by libcurl. Invariants:
 * 1. Certificates and host names are always verified; `cacert` changes whom to trust, nothing turns it off.
 * 2. No redirect is followed, no protocol but HTTP(S) is spoken, a proxy does not see the headers of a
 *    request that it tunnels, and it sees nothing of one that stays on this machine.
 * 3. However much an endpoint sends, a bounded part is kept, and it is left after that.
 * 4. A final status with its headers is an answer; of a body that is cut off behind it, it is told that it
 *    is. */
#define CURL_DISABLE_TYPECHECK
#include "harness/push/push_http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/base/build.h"
#include "harness/base/clock.h"
#include "harness/push/push_token.h"

enum { HEADER_LIMIT = 1 << 16, HEADER_BYTES = TB_TOKEN_BYTES + 1024, MS_PER_S = 1000 };
static const char library_name[] = "libcurl.so.4";

/* libcurl's functions, by the names of push_curl.def. */
struct curl {
#define TB_CURL(name) __typeof__(curl_##name) *name;
#include "harness/push/push_curl.def"
#undef TB_CURL
};

struct tb_push_http {
  struct curl curl;
  CURL *easy; /* kept, so that connections are */
  struct tb_push_http_options options;
  struct tb_interrupt *interrupt;
};

/* One exchange. */
struct exchange {
  struct tb_push_http *http;
  struct tb_push_answer *answer;
  size_t text_bytes, header_bytes;
  bool headed; /* all headers of the newest status came */
  struct curl_slist *headers;
  char message[CURL_ERROR_SIZE];
};

static tc_status open_library(struct curl *curl, struct tc_error *err) {
  void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return tc_fail(err, TC_UNSUPPORTED, "push", "%s (Debian package: libcurl4)", dlerror());
#define TB_CURL(name)                                                                                        \
  if (!(curl->name = (__typeof__(curl_##name) *)dlsym(library, "curl_" #name)))                              \
    return tc_fail(err, TC_UNSUPPORTED, "push", "%s has no curl_" #name, library_name);
#include "harness/push/push_curl.def"
#undef TB_CURL
  return TC_OK;
}

const char *tb_push_http_version(struct tc_arena *arena, struct tc_error *err) {
  struct curl curl;
  if (open_library(&curl, err)) return NULL;
  const curl_version_info_data *info = curl.version_info(CURLVERSION_NOW);
  if (info->features & CURL_VERSION_SSL)
    return tb_format(arena, "libcurl %s, %s", info->version, info->ssl_version);
  tc_fail(err, TC_UNSUPPORTED, "push", "libcurl %s has no TLS", info->version);
  return NULL;
}

tc_status tb_push_http_open(const struct tb_push_http_options *options, struct tb_interrupt *interrupt,
                            struct tb_push_http **http, struct tc_error *err) {
  struct tb_push_http *h = TC_NEW(tc_alloc_system(), struct tb_push_http);
  if (!h) return tc_fail_memory(err, "push");
  h->options = *options;
  h->interrupt = interrupt;
  tc_status status = open_library(&h->curl, err);
  if (!status && (h->curl.global_init(CURL_GLOBAL_DEFAULT) || !(h->easy = h->curl.easy_init())))
    status = tc_fail(err, TC_NOMEM, "push", "libcurl did not start");
  if (status)
    tb_push_http_close(h);
  else
    *http = h;
  return status;
}

void tb_push_http_close(struct tb_push_http *http) {
  if (!http) return;
  if (http->easy) http->curl.easy_cleanup(http->easy);
  TC_FREE(tc_alloc_system(), http);
}

/* --- what comes back --- */

static size_t take_text(char *bytes, size_t size, size_t count, void *data) {
  struct exchange *x = data;
  const size_t all = size * count, room = TB_PUSH_TEXT - 1 - x->text_bytes, taken = all < room ? all : room;
  for (size_t i = 0; i < taken; i++)
    x->answer->text[x->text_bytes++] = bytes[i] ? bytes[i] : '?'; /* a zero would hide what follows */
  x->answer->text[x->text_bytes] = '\0';
  return taken; /* less than came: libcurl hangs up */
}

/* The value of a header line that has this name, without blanks and the line's end. */
static bool take_header_value(const char *line, size_t length, const char *name, char *out, size_t size) {
  const size_t n = strlen(name);
  if (length <= n || strncasecmp(line, name, n) || line[n] != ':') return false;
  size_t begin = n + 1, end = length;
  while (begin < end && (line[begin] == ' ' || line[begin] == '\t')) begin++;
  while (end > begin && (line[end - 1] == '\r' || line[end - 1] == '\n' || line[end - 1] == ' ')) end--;
  snprintf(out, size, "%.*s", (int)(end - begin), line + begin);
  return true;
}

static size_t take_header(char *line, size_t size, size_t count, void *data) {
  struct exchange *x = data;
  const size_t length = size * count;
  static const char first[] = "HTTP/";
  if (length > strlen(first) && !strncmp(line, first, strlen(first)))
    *x->answer->type = *x->answer->location = '\0'; /* what came before was an interim answer */
  x->headed = length == strspn(line, "\r\n");
  if (!take_header_value(line, length, "Content-Type", x->answer->type, sizeof x->answer->type))
    take_header_value(line, length, "Location", x->answer->location, sizeof x->answer->location);
  x->header_bytes += length;
  return x->header_bytes <= HEADER_LIMIT ? length : 0;
}

static int watch(void *data, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up) {
  struct exchange *x = data;
  (void)down_all, (void)down, (void)up_all, (void)up;
  return tb_interrupt_poll(x->http->interrupt) > 0;
}

/* --- what goes --- */

static bool add_header(struct exchange *x, const char *name, const char *value) {
  char line[HEADER_BYTES];
  if (snprintf(line, sizeof line, "%s%s", name, value) >= (int)sizeof line) return false;
  struct curl_slist *longer = x->http->curl.slist_append(x->headers, line);
  explicit_bzero(line, sizeof line);
  if (longer) x->headers = longer;
  return longer;
}

static bool add_headers(struct exchange *x, const struct tb_push_request *r) {
  return add_header(x, "Content-Type: ", r->content_type) && add_header(x, "Idempotency-Key: ", r->key) &&
         (!r->encoding || add_header(x, "Content-Encoding: ", r->encoding)) &&
         (!r->token || add_header(x, r->credential, r->token));
}

static bool set_request(struct exchange *x, const struct tb_push_request *r) {
  struct tb_push_http *h = x->http;
  __typeof__(curl_easy_setopt) *set = h->curl.easy_setopt;
  CURL *e = h->easy;
  bool good =
      !set(e, CURLOPT_URL, r->url) && !set(e, CURLOPT_POST, 1L) && !set(e, CURLOPT_CUSTOMREQUEST, r->method);
  good = good && (!r->direct || !set(e, CURLOPT_NOPROXY, "*"));
  good = good && !set(e, CURLOPT_POSTFIELDS, r->body) &&
         !set(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->bytes);
  good = good && !set(e, CURLOPT_HTTPHEADER, x->headers) &&
         !set(e, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
  return good && !set(e, CURLOPT_USERAGENT, "tbench/" PACKAGE_VERSION) && !set(e, CURLOPT_FOLLOWLOCATION, 0L);
}

static bool set_trust(const struct tb_push_http *h) {
  __typeof__(curl_easy_setopt) *set = h->curl.easy_setopt;
  CURL *e = h->easy;
  bool good = !set(e, CURLOPT_SSL_VERIFYPEER, 1L) && !set(e, CURLOPT_SSL_VERIFYHOST, 2L) &&
              !set(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  good = good && (!*h->options.cacert ||
                  (!set(e, CURLOPT_CAINFO, h->options.cacert) && !set(e, CURLOPT_CAPATH, NULL)));
#if LIBCURL_VERSION_NUM >= 0x075500
  return good && !set(e, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  return good && !set(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static bool set_limits(struct exchange *x) {
  const struct tb_push_http *h = x->http;
  __typeof__(curl_easy_setopt) *set = h->curl.easy_setopt;
  CURL *e = h->easy;
  const long stall_s = (long)h->options.stall_s;
  bool good = !set(e, CURLOPT_NOSIGNAL, 1L) &&
              !set(e, CURLOPT_CONNECTTIMEOUT_MS, (long)(h->options.connect_s * MS_PER_S));
  good = good && !set(e, CURLOPT_TIMEOUT_MS, (long)(h->options.total_s * MS_PER_S));
  good = good && !set(e, CURLOPT_LOW_SPEED_LIMIT, 1L) &&
         !set(e, CURLOPT_LOW_SPEED_TIME, stall_s > 0 ? stall_s : 1);
  good = good && !set(e, CURLOPT_WRITEFUNCTION, take_text) && !set(e, CURLOPT_WRITEDATA, x) &&
         !set(e, CURLOPT_HEADERFUNCTION, take_header);
  good = good && !set(e, CURLOPT_HEADERDATA, x) && !set(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) &&
         !set(e, CURLOPT_ERRORBUFFER, x->message);
  return good && !set(e, CURLOPT_NOPROGRESS, 0L) && !set(e, CURLOPT_XFERINFOFUNCTION, watch) &&
         !set(e, CURLOPT_XFERINFODATA, x);
}

/* --- an exchange --- */

static enum tb_push_reach reach_of(CURLcode code) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return TB_PUSH_UNTRUSTED;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_BAD_FUNCTION_ARGUMENT: return TB_PUSH_IMPOSSIBLE;
    case CURLE_ABORTED_BY_CALLBACK: return TB_PUSH_INTERRUPTED;
    default: return TB_PUSH_UNREACHED;
  }
}

/* What helps where a certificate is not to be trusted: libcurl's code is the same for a name and for an
 * issuer. */
static const char *advice_on(const char *what) {
  if (strcasestr(what, "subject name") || strcasestr(what, "subjectaltname"))
    return "; the certificate is for another host than the one in to=: use the name in the certificate";
  return "; if its issuer is not a known one, cacert=FILE names a certificate to trust";
}

static void read_answer(struct exchange *x, CURLcode code) {
  struct tb_push_http *h = x->http;
  long status = 0;
  curl_off_t pause = 0;
  h->curl.easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
  h->curl.easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &pause);
  x->answer->status = (int)status;
  x->answer->retry_after_s = pause > 0 ? (double)pause : 0;
  /* A final status came, with all of its headers; its body may be cut off, or longer than we care for. */
  enum { FINAL = 200 };
  if (x->answer->status >= FINAL && x->headed && code != CURLE_ABORTED_BY_CALLBACK) {
    x->answer->reach = TB_PUSH_ANSWERED;
    x->answer->cut = code != CURLE_OK;
    return;
  }
  x->answer->reach = reach_of(code);
  const char *what = x->header_bytes > HEADER_LIMIT ? "its headers are too long"
                     : *x->message                  ? x->message
                                                    : h->curl.easy_strerror(code);
  snprintf(x->answer->text, sizeof x->answer->text, "%s%s", what,
           x->answer->reach == TB_PUSH_UNTRUSTED ? advice_on(what) : "");
}

static void send_request(void *self, const struct tb_push_request *request, struct tb_push_answer *answer) {
  struct exchange x = {.http = self, .answer = answer};
  struct tb_push_http *h = self;
  if (add_headers(&x, request) && set_request(&x, request) && set_trust(h) && set_limits(&x)) {
    read_answer(&x, h->curl.easy_perform(h->easy));
  } else {
    answer->reach = TB_PUSH_IMPOSSIBLE;
    snprintf(answer->text, sizeof answer->text,
             "libcurl refuses this request (out of memory, or a version without TLS)");
  }
  h->curl.easy_reset(h->easy); /* keeps connections, and forgets what points into this exchange */
  for (struct curl_slist *one = x.headers; one; one = one->next) explicit_bzero(one->data, strlen(one->data));
  h->curl.slist_free_all(x.headers);
}

static bool wait_pause(void *self, int64_t ns) {
  struct tb_push_http *h = self;
  struct pollfd signals = {.fd = h->interrupt->fd, .events = POLLIN};
  for (const int64_t end = tb_now_ns() + ns; ns > 0; ns = end - tb_now_ns()) {
    const struct timespec rest = {ns / TB_NS_PER_S, ns % TB_NS_PER_S};
    if (ppoll(&signals, 1, &rest, NULL) < 0 && errno != EINTR) break;
    if (tb_interrupt_poll(h->interrupt)) return false;
  }
  return !tb_interrupt_poll(h->interrupt);
}

struct tb_push_world tb_push_http_world(struct tb_push_http *http) {
  return (struct tb_push_world){http, send_request, wait_pause};
}

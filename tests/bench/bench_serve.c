/* How many documents a second `tbench serve` acknowledges, and which.
 *
 *     bench_serve ADDRESS:PORT TOKEN [connections=64] [seconds=5] [cases=1] [documents=N] [first=N]
 *     [keys=FILE] [idle=N]
 *
 * Connections stay open; each sends its next document when the last one was answered. Documents are made from
 * a template, each another one (from number `first` on); with keys= the key of each that was acknowledged is
 * written to FILE as soon as its answer is there, so that what a killed server had promised can be asked for
 * (tests/cli/serve.sh). With idle= so many further connections are open meanwhile: of four, one says nothing,
 * one has sent a part of its headers, one a part of its body, one was answered once. Ends after so many
 * seconds or documents, or when the server is gone. Prints documents, documents a second, and the times of
 * answers. Not part of the test suite: it states times. ci/serve-cost counts with it what a document
 * costs. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/dashboard/documents.h"

enum {
  CONNECTIONS = 4096,
  ANSWER = 4096,
  HEADERS = 512,
  EVENTS = 256,
  WAIT_MS = 60000,
  TIMES = 1 << 20,
  KEY = 64
};

struct settings {
  struct sockaddr_in address;
  const char *token, *keys;
  long long connections, seconds, cases, documents, first, idle;
};

struct peer {
  int fd;
  char *request;
  size_t length, sent, got;
  char answer[ANSWER + 1];
  double started;
};

struct load {
  struct settings settings;
  int epoll;
  FILE *keys;
  long long next, acknowledged, refused, lost;
  float *times_ms;
  bool gone;
  char why[ANSWER + 1]; /* the first refusal */
};

static void fail(const char *what) {
  fprintf(stderr, "bench_serve: %s: %s\n", what, strerror(errno));
  exit(2);
}

/* --- sending --- */

static void push_bytes(struct load *load, struct peer *peer) {
  while (peer->sent < peer->length) {
    const ssize_t n = send(peer->fd, peer->request + peer->sent, peer->length - peer->sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      load->gone = true;
      return;
    }
    peer->sent += (size_t)n;
  }
  struct epoll_event event = {.events = peer->sent < peer->length ? EPOLLIN | EPOLLOUT : EPOLLIN,
                              .data.ptr = peer};
  epoll_ctl(load->epoll, EPOLL_CTL_MOD, peer->fd, &event);
}

static void send_next(struct load *load, struct peer *peer) {
  const struct settings *s = &load->settings;
  if (s->documents && load->next - s->first >= s->documents) {
    shutdown(peer->fd, SHUT_RDWR);
    close(peer->fd);
    peer->fd = -1;
    return;
  }
  char *body = peer->request + HEADERS;
  const size_t bytes = document_write(body, load->next++, (int)s->cases);
  char headers[HEADERS];
  const int n = snprintf(headers, sizeof headers,
                         "POST /api/v1/results HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
                         "%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                         s->token, bytes);
  memmove(peer->request + n, body, bytes);
  memcpy(peer->request, headers, (size_t)n);
  peer->length = (size_t)n + bytes;
  peer->sent = peer->got = 0;
  peer->started = tc_now_ns();
  push_bytes(load, peer);
}

/* --- answers --- */

static void count(struct load *load, struct peer *peer) {
  const int status = atoi(peer->answer + strlen("HTTP/1.1 "));
  const char *key = strstr(peer->answer, "\"key\":\"");
  if ((status == 200 || status == 201) && key) {
    if (load->acknowledged < TIMES)
      load->times_ms[load->acknowledged] = (float)((tc_now_ns() - peer->started) / 1e6);
    load->acknowledged++;
    if (load->keys) fprintf(load->keys, "%.*s\n", KEY, key + strlen("\"key\":\""));
  } else {
    if (!load->refused++) snprintf(load->why, sizeof load->why, "%s", peer->answer);
  }
}

static bool answer_is_whole(const struct peer *peer) {
  const char *end = strstr(peer->answer, "\r\n\r\n"),
             *length = strcasestr(peer->answer, "\r\nContent-Length:");
  return end && length &&
         peer->got >=
             (size_t)(end + 4 - peer->answer) + strtoull(length + strlen("\r\nContent-Length:"), NULL, 10);
}

static void take_bytes(struct load *load, struct peer *peer) {
  const ssize_t n = recv(peer->fd, peer->answer + peer->got, ANSWER - peer->got, 0);
  if (n < 0 && errno == EAGAIN) return;
  if (n <= 0) {
    load->gone = true;
    return;
  }
  peer->got += (size_t)n;
  peer->answer[peer->got] = '\0';
  if (!answer_is_whole(peer)) return;
  count(load, peer);
  send_next(load, peer);
}

/* --- the run --- */

static void connect_peer(struct load *load, struct peer *peer) {
  const int one = 1;
  peer->request = malloc(HEADERS * 2 + DOCUMENT_HEAD + (size_t)load->settings.cases * DOCUMENT_CASE);
  peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!peer->request || peer->fd < 0 ||
      connect(peer->fd, (const struct sockaddr *)&load->settings.address, sizeof load->settings.address))
    fail("connecting");
  setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
  if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, peer->fd, &event)) fail("epoll");
}

/* Connections that hold a place and do no more. They are closed when the program ends. */
static long long open_idle(const struct settings *s) {
  static const char *const beginnings[] = {"", "POST /api/v1/results HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
                                           NULL, "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"};
  enum { KINDS = sizeof beginnings / sizeof *beginnings, OWN_FILES = 128 };
  struct rlimit limit = {(rlim_t)(s->idle + s->connections + OWN_FILES),
                         (rlim_t)(s->idle + s->connections + OWN_FILES)};
  char body_begun[HEADERS];
  long long opened = 0;
  if (setrlimit(RLIMIT_NOFILE, &limit) && !getrlimit(RLIMIT_NOFILE, &limit)) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  snprintf(body_begun, sizeof body_begun,
           "POST /api/v1/results HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: "
           "application/json\r\nContent-Length: 1000\r\n\r\n{\"schema\":",
           s->token);
  for (; opened < s->idle; opened++) {
    const char *beginning = beginnings[opened % KINDS] ? beginnings[opened % KINDS] : body_begun;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&s->address, sizeof s->address)) break;
    if (*beginning && send(fd, beginning, strlen(beginning), MSG_NOSIGNAL) < 0) break;
  }
  printf("%lld idle connections\n", opened);
  return opened;
}

static int compare(const void *a, const void *b) {
  return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

static double run(struct load *load, struct peer *peers) {
  struct epoll_event events[EVENTS];
  const double started = tc_now_ns(), end = started + (double)load->settings.seconds * 1e9;
  for (long long i = 0; i < load->settings.connections; i++) send_next(load, &peers[i]);
  while (!load->gone && tc_now_ns() < end) {
    if (load->settings.documents && load->acknowledged + load->refused >= load->settings.documents) break;
    const int n = epoll_wait(load->epoll, events, EVENTS, WAIT_MS);
    if (n <= 0) break;
    for (int i = 0; i < n; i++) {
      struct peer *peer = events[i].data.ptr;
      if (peer->fd >= 0 && events[i].events & EPOLLOUT) push_bytes(load, peer);
      if (peer->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) take_bytes(load, peer);
    }
    if (load->keys) fflush(load->keys);
  }
  return (tc_now_ns() - started) / 1e9;
}

static void read_settings(struct settings *s, int argc, char **argv) {
  struct {
    const char *name;
    long long *field;
  } numbers[] = {{"connections=", &s->connections}, {"seconds=", &s->seconds}, {"cases=", &s->cases},
                 {"documents=", &s->documents},     {"first=", &s->first},     {"idle=", &s->idle}};
  char *colon = argc > 2 ? strchr(argv[1], ':') : NULL;
  if (!colon)
    errno = EINVAL, fail("use: bench_serve ADDRESS:PORT TOKEN [connections=64] [seconds=5] [cases=1] "
                         "[documents=N] [first=N] [keys=FILE]");
  *colon = '\0';
  *s = (struct settings){.token = argv[2], .connections = 64, .seconds = 5, .cases = 1};
  s->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
  if (inet_pton(AF_INET, argv[1], &s->address.sin_addr) != 1) fail(argv[1]);
  for (int i = 3; i < argc; i++) {
    if (!strncmp(argv[i], "keys=", 5)) s->keys = argv[i] + 5;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
      if (!strncmp(argv[i], numbers[n].name, strlen(numbers[n].name)))
        *numbers[n].field = atoll(argv[i] + strlen(numbers[n].name));
  }
  if (s->connections < 1 || s->connections > CONNECTIONS || s->cases < 1)
    errno = EINVAL, fail("connections= or cases=");
}

int main(int argc, char **argv) {
  struct load load = {0};
  read_settings(&load.settings, argc, argv);
  load.next = load.settings.first;
  struct peer *peers = calloc((size_t)load.settings.connections, sizeof *peers);
  load.times_ms = calloc(TIMES, sizeof *load.times_ms);
  load.epoll = epoll_create1(EPOLL_CLOEXEC);
  if (!peers || !load.times_ms || load.epoll < 0) fail("starting");
  const bool crowded = !load.settings.idle || open_idle(&load.settings) == load.settings.idle;
  if (load.settings.keys && !(load.keys = fopen(load.settings.keys, "ae"))) fail(load.settings.keys);
  for (long long i = 0; i < load.settings.connections; i++) connect_peer(&load, &peers[i]);
  const double seconds = run(&load, peers);
  const size_t n = load.acknowledged < TIMES ? (size_t)load.acknowledged : TIMES;
  qsort(load.times_ms, n, sizeof *load.times_ms, compare);
  printf("%lld acknowledged in %.3f s: %.0f/s; refused %lld%s", load.acknowledged, seconds,
         (double)load.acknowledged / seconds, load.refused, load.gone ? "; the server went away" : "");
  if (n)
    printf("; answer after (ms) median %.2f, 99%% %.2f, most %.2f", load.times_ms[n / 2],
           load.times_ms[n - 1 - n / 100], load.times_ms[n - 1]);
  puts("");
  if (load.refused) fprintf(stderr, "first refusal: %s\n", load.why);
  if (load.keys) fclose(load.keys);
  for (long long i = 0; i < load.settings.connections; i++) free(peers[i].request);
  free(peers);
  free(load.times_ms);
  return load.refused > 0 || !crowded;
}

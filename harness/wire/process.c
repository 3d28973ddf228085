/* Asking workers, and ending them. Invariants:
 * 1. Every wait has an end: the reply, the worker's death, the time limit, or the user.
 * 2. The end of a worker, however it comes, is the end of all that it started (transport.h). */
#include "harness/wire/process.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "harness/wire/stream.h"

enum {
  STOP_GRACE_MS = 300,
  INTERRUPT_GRACE_S = 5,
  POLL_MAX_MS = 3600 * 1000,
  READ_BYTES = 8192,
  READS_MAX = 32 /* more than a pipe holds */
};

/* --- failing --- */

/* The request that was asked has come to its end, with an answer or without one: until now the worker had the
 * time, also one that ran into its time limit. */
static void book_request(struct tb_process *p) {
  if (p->ledger && p->asked < TB_REQUEST_COUNT)
    tb_ledger_answered(p->ledger, p->asked, p->asked_ns, tb_now_ns());
  p->asked = TB_REQUEST_COUNT;
}

tc_status tb_process_fail(struct tb_process *p, enum tb_outcome outcome, struct tc_error *err,
                          const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->why, sizeof p->why, format, args);
  va_end(args);
  tb_text_clean(p->why, TB_TEXT_LINE);
  p->outcome = outcome;
  book_request(p);
  return tc_fail(err, TC_IO, "worker", "%s: %s", tb_outcome_text(outcome), p->why);
}

static void kill_process(struct tb_process *p) {
  if (p->link.pid) p->link.transport->kind->kill(&p->link);
}

/* Last line that the worker printed, for an error line. */
static const char *last_words(struct tb_process *p) {
  while (p->tail_bytes && p->tail[p->tail_bytes - 1] == '\n') p->tail_bytes--;
  p->tail[p->tail_bytes] = '\0';
  const char *line = strrchr(p->tail, '\n');
  return line ? line + 1 : p->tail;
}

static void keep_tail(struct tb_process *p, const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    if (p->tail_bytes + 1 >= sizeof p->tail) { /* keep the newer half */
      memmove(p->tail, p->tail + sizeof p->tail / 2, sizeof p->tail / 2);
      p->tail_bytes -= sizeof p->tail / 2;
    }
    p->tail[p->tail_bytes++] = text[i];
  }
}

static void keep_output(struct tb_process *p, const char *text, size_t bytes) {
  if (p->echo) (void)!write(STDERR_FILENO, text, bytes);
  tb_output_stream_add(&p->output_stream, text, bytes);
  keep_tail(p, text, bytes);
}

/* Values come through the control socket, and `text` is that of what leads to the worker. */
static bool is_framed(const struct tb_process *p) { return p->link.exchange < 0; }

/* What it printed so far; a worker that prints for ever must not keep the harness here. */
static void take_text(struct tb_process *p) {
  char chunk[READ_BYTES];
  for (int reads = 0; reads < READS_MAX; reads++) {
    const ssize_t got = read(p->link.text, chunk, sizeof chunk);
    if (got <= 0) return;
    (is_framed(p) ? keep_tail : keep_output)(p, chunk, (size_t)got);
  }
}

static void take_end(struct tb_process *p, const char *text, size_t bytes) {
  cJSON *json = cJSON_ParseWithLength(text, bytes);
  p->ended = tb_end_parse(json, &p->end);
  cJSON_Delete(json);
}

static void keep_values(struct tb_process *p, const char *data, size_t bytes) {
  if (p->values_taken)
    memmove(p->values.data, p->values.data + p->values_taken, p->values.len - p->values_taken);
  p->values.len -= p->values_taken;
  p->values_taken = 0;
  tc_strbuf_bytes(&p->values, data, bytes);
}

/* Puts the frames at the head of what came where they belong; returns what stands behind them. */
static enum tb_frame_found take_frames(struct tb_process *p) {
  struct tb_frame frame;
  enum tb_frame_found found = TB_FRAME_NONE;
  while (is_framed(p) && (found = tb_frame_look(&p->inbox, &frame)) == TB_FRAME_WHOLE) {
    switch (frame.kind) {
      case TB_FRAME_VALUES: keep_values(p, frame.data, frame.bytes); break;
      case TB_FRAME_OUTPUT: keep_output(p, frame.data, frame.bytes); break;
      case TB_FRAME_END: take_end(p, frame.data, frame.bytes); break;
      case TB_FRAME_FILE: break;
    }
    tb_frame_drop(&p->inbox);
  }
  return found;
}

/* What led to a worker has ended, and said nothing of the worker. */
static tc_status fail_lost(struct tb_process *p, int status, const char *words, struct tc_error *err) {
  const char *colon = *words ? ": " : "";
  if (p->greeted)
    return tb_process_fail(
        p, TB_OUTCOME_CRASHED, err,
        "the connection to the worker's host was lost (the command of transport= ended with "
        "status %d)%s%s",
        status, colon, words);
  return tb_process_fail(
      p, TB_OUTCOME_ERROR, err,
      "the command of transport= ended with status %d before tbench launch answered%s%s (it "
      "must run its last words there, with a tbench of this version on PATH)",
      status, colon, words);
}

/* The control socket closed: what happened to the worker? */
static tc_status fail_dead(struct tb_process *p, struct tc_error *err) {
  const struct tb_end own = p->link.transport->kind->bury(&p->link), end = p->ended ? p->end : own;
  take_text(p);
  const char *words = last_words(p), *colon = *words ? ": " : "";
  switch (end.how) {
    case TB_END_MEMORY:
      return tb_process_fail(p, TB_OUTCOME_OOM, err, "the system killed the worker: out of memory%s%s", colon,
                             words);
    case TB_END_SIGNAL:
      return tb_process_fail(p, TB_OUTCOME_CRASHED, err, "the worker died of signal %d (%s)%s%s", end.number,
                             strsignal(end.number), colon, words);
    case TB_END_LOST: return fail_lost(p, end.number, words, err);
    case TB_END_LEFT: break;
  }
  return tb_process_fail(p, TB_OUTCOME_CRASHED, err, "the worker exited early with status %d%s%s", end.number,
                         colon, words);
}

/* --- waiting --- */

static tc_status fail_early_reply(struct tb_process *p, struct tc_error *err);

/* Waits until `fd` can be read. The deadline shrinks when Ctrl-C comes. */
static tc_status wait_readable(struct tb_process *p, int fd, double timeout_s, struct tc_error *err) {
  int64_t deadline = tb_now_ns() + (int64_t)(timeout_s * TB_NS_PER_S);
  bool hurried = false;
  for (;;) {
    if (p->interrupt) {
      const int signals = tb_interrupt_poll(p->interrupt);
      if (signals > 1)
        return kill_process(p), book_request(p), tc_fail(err, TC_INTERRUPTED, "harness", "interrupted");
      const int64_t grace = tb_now_ns() + (int64_t)INTERRUPT_GRACE_S * TB_NS_PER_S;
      if (signals && !hurried && grace < deadline) deadline = grace;
      hurried = signals > 0;
    }
    const int64_t left = deadline - tb_now_ns();
    if (left <= 0) {
      kill_process(p);
      take_text(p);
      return hurried ? tb_process_fail(p, TB_OUTCOME_TIMEOUT, err, "interrupted")
                     : tb_process_fail(p, TB_OUTCOME_TIMEOUT, err,
                                       "no answer within %.3g s (timeout=SECONDS gives more)", timeout_s);
    }
    struct pollfd fds[] = {{fd, POLLIN, 0},
                           {p->link.text, POLLIN, 0},
                           {p->interrupt ? p->interrupt->fd : -1, POLLIN, 0},
                           {p->link.control, fd == p->link.exchange ? POLLIN : 0, 0}};
    const int64_t wait_ms = left / TB_NS_PER_MS + 1;
    const int ready = poll(fds, sizeof fds / sizeof *fds, wait_ms < POLL_MAX_MS ? (int)wait_ms : POLL_MAX_MS);
    if (ready < 0 && errno != EINTR)
      return tb_process_fail(p, TB_OUTCOME_ERROR, err, "poll: %s", strerror(errno));
    if (fds[1].revents & POLLIN) take_text(p);
    if (fds[1].revents & POLLHUP &&
        !(fds[1].revents & POLLIN)) { /* it closed its output: do not spin on that */
      close(p->link.text);
      p->link.text = -1;
    }
    if (fds[0].revents) return TC_OK;
    if (fds[3].revents & POLLIN) return fail_early_reply(p, err);
    if (fds[3].revents & (POLLHUP | POLLERR)) return fail_dead(p, err);
  }
}

static tc_status fail_babble(struct tb_process *p, struct tc_error *err);
static tc_status fill_inbox(struct tb_process *p, double timeout_s, struct tc_error *err);

static tc_status read_framed(struct tb_process *p, char *data, size_t bytes, double timeout_s,
                             struct tc_error *err) {
  for (;;) {
    const enum tb_frame_found next = take_frames(p);
    if (next == TB_FRAME_BROKEN) return fail_babble(p, err);
    const size_t there = p->values.len - p->values_taken, part = there < bytes ? there : bytes;
    if (part) memcpy(data, p->values.data + p->values_taken, part);
    p->values_taken += part;
    data += part;
    bytes -= part;
    if (!bytes) return TC_OK;
    if (next == TB_FRAME_NONE && p->inbox.len) return fail_early_reply(p, err);
    const tc_status status = fill_inbox(p, timeout_s, err);
    if (status) return status;
  }
}

tc_status tb_process_read(struct tb_process *p, void *data, size_t bytes, double timeout_s,
                          struct tc_error *err) {
  if (!p->link.pid) return tc_fail(err, TC_IO, "worker", "%s", p->why);
  if (is_framed(p)) return read_framed(p, data, bytes, timeout_s, err);
  for (char *at = data; bytes;) {
    const ssize_t got = read(p->link.exchange, at, bytes);
    if (got > 0) {
      at += got;
      bytes -= (size_t)got;
      continue;
    }
    if (got == 0) return fail_dead(p, err);
    if (errno != EAGAIN && errno != EINTR)
      return tb_process_fail(p, TB_OUTCOME_ERROR, err, "exchange pipe: %s", strerror(errno));
    const tc_status status = wait_readable(p, p->link.exchange, timeout_s, err);
    if (status) return status;
  }
  return TC_OK;
}

/* --- asking --- */

cJSON *tb_process_request(enum tb_request request) {
  cJSON *json = cJSON_CreateObject();
  if (json) cJSON_AddStringToObject(json, "op", tb_request_name(request));
  return json;
}

tc_status tb_process_send(struct tb_process *p, cJSON *request, struct tc_error *err) {
  if (!p->link.pid) {
    cJSON_Delete(request);
    return tc_fail(err, TC_IO, "worker", "%s", p->why);
  }
  if (!tb_request_parse(tb_json_text(request, "op", ""), &p->asked)) p->asked = TB_REQUEST_COUNT;
  p->asked_ns = tb_now_ns();
  const bool sent = tb_message_write(p->link.control, request);
  const bool made = request != NULL;
  cJSON_Delete(request);
  if (sent) return TC_OK;
  return made ? fail_dead(p, err) : tb_process_fail(p, TB_OUTCOME_ERROR, err, "the harness is out of memory");
}

static enum tb_outcome outcome_of_kind(const char *kind) {
  if (!strcmp(kind, "unsupported")) return TB_OUTCOME_UNSUPPORTED;
  return strcmp(kind, "oom") ? TB_OUTCOME_ERROR : TB_OUTCOME_OOM;
}

/* A reply that is no "ok" becomes the process' outcome. */
static tc_status judge(struct tb_process *p, cJSON *reply, struct tc_error *err) {
  if (tb_json_bool(reply, "ok", false)) return TC_OK;
  const cJSON *error = cJSON_GetObjectItemCaseSensitive(reply, "error");
  const char *trace = tb_json_text(error, "trace", NULL);
  free(p->trace);
  p->trace = trace ? strdup(trace) : NULL;
  if (p->trace) tb_text_clean(p->trace, TB_TEXT_LINES);
  const tc_status status = tb_process_fail(p, outcome_of_kind(tb_json_text(error, "kind", "error")), err,
                                           "%s", tb_json_text(error, "text", "no reason given"));
  cJSON_Delete(reply);
  return status;
}

/* A line that is none of the protocol's, of which `p->babble` keeps the beginning. */
static tc_status fail_babble(struct tb_process *p, struct tc_error *err) {
  kill_process(p);
  if (is_framed(p) && !p->greeted)
    return tb_process_fail(
        p, TB_OUTCOME_ERROR, err,
        "the command of transport= printed '%s' where tbench launch says hello: let nothing "
        "else write to its standard output, such as a shell's start files",
        p->babble);
  return tb_process_fail(p, TB_OUTCOME_CRASHED, err, "the worker sent a line that is not JSON");
}

static void keep_babble(struct tb_process *p) {
  const char *end = p->inbox.len ? memchr(p->inbox.data, '\n', p->inbox.len) : NULL;
  if (!end || p->greeted) return;
  snprintf(p->babble, sizeof p->babble, "%.*s", (int)(end - p->inbox.data), p->inbox.data);
}

/* Takes what came through the control socket, and waits for it where nothing did. */
static tc_status fill_inbox(struct tb_process *p, double timeout_s, struct tc_error *err) {
  char chunk[READ_BYTES];
  const ssize_t got = recv(p->link.control, chunk, sizeof chunk, MSG_DONTWAIT);
  if (got > 0) {
    tc_strbuf_bytes(&p->inbox, chunk, (size_t)got);
    if (!p->inbox.failed) return TC_OK;
    return kill_process(p), tb_process_fail(p, TB_OUTCOME_ERROR, err, "the harness is out of memory");
  }
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) return fail_dead(p, err);
  return wait_readable(p, p->link.control, timeout_s, err);
}

tc_status tb_process_receive(struct tb_process *p, double timeout_s, cJSON **reply, struct tc_error *err) {
  *reply = NULL;
  if (!p->link.pid) return tc_fail(err, TC_IO, "worker", "%s", p->why);
  for (;;) {
    const enum tb_frame_found next = take_frames(p);
    bool bad = next == TB_FRAME_BROKEN;
    if (is_framed(p)) keep_babble(p);
    cJSON *message = next == TB_FRAME_NONE ? tb_message_take(&p->inbox, &bad) : NULL;
    if (bad) return fail_babble(p, err);
    if (message) {
      book_request(p);
      if (p->link.transport->kind->restore) p->link.transport->kind->restore(p->link.transport, message);
      const tc_status status = judge(p, message, err);
      if (!status) *reply = message;
      return status;
    }
    const tc_status status = fill_inbox(p, timeout_s, err);
    if (status) return status;
  }
}

tc_status tb_process_ask(struct tb_process *p, cJSON *request, double timeout_s, cJSON **reply,
                         struct tc_error *err) {
  *reply = NULL;
  const tc_status status = tb_process_send(p, request, err);
  return status ? status : tb_process_receive(p, timeout_s, reply, err);
}

/* It answered before it had sent all values: with its error, then. */
static tc_status fail_early_reply(struct tb_process *p, struct tc_error *err) {
  cJSON *reply;
  const tc_status status = tb_process_receive(p, INTERRUPT_GRACE_S, &reply, err);
  if (status) return status;
  cJSON_Delete(reply);
  return tb_process_fail(p, TB_OUTCOME_ERROR, err, "the worker sent fewer values than it announced");
}

/* --- ending --- */

/* Gives a worker that was told to leave some time for it. */
static void let_leave(const struct tb_process *p) {
  const int64_t deadline = tb_now_ns() + (int64_t)STOP_GRACE_MS * TB_NS_PER_MS;
  while (!p->link.transport->kind->has_left(&p->link) && tb_now_ns() < deadline) {
    struct pollfd gone = {p->link.control, 0, 0};
    if (poll(&gone, 1, 1) > 0) tb_sleep_ns(TB_NS_PER_MS / 4);
  }
}

void tb_process_stop(struct tb_process *p) {
  const int64_t before = tb_now_ns();
  if (p->link.pid) {
    cJSON *request = tb_process_request(TB_REQUEST_quit);
    if (tb_message_write(p->link.control, request)) let_leave(p);
    cJSON_Delete(request);
    kill_process(p); /* also when it has left: its background processes have not */
  }
  take_text(p);
  tb_output_stream_end(&p->output_stream);
  tb_link_close(&p->link);
  tc_strbuf_free(&p->inbox);
  tc_strbuf_free(&p->values);
  free(p->trace);
  p->trace = NULL;
  if (p->ledger) p->ledger->stop_ns += (double)(tb_now_ns() - before);
  p->ledger = NULL; /* stopped twice, it is counted once */
}

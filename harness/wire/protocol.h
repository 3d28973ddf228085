/* How the harness and its workers speak: one line of JSON a message, over a socket pair.
 *
 * A worker (`tbench worker NAME=VALUE…`) is started with its control socket at TB_FD_CONTROL and the write
 * end of a pipe for values (exchange.h) at TB_FD_EXCHANGE; its standard output and error go to the harness as
 * text (worker_output.h). It says hello
 *     {"ok": true, "hello": {"protocol": 1, "version": "…", "artifact_abi": 1, "pid": 1, "ready_ns": 1,
 *                            "generators": "…"}}
 * as soon as its Lua state is open, then answers each request {"op": NAME, …} of requests.def with one line:
 *     {"ok": true, …}   or   {"ok": false, "error": {"kind": "error", "text": "one line", "trace": "…"}}
 * kind: "error" (Lua raised), "unsupported" (not built), "oom" (memory was out), "usage" (a bad request).
 *   prepare   loads the suite with the case's seed and makes the workload in a role: baseline (the plain
 *   function),
 *             compiled (through tb.compile), reference (the plain function; the case has reference_dtype =
 *             "f64"),
 *             or explained (through tb.explain). The role probe has no workload: its blocks are the
 *             calibration
 *             kernel's (calibration.h).
 *   first     the call that compiles. evidence: how the compiler's counters of misses, disk_hits, memory_hits
 *   moved.
 *   call      one more call whose results and arguments are kept.
 *   block     `warm` untimed calls, then `calls` timed ones; the last one's results are kept. preempted: how
 *   often a
 *             thread of the worker lost its CPU meanwhile.
 *   check     digest of the kept results and arguments, and the suite's own check; with send, they go through
 *   the pipe
 *             before the reply.
 * A hello without a protocol is that of an older program or adapter; all that is said to it is known to it.
 * One with a number above TB_PROTOCOL is refused. Whoever changes what an old side would misunderstand raises
 * the number.
 *
 * Where a worker runs on another host, a launcher there (launcher.h) has its descriptors, and passes all that
 * goes through them on in one stream (stream.h).
 *
 * Times are nanoseconds; clocks are CLOCK_MONOTONIC of the worker's host. Any order of requests is answered;
 * a worker that has nothing to do sleeps in read. */
#ifndef TB_PROTOCOL_H
#define TB_PROTOCOL_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "base/strbuf.h"

enum {
  TB_PROTOCOL = 1,
  TB_FD_CONTROL = 3,
  TB_FD_EXCHANGE = 4,
  TB_GENERATOR_TEXT = 17 /* 16 hex digits */
};

enum tb_request {
#define TB_REQUEST(name, fields, reply) TB_REQUEST_##name,
#include "harness/wire/requests.def"
#undef TB_REQUEST
  TB_REQUEST_COUNT
};
const char *tb_request_name(enum tb_request request);
bool tb_request_parse(const char *name, enum tb_request *request);

/* Writes one message; false when the other side is gone or memory is out. */
bool tb_message_write(int fd, const cJSON *message);
/* A complete line at the head of `buffer`, parsed and taken off; NULL while there is none. *bad: the line was
 * no JSON. */
cJSON *tb_message_take(struct tc_strbuf *buffer, bool *bad);
/* Waits for the next message (worker side); NULL at the end of the stream. */
cJSON *tb_message_read(int fd, struct tc_strbuf *buffer);

/* Fields with a value where they are absent. */
double tb_json_number(const cJSON *object, const char *name, double otherwise);
const char *tb_json_text(const cJSON *object, const char *name, const char *otherwise);
bool tb_json_bool(const cJSON *object, const char *name, bool otherwise);

#endif

/* A transport: the only way from the harness to a worker. It starts one on a host, brings its files there,
 * ends it with all that it started, and says where that is.
 *
 * Nothing that is asked of a worker is a path of this host or a moment of its clock: a file has the name that
 * tb_transport_file gives, and times are told by the worker's host.
 *
 * To add a transport: a struct tb_transport_kind and what makes its struct tb_transport, which begins with
 * that; run.c opens it. Threads: one. */
#ifndef TB_TRANSPORT_H
#define TB_TRANSPORT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"
#include "harness/machine/topology.h"
#include "harness/wire/host.h"
#include "harness/wire/ledger.h"
#include "harness/wire/plugins.h"
#include "harness/wire/worker_output.h"
#include "results/outcome.h"

enum { TB_WHY_BYTES = 1024 };

/* What is to be started. Paths are this host's. */
struct tb_launch {
  const struct tb_transport *transport; /* NULL: tb_transport_local() */
  const char *own;                      /* path of this program (program.h) */
  const char *program;                  /* another one: path, or a name on PATH; NULL: this program */
  const char *library; /* folder that Python finds modules in, beside the script's own; NULL: none */
  const char
      *script; /* adapter of a peer (peer.h), which the program runs; NULL: it runs a worker of tbench */
  const struct tb_place *place;   /* NULL: not bound, default threads */
  struct tb_topology *topology;   /* binds memory; NULL where place is */
  const struct tc_config *config; /* switches that are not at their default reach the worker */
  const char *callgrind; /* folder: the worker counts instructions (callgrind.h) and is not timed; NULL: it
                            does not */
  const char *cache_dir; /* instead of the config's; NULL: the config's */
  long long memory_mb;   /* 0: no limit */
  struct tb_worker_output *worker_output; /* shows what it prints; NULL: nothing does */
  const struct tb_plugins *plugins;       /* backends that it registers first; NULL: none */
  const char *suite;        /* whose code it runs, for what is shown of its output; NULL: none */
  struct tb_ledger *ledger; /* where its times go; NULL: nowhere */
};

/* A worker that was started. */
struct tb_link {
  const struct tb_transport *transport;
  pid_t pid;    /* of the process here that leads to it; 0: not running */
  int control;  /* requests and replies (protocol.h), both ways */
  int exchange; /* values (exchange.h) on a pipe of their own; -1: all comes through `control` (stream.h) */
  int text;     /* what it prints, or what leads to it does; -1: closed */
  int64_t started_ns;
  bool bound;             /* to launch->place */
  long long memory_kills; /* the system's count when it started */
};

/* What became of a worker. */
enum tb_end_how {
  TB_END_LEFT,
  TB_END_SIGNAL,
  TB_END_MEMORY, /* the system killed it: memory was out */
  TB_END_LOST    /* nothing is known of it; the number is the status of what led to it */
};
struct tb_end {
  enum tb_end_how how;
  int number; /* status or signal */
};

struct tb_transport_kind {
  const char *name;
  bool launched; /* a launcher says hello before the worker does (launcher.h) */
  /* Starts a worker whose signal mask is `mask` (NULL: the caller's), and does not wait for its hello. On
   * failure the error's message is the reason alone, and nothing is left. */
  tc_status (*start)(const struct tb_transport *transport, const struct tb_launch *launch,
                     const sigset_t *mask, struct tb_link *link, struct tc_error *err);
  /* Ends it and all that it started, at once; the link runs no more. */
  void (*kill)(struct tb_link *link);
  /* The same of a worker whose control socket has ended: what became of it. */
  struct tb_end (*bury)(struct tb_link *link);
  /* Whether it has left by itself; it must still be killed. */
  bool (*has_left)(const struct tb_link *link);
  /* The facts of the host. `topology`: of this host, for a transport that stays on it. */
  tc_status (*host)(const struct tb_transport *transport, struct tb_topology *topology,
                    struct tc_arena *arena, struct tb_host *out, struct tc_error *err);
  /* *name: what the worker's host calls the file `path`, which is brought there where it is not; in the
   * arena. */
  tc_status (*file)(const struct tb_transport *transport, struct tc_arena *arena, const char *path,
                    const char **name, struct tc_error *err);
  /* Gives the files in a reply, and in what stands beside it, their names of this host again; NULL: they have
   * them. */
  void (*restore)(const struct tb_transport *transport, cJSON *reply);
};

struct tb_transport {
  const struct tb_transport_kind *kind;
  void *self; /* of the kind */
};

/* Workers are children of this process; files are where they are. */
const struct tb_transport *tb_transport_local(void);

/* A link that was never started. */
static inline struct tb_link tb_link_none(void) {
  return (struct tb_link){.control = -1, .exchange = -1, .text = -1};
}
static inline tc_status tb_transport_file(const struct tb_transport *transport, struct tc_arena *arena,
                                          const char *path, const char **name, struct tc_error *err) {
  return transport->kind->file(transport, arena, path, name, err);
}
/* What a start that failed means for a case, as one line: a peer without its Python is unsupported. */
enum tb_outcome tb_launch_why_not(const struct tb_launch *launch, const struct tc_error *reason,
                                  char why[TB_WHY_BYTES]);
/* An end as a launcher tells it (stream.h); NULL when memory is out. False: it is none. */
cJSON *tb_end_json(const struct tb_end *end);
bool tb_end_parse(const cJSON *json, struct tb_end *end);
/* Closes what is open of it. */
void tb_link_close(struct tb_link *link);

#endif

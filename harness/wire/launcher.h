/* `tbench launch`: the other end of a transport that leads to another host (transport_command.h). It speaks
 * on its standard input and output alone, in one stream (stream.h), and says hello first:
 *     {"ok": true, "hello": {"protocol": 1, "launcher": true, "version": "…"}}
 * Then it answers, a line of JSON each:
 *   open   makes a work folder, which goes with this process; work: its name, program: hash of this program
 *   host   the facts of this host (host.h)
 *   file   sha256, folder, name, runs: links a file into the work folder; wanted: it is not in the store, and
 *          comes next, in frames and an {"op": "sent"}; path: from the work folder
 *   start  a launch (launch_json.h), work: starts a worker in that folder. From now on requests and replies
 * are the worker's. Its hello has start_ns, by this host's clock, and `bound`; the end of it is a frame, and
 * this process' own. The end of its input is the end of the worker, and of all that it started. */
#ifndef TB_LAUNCHER_H
#define TB_LAUNCHER_H

#include "base/strbuf.h"
#include "harness/wire/transport.h"

int tb_verb_launch(int argc, char *const *argv);

/* --- launcher_relay.c --- */
/* Passes on what a worker and its harness say, until one of them is gone. `inbox`: what has come from the
 * harness so far. The worker has ended when it returns. */
void tb_launcher_relay(struct tb_link *link, struct tc_strbuf *inbox, int in, int out);

#endif

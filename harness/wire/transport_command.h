/* transport=command:WORDS…: workers are started on another host, or as another user, by a command that leads
 * there, such as ssh host. A shell runs it with the words "tbench launch" behind it (launcher.h), once for
 * the run and once for each worker; all that a worker says comes through its standard output. */
#ifndef TB_TRANSPORT_COMMAND_H
#define TB_TRANSPORT_COMMAND_H

#include "harness/wire/process.h"

struct tb_transport_command;

/* Opens the way there and makes a work folder; `own`: path of this program, which runs there as well, and is
 * brought there unless it is the same. On failure nothing is open. TC_ARG: the command leads to no tbench;
 * TC_INTERRUPTED. */
tc_status tb_transport_command_open(const char *command, const char *own, struct tb_interrupt *interrupt,
                                    struct tb_transport_command **out, struct tc_error *err);
/* Removes the work folder. NULL is fine. */
void tb_transport_command_close(struct tb_transport_command *command);
const struct tb_transport *tb_transport_of_command(struct tb_transport_command *command);
/* Files below `folder`, a folder of this host, are from here on made and read over there alone. */
void tb_transport_command_keep(struct tb_transport_command *command, const char *folder);

#endif

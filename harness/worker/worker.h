/* `tbench worker NAME=VALUE…`: the process that runs a suite's code; started by the harness alone (see
 * protocol.h). */
#ifndef TB_WORKER_H
#define TB_WORKER_H

/* Serves until told to leave or the harness is gone. Takes threads=, cpus=, memory_mb= and the switches of
 * the compiler. */
int tb_verb_worker(int argc, char *const *argv);

#endif

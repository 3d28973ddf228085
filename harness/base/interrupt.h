/* Ctrl-C as data: SIGINT, SIGTERM and SIGHUP are blocked and read from a descriptor, so that no handler and
 * no global is needed. The first one asks to finish what is measured; the second one to leave at once. */
#ifndef TB_INTERRUPT_H
#define TB_INTERRUPT_H

#include <signal.h>

#include "base/error.h"

struct tb_interrupt {
  int fd;          /* readable when a signal came */
  int count;       /* that came so far */
  sigset_t before; /* mask to give to children, and back */
};

tc_status tb_interrupt_open(struct tb_interrupt *interrupt, struct tc_error *err);
/* Takes signals that have come; never waits. Returns the count. */
int tb_interrupt_poll(struct tb_interrupt *interrupt);
void tb_interrupt_close(struct tb_interrupt *interrupt);

#endif

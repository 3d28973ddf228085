/* Signals through signalfd. */
#include "harness/base/interrupt.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

tc_status tb_interrupt_open(struct tb_interrupt *interrupt, struct tc_error *err) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  interrupt->count = 0;
  sigprocmask(SIG_BLOCK, &set, &interrupt->before);
  interrupt->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (interrupt->fd >= 0) return TC_OK;
  sigprocmask(SIG_SETMASK, &interrupt->before, NULL);
  return tc_fail(err, TC_IO, "harness", "signalfd: %s", strerror(errno));
}

int tb_interrupt_poll(struct tb_interrupt *interrupt) {
  struct signalfd_siginfo info;
  while (read(interrupt->fd, &info, sizeof info) == (ssize_t)sizeof info) interrupt->count++;
  return interrupt->count;
}

void tb_interrupt_close(struct tb_interrupt *interrupt) {
  close(interrupt->fd);
  sigprocmask(SIG_SETMASK, &interrupt->before, NULL);
}

/* How many requests a peer may make: a token bucket each, for a fixed number of peers; of IPv6 a /64 is one peer, since whoever has one address
 * has them all. A new peer takes the place of the one that is longest away among a few places, so that memory is bounded whatever comes.
 * Threads: any. */
#ifndef TB_DASHBOARD_LIMITS_H
#define TB_DASHBOARD_LIMITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { TB_PEERS = 4096, TB_PEER_PLACES = 4 };

struct tb_peer { uint64_t address; double allowance, at_s; };

struct tb_limits {
  pthread_mutex_t mutex;
  double rate; /* a second; as many may come at once */
  struct tb_peer peers[TB_PEERS];
};

void tb_limits_open(struct tb_limits *limits, double rate);
void tb_limits_close(struct tb_limits *limits);
/* Takes `cost` requests of a peer at a time (seconds, of a clock that never goes back). False: *retry_s is when to come again. */
bool tb_limits_take(struct tb_limits *limits, const struct sockaddr *peer, double now_s, double cost, int *retry_s);

#endif

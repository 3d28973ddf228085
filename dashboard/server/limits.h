/* How many requests a peer may make, and how many connections it may have; of IPv6 a /64 is one peer, since
 * whoever has one address has them all.
 *
 * 1. Requests: a token bucket each, for a fixed number of peers. A new peer takes the place of the one that
 *    is longest away among a few places, so that memory is bounded whatever comes.
 * 2. Connections are counted exactly, whoever else comes: a peer is forgotten with its last one, so that
 *    there are no more peers than connections.
 * Threads: any. */
#ifndef TB_DASHBOARD_LIMITS_H
#define TB_DASHBOARD_LIMITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { TB_PEERS = 4096, TB_PEER_PLACES = 4 };

struct tb_peer {
  uint64_t address;
  double allowance, at_s;
};

struct tb_limits {
  pthread_mutex_t mutex;
  double rate; /* a second; as many may come at once */
  struct tb_peer peers[TB_PEERS];
};

void tb_limits_open(struct tb_limits *limits, double rate);
void tb_limits_close(struct tb_limits *limits);
/* Takes `cost` requests of a peer at a time (seconds, of a clock that never goes back). False: *retry_s is
 * when to come again. */
bool tb_limits_take(struct tb_limits *limits, const struct sockaddr *peer, double now_s, double cost,
                    int *retry_s);
/* Takes it whether it is there or not: what is lacking is a debt, and until it is paid off nothing more is
 * granted. */
void tb_limits_charge(struct tb_limits *limits, const struct sockaddr *peer, double now_s, double cost);

enum { TB_CONNECTION_CHAINS = 4096 };

struct tb_caller {
  struct tb_caller *next;
  uint64_t address;
  int connections;
};

struct tb_connection_counts {
  pthread_mutex_t mutex;
  int most; /* connections of a peer */
  struct tb_caller *chains[TB_CONNECTION_CHAINS];
};

void tb_connections_open(struct tb_connection_counts *connection_counts, int most);
void tb_connections_close(struct tb_connection_counts *connection_counts);
/* Whether a peer may have one more. */
bool tb_connections_may_add(struct tb_connection_counts *connection_counts, const struct sockaddr *peer);
/* It has one more. False: memory is out, and it was not counted. */
bool tb_connections_add(struct tb_connection_counts *connection_counts, const struct sockaddr *peer);
/* One that was counted is gone. */
void tb_connections_remove(struct tb_connection_counts *connection_counts, const struct sockaddr *peer);

#endif

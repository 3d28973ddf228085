/* Token buckets, and counts of connections. */
#include "dashboard/server/limits.h"

#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void tb_limits_open(struct tb_limits *limits, double rate) {
  memset(limits, 0, sizeof *limits);
  pthread_mutex_init(&limits->mutex, NULL);
  limits->rate = rate;
}

void tb_limits_close(struct tb_limits *limits) { pthread_mutex_destroy(&limits->mutex); }

/* Never 0. */
static uint64_t address_of(const struct sockaddr *peer) {
  enum { NET_BYTES = 8 /* a /64 */ };
  uint64_t address = 0;
  if (peer->sa_family == AF_INET) {
    address = ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr | (uint64_t)1 << 32;
  } else if (peer->sa_family == AF_INET6) {
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
    memcpy(&address, six->s6_addr + (IN6_IS_ADDR_V4MAPPED(six) ? NET_BYTES : 0), NET_BYTES);
  }
  return address ? address : 1;
}

/* A new peer begins with all that is allowed. */
static struct tb_peer *find_place(struct tb_limits *limits, uint64_t address, double now_s) {
  struct tb_peer *first =
                     &limits->peers[tc_hash_u64(0, address) % (TB_PEERS / TB_PEER_PLACES) * TB_PEER_PLACES],
                 *oldest = first;
  for (int i = 0; i < TB_PEER_PLACES; i++) {
    if (first[i].address == address) return &first[i];
    if (first[i].at_s < oldest->at_s) oldest = &first[i];
  }
  *oldest = (struct tb_peer){address, limits->rate, now_s};
  return oldest;
}

/* The place of a peer, with what it has earned until now. */
static struct tb_peer *place_of(struct tb_limits *limits, uint64_t address, double now_s) {
  struct tb_peer *place = find_place(limits, address, now_s);
  const double earned = (now_s - place->at_s) * limits->rate;
  place->allowance = fmin(limits->rate, place->allowance + (earned > 0 ? earned : 0));
  place->at_s = now_s;
  return place;
}

void tb_limits_charge(struct tb_limits *limits, const struct sockaddr *peer, double now_s, double cost) {
  pthread_mutex_lock(&limits->mutex);
  place_of(limits, address_of(peer), now_s)->allowance -= cost;
  pthread_mutex_unlock(&limits->mutex);
}

bool tb_limits_take(struct tb_limits *limits, const struct sockaddr *peer, double now_s, double cost,
                    int *retry_s) {
  pthread_mutex_lock(&limits->mutex);
  struct tb_peer *place = place_of(limits, address_of(peer), now_s);
  const bool granted = place->allowance >= fmin(cost, limits->rate);
  if (granted) place->allowance -= cost;
  const double lacking = cost - place->allowance;
  pthread_mutex_unlock(&limits->mutex);
  *retry_s = granted ? 0 : (int)ceil(lacking / limits->rate);
  if (!granted && *retry_s < 1) *retry_s = 1;
  return granted;
}

/* --- connections --- */

void tb_connections_open(struct tb_connection_counts *connection_counts, int most) {
  memset(connection_counts, 0, sizeof *connection_counts);
  pthread_mutex_init(&connection_counts->mutex, NULL);
  connection_counts->most = most;
}

void tb_connections_close(struct tb_connection_counts *connection_counts) {
  for (int i = 0; i < TB_CONNECTION_CHAINS; i++) {
    for (struct tb_caller *caller = connection_counts->chains[i], *next; caller; caller = next) {
      next = caller->next;
      free(caller);
    }
  }
  pthread_mutex_destroy(&connection_counts->mutex);
}

/* Where a peer stands, or where a new one goes. Under the mutex. */
static struct tb_caller **caller_of(struct tb_connection_counts *connection_counts, uint64_t address) {
  struct tb_caller **at = &connection_counts->chains[tc_hash_u64(0, address) % TB_CONNECTION_CHAINS];
  while (*at && (*at)->address != address) at = &(*at)->next;
  return at;
}

bool tb_connections_may_add(struct tb_connection_counts *connection_counts, const struct sockaddr *peer) {
  pthread_mutex_lock(&connection_counts->mutex);
  const struct tb_caller *caller = *caller_of(connection_counts, address_of(peer));
  const bool room = (caller ? caller->connections : 0) < connection_counts->most;
  pthread_mutex_unlock(&connection_counts->mutex);
  return room;
}

bool tb_connections_add(struct tb_connection_counts *connection_counts, const struct sockaddr *peer) {
  const uint64_t address = address_of(peer);
  pthread_mutex_lock(&connection_counts->mutex);
  struct tb_caller **at = caller_of(connection_counts, address);
  if (!*at && (*at = calloc(1, sizeof **at))) (*at)->address = address;
  const bool counted = *at != NULL;
  if (counted) (*at)->connections++;
  pthread_mutex_unlock(&connection_counts->mutex);
  return counted;
}

void tb_connections_remove(struct tb_connection_counts *connection_counts, const struct sockaddr *peer) {
  pthread_mutex_lock(&connection_counts->mutex);
  struct tb_caller **at = caller_of(connection_counts, address_of(peer)), *caller = *at;
  if (caller && !--caller->connections) {
    *at = caller->next;
    free(caller);
  }
  pthread_mutex_unlock(&connection_counts->mutex);
}

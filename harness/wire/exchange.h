/* The stream of values that a worker sends for a comparison: results of a call and its arguments after it,
 * flattened, as raw bytes through a pipe (never JSON), so that memory stays small whatever the tensors' size.
 *
 * A stream is items and then one of kind END. An item is a head, its path ("result[1].x"), and `count`
 * elements of 8 bytes: doubles for floats, int64 for integers and booleans, or `count` bytes for STRING. Both
 * sides have one order of bytes, the lowest first. Tables are walked in sorted order of keys, so that two
 * workers send the same order. */
#ifndef TB_EXCHANGE_H
#define TB_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include <lua.h>

#include "base/error.h"
#include "base/limits.h"

enum { TB_DIGEST_BYTES = 20 /* text of a digest of results and arguments */ };

enum tb_item_kind {
  TB_ITEM_END,
  TB_ITEM_TENSOR,
  TB_ITEM_NUMBER,  /* one double */
  TB_ITEM_INTEGER, /* one int64 */
  TB_ITEM_BOOLEAN, /* one int64 */
  TB_ITEM_STRING,
  TB_ITEM_NIL,
  TB_ITEM_TABLE, /* count: entries that follow as items of their own */
  TB_ITEM_SAME,  /* an argument whose bytes the call left as they were */
  TB_ITEM_OTHER, /* no data (function, userdata, a table inside of itself): compared by kind alone */
};

enum {
  TB_DEPTH_MAX = 16 /* of tables in tables */,
  TB_PATH_MAX = 120,
  TB_ITEM_MAGIC = 0x7462,
  TB_CHUNK = 8192 /* elements passed on at a time */
};

struct tb_item {
  uint32_t magic, kind, dtype, ndim;
  int64_t sizes[TC_MAX_DIMS];
  int64_t count;
  char path[TB_PATH_MAX];
};

/* --- worker side: raises no Lua error but for memory; call under lua_pcall --- */
struct tb_sender {
  int fd;                           /* -1: nothing is sent, only the digest is made */
  uint64_t digest;                  /* over everything sent */
  bool failed;                      /* the reader went away */
  bool own_elements;                /* of a tensor, instead of 8 bytes each (inputs.h) */
  bool tensors_alone;               /* what is no tensor is left out */
  const void *tables[TB_DEPTH_MAX]; /* that the value which is sent now stands in */
};
/* Sends the value at `index` under `path`. */
void tb_send_value(lua_State *L, int index, const char *path, struct tb_sender *sender);
void tb_send_same(const char *path, struct tb_sender *sender);
void tb_send_end(struct tb_sender *sender);
/* Hash of all data at `index`, as the digest of a stream of it. */
uint64_t tb_value_digest(lua_State *L, int index);

#endif

/* Bodies of requests, made into submissions. */
#include "dashboard/ingest/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "dashboard/store/digest.h"

enum {
  KEEP = 1 << 20 /* bytes of scratch that are kept for the next one; more is given back */,
  WINDOW_LOG = 18,
  HASH_LOG = 13,
  GZIP_WINDOW = 15 + 16
};

struct buffer {
  char *data;
  size_t cap;
};

struct tb_intake {
  const struct tb_schema *schema;
  struct tb_intake_limits limits;
  struct tb_tape tape;
  struct buffer plain, packed;
  ZSTD_CCtx *packer;
  int64_t dictionary_id;
  const char *text; /* of the document that was taken last */
};

/* Documents are small: tables of the usual size would take longer to clear than the document takes to
 * pack. */
static bool set_packer(ZSTD_CCtx *packer, const void *dictionary, size_t length) {
  return !ZSTD_isError(ZSTD_CCtx_setParameter(packer, ZSTD_c_compressionLevel, TB_INTAKE_LEVEL)) &&
         !ZSTD_isError(ZSTD_CCtx_setParameter(packer, ZSTD_c_windowLog, WINDOW_LOG)) &&
         !ZSTD_isError(ZSTD_CCtx_setParameter(packer, ZSTD_c_hashLog, HASH_LOG)) &&
         !ZSTD_isError(ZSTD_CCtx_loadDictionary(packer, dictionary, length));
}

struct tb_intake *tb_intake_new(const struct tb_schema *schema, struct tb_intake_limits limits,
                                const void *dictionary, size_t length, int64_t id) {
  struct tb_intake *intake = calloc(1, sizeof *intake);
  if (!intake) return NULL;
  intake->schema = schema;
  intake->limits = limits;
  intake->tape.most_nodes = limits.most_values;
  intake->packer = ZSTD_createCCtx();
  intake->dictionary_id = id;
  if (intake->packer && set_packer(intake->packer, dictionary, length)) return intake;
  tb_intake_free(intake);
  return NULL;
}

void tb_intake_free(struct tb_intake *intake) {
  if (!intake) return;
  tb_tape_free(&intake->tape);
  ZSTD_freeCCtx(intake->packer);
  free(intake->plain.data);
  free(intake->packed.data);
  free(intake);
}

static bool reserve(struct buffer *buffer, size_t bytes) {
  if (bytes <= buffer->cap) return true;
  char *data = realloc(buffer->data, bytes);
  if (!data) return false;
  *buffer = (struct buffer){data, bytes};
  return true;
}

static void give_back(struct tb_intake *intake) {
  if (intake->plain.cap > KEEP) {
    if (intake->text == intake->plain.data) intake->text = NULL;
    free(intake->plain.data), intake->plain = (struct buffer){0};
  }
  if (intake->packed.cap > KEEP) free(intake->packed.data), intake->packed = (struct buffer){0};
  if (intake->tape.cap * sizeof *intake->tape.nodes > KEEP) tb_tape_free(&intake->tape);
}

static enum tb_taken say(enum tb_taken taken, char *why, const char *text) {
  snprintf(why, TB_SCHEMA_WHY, "%s", text);
  return taken;
}

/* --- gzip --- */

/* One member, its end checked; never more than most_bytes. */
static enum tb_taken inflate_all(struct tb_intake *intake, z_stream *z, size_t *length, char *why) {
  enum { FIRST = 16384 };
  const size_t most = intake->limits.most_bytes;
  int status = Z_OK;
  for (*length = 0; status != Z_STREAM_END; *length = z->total_out) {
    size_t room = intake->plain.cap;
    if (*length == most)
      return say(TB_TAKEN_TOO_LARGE, why, "the document is larger than the server accepts");
    if (*length == room) room = room ? room * 2 : FIRST;
    if (room > most) room = most;
    if (!reserve(&intake->plain, room)) return say(TB_TAKEN_NO_MEMORY, why, "out of memory");
    z->next_out = (unsigned char *)intake->plain.data + *length;
    z->avail_out = (unsigned)(room - *length);
    status = inflate(z, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END)
      return say(TB_TAKEN_BAD, why, "the body is not gzip, as Content-Encoding says");
  }
  return z->avail_in ? say(TB_TAKEN_BAD, why, "the body goes on after the gzip data") : TB_TAKEN_OK;
}

static enum tb_taken unzip(struct tb_intake *intake, const char *body, size_t bytes, size_t *length,
                           char *why) {
  z_stream z = {.next_in = (unsigned char *)(uintptr_t)body, .avail_in = (unsigned)bytes};
  if (inflateInit2(&z, GZIP_WINDOW) != Z_OK) return say(TB_TAKEN_NO_MEMORY, why, "out of memory");
  const enum tb_taken taken = inflate_all(intake, &z, length, why);
  inflateEnd(&z);
  return taken;
}

/* --- key --- */

static bool key_fits(const unsigned char *digest, const char *key) {
  char hex[TC_SHA256_HEX];
  tc_sha256_hex(digest, hex);
  return strlen(key) == sizeof hex - 1 && !strncasecmp(hex, key, sizeof hex - 1);
}

/* --- the whole --- */

static enum tb_taken make(struct tb_intake *intake, const char *text, size_t length,
                          struct tb_submission **out, char *why) {
  const size_t bound = ZSTD_compressBound(length);
  if (!reserve(&intake->packed, bound)) return say(TB_TAKEN_NO_MEMORY, why, "out of memory");
  const size_t packed = ZSTD_compress2(intake->packer, intake->packed.data, bound, text, length);
  if (ZSTD_isError(packed)) return say(TB_TAKEN_NO_MEMORY, why, "out of memory");
  struct tb_submission *s = *out = tb_submission_new(&intake->tape, intake->packed.data, packed, why);
  if (!s) return *why ? TB_TAKEN_BAD : say(TB_TAKEN_NO_MEMORY, why, "out of memory");
  s->bytes = length;
  s->dictionary = intake->dictionary_id;
  return TB_TAKEN_OK;
}

static bool too_many_cases(const struct tb_intake *intake) {
  const struct tb_tape *tape = &intake->tape;
  const uint32_t cases = tb_tape_member(tape, 0, "cases");
  size_t n = 0;
  for (uint32_t i = tb_tape_first(cases); i < tape->nodes[cases].next; i = tape->nodes[i].next) n++;
  return n > intake->limits.most_cases;
}

static enum tb_taken take(struct tb_intake *intake, const char *text, size_t length, const char *key,
                          struct tb_submission **out, char *why) {
  unsigned char digest[TC_SHA256_BYTES];
  bool limit;
  if (length > intake->limits.most_bytes)
    return say(TB_TAKEN_TOO_LARGE, why, "the document is larger than the server accepts");
  if (!tb_digest(text, length, digest)) return say(TB_TAKEN_NO_MEMORY, why, "out of memory");
  if (key && !key_fits(digest, key))
    return say(TB_TAKEN_BAD, why, "Idempotency-Key is not the SHA-256 of the document");
  if (!tb_tape_parse(&intake->tape, text, length, &limit, why))
    return intake->tape.no_memory ? TB_TAKEN_NO_MEMORY : limit ? TB_TAKEN_TOO_LARGE : TB_TAKEN_BAD;
  if (!tb_schema_check(intake->schema, &intake->tape, false, why)) return TB_TAKEN_BAD;
  if (too_many_cases(intake))
    return say(TB_TAKEN_TOO_LARGE, why, "the document has more cases than the server accepts");
  const enum tb_taken taken = make(intake, text, length, out, why);
  if (taken == TB_TAKEN_OK) memcpy((*out)->key, digest, sizeof digest);
  return taken;
}

enum tb_taken tb_intake_take(struct tb_intake *intake, const char *body, size_t length, bool gzip,
                             const char *key, struct tb_submission **out, char *why) {
  enum tb_taken taken = TB_TAKEN_OK;
  *out = NULL;
  if (gzip) {
    taken = unzip(intake, body, length, &length, why);
    body = intake->plain.data;
  }
  intake->text = body;
  if (taken == TB_TAKEN_OK) taken = take(intake, body, length, key, out, why);
  give_back(intake);
  return taken;
}

const char *tb_intake_text(const struct tb_intake *intake) { return intake->text; }
int64_t tb_intake_dictionary(const struct tb_intake *intake) { return intake->dictionary_id; }

/* Formats that travel over HTTP (push_formats.def), and the requests that a result becomes in one of them. */
#ifndef TB_PUSH_FORMAT_H
#define TB_PUSH_FORMAT_H

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "harness/push/push_url.h"

enum tb_push_cut { TB_CUT_FILE, TB_CUT_WHOLE, TB_CUT_ELEMENTS, TB_CUT_REPORT };
enum tb_push_proof { TB_PROOF_KEY, TB_PROOF_MEMBER, TB_PROOF_NOTHING };
enum tb_push_twice { TB_TWICE_HARMLESS, TB_TWICE_TWICE };

struct tb_push_format {
  const char *name, *reporter;
  enum tb_push_cut cut;
  const char *path, *mark, *must, *query, *method, *content_type;
  bool gzip;
  const char *credential, *stored, *known;
  enum tb_push_proof proof;
  const char *member;
  enum tb_push_twice twice;
  const char *help;
};

int tb_push_format_count(void);
const struct tb_push_format *tb_push_format_at(int index);
const struct tb_push_format *tb_push_format_find(const char *name); /* NULL: no such format */
/* Why a format of a file is none here; NULL: it is unknown altogether. */
const char *tb_push_file_only(const char *name);

/* Where documents go whose endpoint is `url`; in the arena. TC_ARG: it lacks what the format must have;
 * TC_NOMEM. */
tc_status tb_push_target(struct tc_arena *arena, const struct tb_push_format *format,
                         const struct tb_url *url, const char **target, struct tc_error *err);

/* Where a result goes: the target, with its host and suites where the format's path has "{host}" and
 * "{suites}"; in the arena. NULL: memory is out. */
const char *tb_push_target_of(struct tc_arena *arena, const char *target, const cJSON *result);
/* Whether what comes to a URL replaces what is there. */
bool tb_push_replaces(const struct tb_push_format *format);

/* A result file: its own bytes, and what they say. */
struct tb_push_document {
  const char *text;
  size_t bytes;
  const cJSON *result;
};

struct tb_push_body {
  const char *text;
  size_t bytes;
};
typedef TC_VEC(struct tb_push_body) tb_push_bodies;

/* Where a result goes, for formats that say it in the document too: the endpoint as to= has it, and the
 * branch of a Bencher report. */
struct tb_push_place {
  const struct tb_url *url;
  const char *branch;
};

/* The requests' bodies, in the arena, or the document's own text. TC_ARG: the result lacks what the format
 * must have; TC_UNSUPPORTED: this build has no such reporter; TC_CORRUPT: what it wrote is not what the row
 * says; TC_NOMEM. The same result gives the same bytes. */
tc_status tb_push_make(struct tc_arena *arena, const struct tb_push_format *format,
                       const struct tb_push_document *document, const struct tb_push_place *place,
                       tb_push_bodies *bodies, struct tc_error *err);

#endif

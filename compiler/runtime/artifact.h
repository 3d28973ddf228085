/* An artifact: launch list and machine code as bytes, for the on-disk cache and for comparison of builds.
 *
 * The form is little-endian, self-delimiting and carries no pointer, path or device number. Reading
 * trusts nothing: every count and index is checked, damaged bytes give TC_CORRUPT. */
#ifndef TC_RUNTIME_ARTIFACT_H
#define TC_RUNTIME_ARTIFACT_H

#include "base/arena.h"
#include "base/hash.h"
#include "codegen/emit.h"
#include "sched/launch.h"

/* Appends to `out` (sticky failure: check tc_strbuf_text… or out->failed). */
void tc_artifact_write(struct tc_strbuf *out, const struct tc_launch_list *list,
                       const struct tc_blobs *blobs);

/* The list lies in `arena`; the blobs are copies owned by the caller (tc_blobs_free). */
tc_status tc_artifact_read(struct tc_arena *arena, const struct tc_alloc *alloc, const unsigned char *bytes,
                           size_t size, struct tc_launch_list **list, struct tc_blobs *blobs,
                           struct tc_error *err);

/* Do slots, operands and results lie within their memory? All symbols of the list are constants. */
bool tc_artifact_fits(const struct tc_launch_list *list);

/* Name of an artifact: sha256 over its bytes. */
void tc_artifact_name(const void *bytes, size_t size, char text[TC_SHA256_HEX]);

#endif

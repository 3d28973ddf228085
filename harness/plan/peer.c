/* Peers: their adapters. Invariants:
 * 1. A case carries the adapter's name, never its folder: results of two machines can be compared. */
#include "harness/plan/peer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/base/args.h"
#include "harness/base/value.h"
#include "harness/plan/suite.h"
#include "harness/wire/program.h"

static const char prefix[] = "peer:", suffix[] = "_adapter.py", extension[] = ".py";

/* --- names --- */

bool tb_peer_named(const char *backend) { return !strncmp(backend, prefix, strlen(prefix)); }

/* "folder/torch_adapter.py" is "torch", "folder/mine.py" is "mine". */
static const char *name_of_file(struct tc_arena *arena, const char *file) {
  const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
  const size_t adapter = tc_text_stem(base, suffix), stem = adapter ? adapter : tc_text_stem(base, extension);
  return tb_format(arena, "%.*s", (int)(stem ? stem : strlen(base)), base);
}

/* The first file peers/NAME on the suite path; *folder NULL: there is none. */
static tc_status search(struct tc_arena *arena, const char *name, const char **folder, const char **file,
                        struct tc_error *err) {
  int count;
  const char **folders = tb_suite_path(arena, &count);
  if (!folders) return tc_fail_memory(err, "plan");
  for (int i = 0; i < count; i++) {
    *folder = tb_format(arena, "%s/peers", folders[i]);
    *file = *folder ? tb_format(arena, "%s/%s", *folder, name) : NULL;
    if (!*file) return tc_fail_memory(err, "plan");
    if (!access(*file, R_OK)) return TC_OK;
  }
  *folder = NULL;
  return TC_OK;
}

static tc_status find_in_path(struct tc_arena *arena, const char *name, const char **file,
                              struct tc_error *err) {
  const char *folder, *whole = tb_format(arena, "%s%s", name, suffix);
  const tc_status status = whole ? search(arena, whole, &folder, file, err) : tc_fail_memory(err, "plan");
  if (status || folder) return status;
  return tc_fail(
      err, TC_ARG, "plan",
      "backend=%s%s: there is no adapter peers/%s%s on the suite path; %s, or write backend=%s./FILE.py",
      prefix, name, name, suffix, tb_suite_places(arena), prefix);
}

tc_status tb_peer_find(struct tc_arena *arena, const char *backend, struct tb_peer *out,
                       struct tc_error *err) {
  const char *text = backend + strlen(prefix), *name = text;
  tc_status status = TC_OK;
  if (strchr(text, '/') || tc_text_stem(text, extension)) {
    out->file = text;
    name = name_of_file(arena, text);
    if (!name) return tc_fail_memory(err, "plan");
    if (access(text, R_OK))
      return tc_fail(err, TC_ARG, "plan", "backend=%s: the file cannot be read", backend);
  }
  if (!tb_value_is_word(name))
    return tc_fail(
        err, TC_ARG, "plan",
        "backend=%s: use %sNAME or %s./FILE.py; a name may not hold , ; / = or what cannot be printed",
        backend, prefix, prefix);
  if (name == text) status = find_in_path(arena, name, &out->file, err);
  out->label = tb_format(arena, "%s%s", prefix, name);
  return status ? status : out->label ? TC_OK : tc_fail_memory(err, "plan");
}

tc_status tb_peer_set_backend(struct tc_arena *arena, const char *backend, struct tb_case *kase,
                              struct tc_error *err) {
  struct tb_peer peer;
  kase->backend = backend;
  kase->peer = NULL;
  if (!tb_peer_named(backend)) return TC_OK;
  const tc_status status = tb_peer_find(arena, backend, &peer, err);
  if (status) return status;
  kase->backend = peer.label;
  kase->peer = peer.file;
  return TC_OK;
}

/* --- starting --- */

tc_status tb_peer_launch(struct tc_arena *arena, const struct tb_case *kase, struct tb_launch *launch,
                         struct tc_error *err) {
  const char *file;
  launch->program = tb_program_python();
  launch->script = kase->peer;
  return search(arena, "adapter.py", &launch->library, &file, err);
}

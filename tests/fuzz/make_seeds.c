/* Seeds for the fuzz targets: each function of Lua files as a chunk and, where it stands alone, as text.
 *
 *     make_seeds FOLDER FILE...      writes FOLDER/chunks/N and FOLDER/texts/N */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/bytecode/resume.h"

struct seeds {
  const char *folder;
  int number;
  const char *text;
  lua_State *L;
};

static void save(const struct seeds *s, const char *kind, const void *bytes, size_t count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s/%d", s->folder, kind, s->number);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, count, f) != count || fclose(f)) {
    perror(path);
    exit(1);
  }
}

static const char *line_at(const char *text, int line) {
  for (; line > 1 && text; line--) text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
  return text;
}

/* From `function` in the first line to the last `end` that makes it whole. */
static void save_text(const struct seeds *s, const struct tc_proto *p) {
  const char *start = line_at(s->text, p->line_defined), *end = line_at(s->text, p->last_line_defined + 1);
  start = start && p->line_defined ? strstr(start, "function") : NULL;
  if (!end) end = s->text + strlen(s->text);
  for (; start && end - start > 3; end--) {
    if (memcmp(end - 3, "end", 3)) continue;
    lua_pushliteral(s->L, "return ");
    lua_pushlstring(s->L, start, (size_t)(end - start));
    lua_concat(s->L, 2);
    const char *text = lua_tostring(s->L, -1);
    const bool compiles = luaL_loadstring(s->L, text) == LUA_OK;
    if (compiles) save(s, "texts", text, strlen(text));
    lua_settop(s->L, 1);
    if (compiles) return;
  }
}

static void save_functions(struct seeds *s, const struct tc_proto *p) {
  struct tc_strbuf chunk;
  struct tc_error err;
  tc_strbuf_init(&chunk, tc_alloc_system());
  s->number++;
  if (!tc_bytecode_encode(p, &chunk, &err)) save(s, "chunks", chunk.data, chunk.len);
  tc_strbuf_free(&chunk);
  save_text(s, p);
  for (int i = 0; i < p->n_protos; i++) save_functions(s, p->protos[i]);
}

static int read_file(lua_State *L) {
  luaL_Buffer b;
  FILE *f = fopen(lua_tostring(L, 1), "rb");
  if (!f) return luaL_error(L, "%s cannot be read", lua_tostring(L, 1));
  luaL_buffinit(L, &b);
  for (size_t got = 1; got;) {
    char *room = luaL_prepbuffer(&b);
    got = fread(room, 1, LUAL_BUFFERSIZE, f);
    luaL_addsize(&b, got);
  }
  fclose(f);
  luaL_pushresult(&b);
  return 1;
}

int main(int n, char **arguments) {
  struct seeds s = {.folder = n > 1 ? arguments[1] : "."};
  for (int i = 2; i < n; i++) {
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    struct tc_proto *proto;
    struct tc_error err;
    s.L = luaL_newstate();
    lua_pushcfunction(s.L, read_file);
    lua_pushstring(s.L, arguments[i]);
    if (lua_pcall(s.L, 1, 1, 0) || luaL_loadbuffer(s.L, lua_tostring(s.L, 1), lua_rawlen(s.L, 1), "=seed")) {
      fprintf(stderr, "%s\n", lua_tostring(s.L, -1));
      return 1;
    }
    s.text = lua_tostring(s.L, 1);
    if (tc_bytecode_of_function(arena, s.L, &proto, &err)) {
      fprintf(stderr, "%s: %s\n", arguments[i], err.message);
      return 1;
    }
    save_functions(&s, proto);
    lua_close(s.L);
    tc_arena_free(arena);
  }
  printf("%d functions\n", s.number);
  return 0;
}

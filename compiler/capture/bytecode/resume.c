/* What belongs to an instruction when it runs alone, where control goes on behind it, and whether the frame
 * may be left there. */
#include "capture/bytecode/resume.h"

#include <string.h>

#include "capture/bytecode/flow.h"

enum {
  MOST_PARAMETERS = 253, /* the epilogue of a step has two registers more, of 255; RETURN counts parameters
                            from 1 in 8 bits */
  MOST_UPVALUES = 253,   /* a step has two more, of 255 */
  MOST_CODE = TC_JUMP_EXCESS - 4096, /* what a jump reaches, less the code that a step adds */
};

tc_status tc_resume_open(struct tc_arena *arena, const struct tc_proto *proto, struct tc_resume **out,
                         struct tc_error *err) {
  if (proto->is_vararg && tc_code_op(proto->code[0]) != TC_LUA_VARARGPREP)
    return tc_fail(err, TC_CORRUPT, "capture",
                   "bytecode: a function with variable arguments does not begin with VARARGPREP");
  struct tc_resume *r = tc_arena_bytes(arena, sizeof *r);
  if (!r) return tc_fail(err, TC_NOMEM, "capture", "resume functions: out of memory");
  *r = (struct tc_resume){.arena = arena, .proto = proto};
  tc_status status = tc_liveness(arena, proto, &r->live, err);
  if (!status) status = tc_sharing_find(arena, proto, &r->sharing, err);
  if (!status) *out = r;
  return status;
}

static uint32_t code_at(const struct tc_resume *r, int pc) {
  return pc >= 0 && pc < r->proto->n_code ? r->proto->code[pc] : (uint32_t)TC_LUA_EXTRAARG;
}

/* The first register of those that an instruction takes openly. */
static int first_open(uint32_t code) { return tc_code_a(code) + (tc_code_op(code) != TC_LUA_RETURN); }

int tc_resume_registers(const struct tc_resume *r, int pc, int open) {
  return open >= 0 ? first_open(r->proto->code[pc]) + open : tc_live_count(&r->live[pc]);
}

bool tc_resume_may_cut(const struct tc_resume *r, int pc, const char **why) {
  const uint32_t code = code_at(r, pc);
  *why = NULL;
  if (tc_code_op(code) == TC_LUA_EXTRAARG) {
    *why = "this is inside of an instruction";
    return false;
  }
  *why = tc_sharing_forbids(&r->sharing, pc);
  const int registers = tc_code_takes_open(code) ? first_open(code) : tc_live_count(&r->live[pc]);
  if (registers > MOST_PARAMETERS) *why = "too many registers are in use";
  if (r->proto->n_upvalues > MOST_UPVALUES) *why = "the function has too many upvalues";
  if (r->proto->n_code > MOST_CODE) *why = "the function is too long";
  return !*why;
}

static tc_status damaged(struct tc_error *err, const char *what) {
  return tc_fail(err, TC_CORRUPT, "capture", "bytecode: %s", what);
}

enum { NONE = -1 };

/* Where the loop of a TFORPREP or TFORCALL ends, with its TFORLOOP. */
static int last_of_iteration(const struct tc_resume *r, int pc) {
  const uint32_t code = code_at(r, pc);
  const int call = tc_code_op(code) == TC_LUA_TFORPREP ? pc + 1 + tc_code_bx(code) : pc;
  const uint32_t called = code_at(r, call), loop = code_at(r, call + 1);
  const bool fits = tc_code_op(called) == TC_LUA_TFORCALL && tc_code_op(loop) == TC_LUA_TFORLOOP &&
                    tc_code_a(called) == tc_code_a(code) && tc_code_a(loop) == tc_code_a(code);
  return fits ? call + 1 : NONE;
}

/* The unit's last instruction: what stands behind pc and runs with it. NONE: code that no compiler makes. */
static int last_of(const struct tc_resume *r, int pc) {
  for (; tc_code_gives_open(code_at(r, pc)); pc++)
    if (!tc_code_takes_open(code_at(r, pc + 1))) return NONE;
  const uint32_t code = code_at(r, pc);
  const int op = tc_code_op(code), next_op = tc_code_op(code_at(r, pc + 1));
  if (tc_code_is_arithmetic(code))
    return next_op == TC_LUA_MMBIN || next_op == TC_LUA_MMBINI || next_op == TC_LUA_MMBINK ? pc + 1 : NONE;
  if (tc_code_is_test(code)) return next_op == TC_LUA_JMP ? pc + 1 : NONE;
  if (tc_code_has_extra(code)) return next_op == TC_LUA_EXTRAARG ? pc + 1 : NONE;
  if (op == TC_LUA_TFORPREP || op == TC_LUA_TFORCALL) return last_of_iteration(r, pc);
  return op == TC_LUA_EXTRAARG || op == TC_LUA_VARARGPREP ? NONE : pc;
}

static void add_exit(struct tc_resume_unit *unit, int pc) {
  for (int i = 0; i < unit->n_exits; i++)
    if (unit->exits[i] == pc) return;
  if (unit->n_exits < TC_MAX_RESUME_EXITS) unit->exits[unit->n_exits++] = pc;
}

static void find_exits(const struct tc_resume *r, int start, struct tc_resume_unit *unit) {
  struct tc_effect effect;
  if (tc_code_is_test(r->proto->code[start])) {
    add_exit(unit, start + 2 + tc_code_jump(r->proto->code[start + 1]));
    add_exit(unit, start + 2);
    return;
  }
  int ends = unit->last;
  if (tc_code_op(r->proto->code[ends]) == TC_LUA_EXTRAARG) ends--;
  tc_effect_of(r->proto, ends, &effect);
  for (int i = 0; i < effect.n_edges; i++) add_exit(unit, effect.edges[i].to);
}

bool tc_resume_makes_argument(const struct tc_proto *proto, int pc) {
  const int argument = tc_code_a(proto->code[pc]);
  struct tc_effect effect;
  if (tc_code_op(proto->code[pc]) != TC_LUA_CLOSURE || !argument) return false;
  for (int at = pc + 1; at < proto->n_code;) {
    const uint32_t code = proto->code[at];
    const int op = tc_code_op(code);
    if (tc_code_is_call(code) && tc_code_a(code) == argument - 1) return tc_code_b(code) != 1;
    tc_effect_of(proto, at, &effect); /* what comes in between makes further arguments */
    if (op == TC_LUA_JMP || effect.n_edges != 1 || tc_live_has(&effect.reads, argument) ||
        tc_live_has(&effect.edges[0].writes, argument) || tc_live_has(&effect.edges[0].writes, argument - 1))
      return false;
    at = effect.edges[0].to;
  }
  return false;
}

static bool has_hooks(const struct tc_resume *r, int first, int last) {
  for (int pc = first; pc <= last && r->hooks; pc++)
    if (tc_resume_makes_argument(r->proto, pc)) return true;
  return false;
}

static bool may_leave_at(const struct tc_resume *r, int pc) {
  return tc_resume_may_cut(r, pc, &(const char *){NULL}) && !tc_code_takes_open(code_at(r, pc));
}

struct region {
  unsigned char *state;
  int last;
  bool is_open_ended;
};
enum { UNSEEN, INSIDE, EXIT };

static void reach(const struct tc_resume *r, struct region *region, int pc) {
  if (region->state[pc] == INSIDE) return;
  region->state[pc] = pc > region->last && may_leave_at(r, pc) ? EXIT : INSIDE;
}

/* Takes in what the units inside lead to, once through the code. A generic `for` may hold a closing value,
 * which nothing here shows. */
static bool grow(const struct tc_resume *r, struct region *region, unsigned char *done) {
  bool grew = false;
  for (int pc = 0; pc < r->proto->n_code; pc++) {
    if (region->state[pc] == EXIT && pc <= region->last) region->state[pc] = INSIDE;
    if (region->state[pc] != INSIDE || done[pc]) continue;
    struct tc_resume_unit unit = {.first = pc, .last = last_of(r, pc)};
    region->is_open_ended |= unit.last == NONE || tc_code_op(code_at(r, pc)) == TC_LUA_TFORPREP;
    if (region->is_open_ended) return false;
    done[pc] = grew = true;
    find_exits(r, pc, &unit);
    if (region->last < unit.last) region->last = unit.last;
    for (int i = 0; i < unit.n_exits; i++) reach(r, region, unit.exits[i]);
  }
  return grew;
}

/* The exits of the region that begins at `start`; without any, the function runs to its end. */
static tc_status find_region(const struct tc_resume *r, int start, struct tc_resume_unit *unit,
                             struct tc_error *err) {
  const size_t n_code = (size_t)r->proto->n_code;
  struct tc_arena *arena = tc_arena_new(tc_arena_parent(r->arena));
  unsigned char *marks = arena ? tc_arena_bytes(arena, 2 * n_code) : NULL;
  unit->is_region = true;
  unit->n_exits = 0;
  if (marks) {
    memset(marks, UNSEEN, 2 * n_code);
    struct region region = {.state = marks, .last = start};
    marks[start] = INSIDE;
    while (grow(r, &region, marks + n_code)) {}
    int count = 0;
    for (int pc = 0; pc < r->proto->n_code; pc++) count += marks[pc] == EXIT;
    for (int pc = 0; pc < r->proto->n_code && !region.is_open_ended && count <= TC_MAX_RESUME_EXITS; pc++)
      if (marks[pc] == EXIT) unit->exits[unit->n_exits++] = pc;
    unit->has_hooks = has_hooks(r, start, unit->n_exits ? region.last : r->proto->n_code - 1);
  }
  tc_arena_free(arena);
  return marks ? TC_OK : tc_fail(err, TC_NOMEM, "capture", "resume functions: out of memory");
}

tc_status tc_resume_unit_at(const struct tc_resume *r, int pc, int open, struct tc_resume_unit *out,
                            struct tc_error *err) {
  *out = (struct tc_resume_unit){.first = pc};
  const int start = pc == 0 && r->proto->is_vararg ? 1 : pc;
  if (start < 0 || start >= r->proto->n_code) return damaged(err, "there is no such instruction");
  if (tc_code_takes_open(r->proto->code[start]) != (open >= 0))
    return damaged(err, "an instruction and its open values do not belong together");
  out->last = last_of(r, start);
  if (out->last == NONE) return damaged(err, "an instruction stands without what belongs to it");
  find_exits(r, start, out);
  for (int i = 0; i < out->n_exits; i++)
    if (tc_code_takes_open(r->proto->code[out->exits[i]]))
      return damaged(err, "open values are taken where nothing made them");
  for (int i = 0; i < out->n_exits; i++)
    if (!tc_resume_may_cut(r, out->exits[i], &out->why)) return find_region(r, start, out, err);
  return TC_OK;
}

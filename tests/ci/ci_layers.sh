#!/bin/bash
# ci/layers on small trees: one that keeps every rule, and for each rule some that break it.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

# put FILE TEXT
put() {
  mkdir -p "tree/${1%/*}"
  printf '%s\n' "$2" > "tree/$1"
}

fresh_tree() {
  rm -rf tree
  put compiler/tcompile.h 'struct tc_context;'
  put compiler/pipeline.h '#include "sched/sched.h"'
  put compiler/base/vec.h ''
  put compiler/guards/build.h ''
  put compiler/capture/trace/trace.h '#include "guards/build.h"'
  put compiler/sched/kernel.h '#include "base/vec.h"'
  put compiler/sched/schedule.h '#include "sched/kernel.h"'
  put compiler/sched/sched.h '#include <sched/kernel.h>'
  put compiler/codegen/codegen.h '#include "sched/kernel.h"'
  put compiler/codegen/llvm/types.h '#include <llvm-c/Core.h>'
  put compiler/codegen/llvm/module.c '#include <stdio.h>
#include "codegen/codegen.h"
#include "codegen/llvm/types.h"
#include "types.h"
/* extern in a comment, and int in_a_comment(void); */
static int forward(const char *text,
                   int number);
int tc_defined(void) {
  static const char *const text = "extern int in_a_text(void);";
  if (text) forward(text, 1);
  else forward(text, 2);
  return forward(text, 3);
}'
  put compiler/device/cpu/cpu.h ''
  put compiler/lua/module.h '#include "tcompile.h"'
  put compiler/lua/compile/compile.c '#include "pipeline.h"
#include "lua/module.h"
#include "nn.lua.inc"'
  put reporters/reporter.h '#include <cjson/cJSON.h>'
  put harness/run/run.h ''
  put harness/cli/main.c '#include "config.h"
#include "reporters/reporter.h"
#include "tcompile.h"'
}

fresh_tree
run bash "$srcdir/ci/layers" tree
[ "$status" -eq 0 ] && [[ $out == *'compiler/codegen         -> compiler/sched(1)'* ]]
tap_result $? 'a tree that keeps the rules passes, and is drawn'

# refused NAME SAYS FILE TEXT: the tree with that file is refused in its line.
refused() {
  fresh_tree
  put "$3" "$4"
  run bash "$srcdir/ci/layers" tree
  [ "$status" -eq 1 ] && [[ $out == *"$3:"*"$2"* ]]
  tap_result $? "refused: $1"
}

refused 'an arrow that goes up' 'compiler/sched is below compiler/codegen' compiler/sched/plan.c '#include "codegen/codegen.h"'
refused 'the same in angle brackets' 'compiler/sched is below compiler/codegen' compiler/sched/plan.c '#include <codegen/codegen.h>'
refused 'the same from the root' 'compiler/sched is below compiler/codegen' compiler/sched/plan.c '  #  include <compiler/codegen/codegen.h>'
refused 'a private header' 'private to compiler/sched' compiler/codegen/emit.c '#include "sched/schedule.h"'
refused 'a private header in angle brackets' 'private to compiler/codegen/llvm' compiler/runtime/compiled.c '#include <codegen/llvm/types.h>'
refused 'a private header by another folder of its part' 'private to compiler/codegen/llvm' compiler/codegen/null/null.c '#include "codegen/llvm/types.h"'
refused 'the inside of a device' 'private to compiler/device/cpu' harness/cli/topo.c '#include "device/cpu/cpu.h"'
refused 'a header that is open to another part alone' 'private to compiler/guards' compiler/lua/compile/call.c '#include "guards/build.h"'
refused 'the source of another part' 'private to compiler/codegen/llvm' compiler/runtime/compiled.c '#include "codegen/llvm/module.c"'
refused 'a path that climbs' 'write the path from' compiler/codegen/emit.c '#include "../sched/schedule.h"'
refused 'a path that climbs later' 'write the path from' compiler/codegen/emit.c '#include "codegen/../sched/schedule.h"'
refused 'a path that stays' 'write the path from' compiler/codegen/emit.c '#include "./codegen.h"'
refused 'a computed include' 'cannot be checked' compiler/codegen/emit.c '#include PRIVATE'
refused 'an include that is nowhere' 'in none of the include folders' compiler/sched/plan.c '#include "sched/none.h"'
refused 'a part without a place' 'has no place in the order' compiler/elsewhere/a.c '#include "base/vec.h"'
refused 'an arrow that goes up inside of a house' 'harness/wire is below harness/run' harness/wire/process.c '#include "harness/run/run.h"'
refused 'a room of another house' 'private to harness/run' dashboard/api/api.c '#include "harness/run/run.h"'
refused 'a room without a place' 'has no place in the order' harness/cellar/old.c '#include "base/vec.h"'
refused 'LLVM outside of its folder' 'may be included only under' compiler/codegen/emit.c '#include <llvm-c/Core.h>'

other='include the header of its owner'
refused 'an extern function' "$other" compiler/sched/plan.c 'extern int tc_device_secret(void);'
refused 'an extern object' "$other" compiler/sched/plan.c 'extern const int tc_device_secret;'
refused 'an extern function inside of another' "$other" compiler/sched/plan.c 'int tc_plan(void) { extern int tc_device_secret(void); return tc_device_secret(); }'
refused 'a prototype' "$other" compiler/sched/plan.c 'struct tc_device *tc_device_secret(int a);'
refused 'a prototype over several lines' "$other" compiler/sched/plan.c 'int tc_device_secret(int a,
                     int b);'
refused 'a prototype inside of a function' "$other" compiler/sched/plan.c 'int tc_plan(void) {
  int tc_device_secret(void);
  return tc_device_secret();
}'
tap_end

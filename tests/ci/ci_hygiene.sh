#!/bin/bash
# ci/hygiene on small trees: one that keeps every rule, and for each rule some that break it.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

# put FILE TEXT
put() {
  mkdir -p "tree/$(dirname "$1")"
  printf '%s\n' "$2" > "tree/$1"
}

fresh_tree() {
  rm -rf tree
  put Makefile.am 'include compiler/files.am'
  put compiler/files.am 'libtcompile_a_SOURCES = \
  compiler/base/vec.c \
  compiler/lua/raise.c'
  put compiler/base/vec.c 'int tc_vec(void) { return 1; }'
  put compiler/lua/raise.c 'int tc_raise(lua_State *L) { return lua_error(L); }'
  put tests/files.am 'c_tests = \
  tests/unit/test_vec
script_tests = \
  tests/cli/vec.sh'
  put tests/unit/test_vec.c 'int main(void) { return 0; }'
  put tests/cli/vec.sh '#!/bin/bash'
  chmod +x tree/tests/cli/vec.sh
}

# A checkout whose files are all tracked.
fresh_checkout() {
  fresh_tree
  git -C tree init -q && git -C tree add .
}

# passes NAME [BUILD]
passes() {
  run bash "$srcdir/ci/hygiene" "${2:-}" tree
  [ "$status" -eq 0 ] && ! grep -q '^not ok' <<< "$out"
  tap_result $? "$1"
}
# refused CHECK SAYS [BUILD]: that check alone fails, and says it.
refused() {
  run bash "$srcdir/ci/hygiene" "${3:-}" tree
  [ "$status" -eq 1 ] && [ "$(grep -c '^not ok' <<< "$out")" -eq 1 ] && grep -q "^not ok .* - $1" <<< "$out" && [[ $out == *"#   $2"* ]]
  tap_result $? "refused: $1: $2"
}

fresh_tree
passes 'a tree that keeps the rules passes'
fresh_checkout
passes 'so does a checkout of it'

# --- what is named, and what is there ---
named='every file named in a files.am is there'
fresh_tree
rm tree/compiler/base/vec.c
refused "$named" 'compiler/base/vec.c: missing'
fresh_checkout
git -C tree rm -q --cached compiler/base/vec.c
refused "$named" 'compiler/base/vec.c: not tracked by git'
fresh_checkout
git -C tree rm -q --cached tests/unit/test_vec.c
refused "$named" 'tests/unit/test_vec: not tracked by git'
fresh_tree
put compiler/base/more.h '/* */'
refused 'every source is named in a files.am' 'compiler/base/more.h'

# --- texts ---
fresh_tree
for i in $(seq 401); do echo "int tc_line_$i;"; done > tree/compiler/base/vec.c
refused 'no file is too long' 'compiler/base/vec.c: 401 lines, more than 400'
fresh_tree
for i in $(seq 600); do echo "int tc_line_$i;"; done > tree/tests/unit/test_vec.c
passes 'a test of 600 lines passes'
echo 'int tc_last;' >> tree/tests/unit/test_vec.c
refused 'no file is too long' 'tests/unit/test_vec.c: 601 lines, more than 600'
fresh_tree
for i in $(seq 44); do put "compiler/base/more_$i.h" '/* */'; echo "x += compiler/base/more_$i.h" >> tree/compiler/files.am; done
passes 'a folder of 45 source files passes'
put compiler/base/more.def 'ROW(x)'
echo 'x += compiler/base/more.def' >> tree/compiler/files.am
refused 'no folder has over 45 source files' 'compiler/base: 46 source files'
fresh_tree
put config.h '#define MADE'
refused 'nothing that the build makes is in the tree' 'config.h'
fresh_tree
printf 'a\0b' > tree/compiler/base/data
refused 'no binary file is in the tree' 'compiler/base/data'
fresh_tree
mkdir -p tree/docs
head -c 150000 /dev/zero > tree/docs/small.png
passes 'a small picture in docs passes'
head -c 150001 /dev/zero > tree/docs/large.png
refused 'no binary file is in the tree' 'docs/large.png: more than 150000 bytes'
fresh_tree
: > tree/compiler/base/vec.c
refused 'no file is empty' 'compiler/base/vec.c'
manual='every page of the manual is shipped, and its links lead somewhere'
fresh_tree
put Makefile.am 'include compiler/files.am
EXTRA_DIST += docs/page.md'
put README.md '[page](docs/page.md) [part](docs/page.md#what-it-is) [here](#here) [web](https://example.org/none)
    t[1](x)
# Here'
put docs/page.md '## What it is?'
passes 'pages with links that lead somewhere pass'
put README.md '[page](docs/none.md)'
refused "$manual" 'README.md: docs/none.md: there is no such file'
put README.md '[part](docs/page.md#what-it-was)'
refused "$manual" 'README.md: docs/page.md#what-it-was: there is no such heading'
put README.md '[page](docs/page.md)'
put docs/more.md '# More'
refused "$manual" 'docs/more.md: not named in Makefile.am'
fresh_tree
put compiler/base/vec.c "/* TO""DO */"
refused 'nothing is left for later' 'compiler/base/vec.c:1'
fresh_tree
printf 'int tc_vec;\t\n' > tree/compiler/base/vec.c
refused 'no tabs' 'compiler/base/vec.c:1'
fresh_tree
put tests/cli/vec.sh 'if'
refused 'scripts parse' 'tests/cli/vec.sh: line'
fresh_tree
chmod -x tree/tests/cli/vec.sh
refused 'scripts parse' 'tests/cli/vec.sh is not executable'
fresh_tree
put compiler/base/vec.c 'int tc_vec(void) { abort(); }'
refused 'the library never ends the program' 'compiler/base/vec.c:1'
fresh_tree
put compiler/base/vec.c 'int tc_vec(lua_State *L) { return luaL_error(L, "no"); }'
refused 'the library never ends the program' 'compiler/base/vec.c:1'
fresh_tree
put compiler/base/vec.c 'float tc_vec(const struct tc_tensor *x) { return *(float *)tc_tensor_data(x); }'
refused 'only devices, the runtime' 'compiler/base/vec.c:1'
fresh_tree
put compiler/base/vec.c "/* $(printf 'ä%.0s' {1..110}) */"
refused 'no line of C has more than 110' 'compiler/base/vec.c:1'
if command -v clang-format-19 > /dev/null; then
  fresh_tree
  cp "$srcdir/.clang-format" tree/
  put compiler/base/vec.c 'int  tc_vec( void ) { return 0; }'
  refused 'C is laid out by' 'compiler/base/vec.c:1: clang-format-19 -i'
fi
once='the clock is read in base/clock.h'
fresh_tree
put compiler/base/vec.c 'void tc_vec(struct timespec *t) { clock_gettime(CLOCK_MONOTONIC, t); }'
refused "$once" 'compiler/base/vec.c:1'
fresh_tree
put compiler/base/vec.c 'static int no_memory(struct tc_error *err) { return 1; }'
refused "$once" 'compiler/base/vec.c:1'
fresh_tree
put compiler/base/vec.c 'int tc_vec(struct tc_error *err) { return tc_fail(err, TC_NOMEM, "vec", "out of memory"); }'
refused "$once" 'compiler/base/vec.c:1'

# --- objects ---
globals='the libraries have no mutable globals'
# archive SOURCE-TEXT [HARNESS-TEXT]: a build folder with a library made from it, and the harness' made from the second.
archive() {
  rm -rf built
  mkdir built
  printf '%s\n' "$1" > built/a.c
  printf '%s\n' "${2:-int main(void) { return 0; \}}" > built/b.c
  (cd built && "${CC:-cc}" -c a.c b.c && ar cr libtcompile.a a.o && ar cr libtbench.a b.o)
}
fresh_tree
archive 'static const int table[] = {1, 2}; int tc_table(int i) { return table[i]; }'
passes 'a library of functions and constants passes' built
archive 'static int count; int tc_count(void) { return ++count; }'
refused "$globals" "$PWD/built/libtcompile.a:a.o" built
archive 'int tc_count = 1; int tc_next(void) { return ++tc_count; }'
refused "$globals" "$PWD/built/libtcompile.a:a.o" built
archive 'int tc_one(void) { return 1; }' 'static int count; int main(void) { return ++count; }'
refused "$globals" "$PWD/built/libtbench.a:b.o" built
for more in libserver.a libdashboard.a; do
  archive 'int tc_one(void) { return 1; }' 'int tc_one(void); int main(void) { return tc_one(); }'
  passes "without $more" built
  (cd built && echo 'static int comparing = 1; int main(void) { return ++comparing; }' > c.c && "${CC:-cc}" -c c.c && ar cr "$more" c.o)
  refused "$globals" "$PWD/built/$more:c.o" built
done
refused "$globals" 'nm fails: ' none
echo 'no archive' > built/libtcompile.a
refused "$globals" 'nm fails: ' built
archive 'typedef int tc_nothing;'
refused "$globals" 'nm finds no function' built

used='every function has a use'
fresh_tree
archive 'int tc_vec(void) { return 1; }'
refused "$used" 'tc_vec' built
archive 'int tc_vec(void) { return 1; } int tc_made(void) { return tc_vec(); }'
passes 'a function that its own file calls is used' built
put tests/unit/test_vec.c 'int main(void) { return tc_vec(); }'
archive 'int tc_vec(void) { return 1; }'
passes 'a function that a test calls is used' built
fresh_tree
put compiler/tcompile.h 'int tc_vec(void);'
sed -i 's,compiler/base/vec.c,& compiler/tcompile.h,' tree/compiler/files.am
passes 'a function of the public header is for others' built
tap_end

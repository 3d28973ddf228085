/* Resume functions for tests in Lua, without the tracer: a table of functions.
 *
 *   object = driver.open(f)                     what follows is about the Lua function f; instructions count
 *   from 0
 *   object:length(), object:opcode(pc), object:registers(pc[, open]), object:is_live(pc, register)
 *   object:may_cut(pc)                          true; or false and why not
 *   object:unit(pc[, open])                     first, last, exits (a list), why (nil)
 *   object:step(pc, open or -1, next)           the step: at an exit it goes on with what next(exit's pc,
 *   registers and variable
 *                                               arguments …) returns: a function and its arguments. nil,
 *                                               message: it is refused
 *   object:continuation(pc)                     the continuation; or nil, message
 *   object:copy()                               f again, encoded and loaded
 *   object:stop(n, ...)                         runs f(...) until its own n-th instruction is next, and gives
 *   that run up:
 *                                               pc, open, register 0, 1, …, then the variable arguments.
 *                                               false: it ended before
 *   object:poisoned(...)                        pcall(f, ...), with every dead register overwritten before
 *   each instruction */
#ifndef TESTS_CAPTURE_RESUME_DRIVER_H
#define TESTS_CAPTURE_RESUME_DRIVER_H

#include <lua.h>

int tests_open_resume_driver(lua_State *L); /* a lua_CFunction that leaves the table */

#endif

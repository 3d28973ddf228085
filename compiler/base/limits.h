/* The limits of the compiler that users can meet (others stand beside what they bound). Each is checked where
 * it could be passed, with status TC_LIMIT. */
#ifndef TC_BASE_LIMITS_H
#define TC_BASE_LIMITS_H

enum {
  TC_MAX_DIMS = 8,              /* dimensions of a tensor */
  TC_MAX_INPUTS = 64,           /* operands of one operation (cat, stack) */
  TC_MAX_LIST = 1 << 16,        /* items of one list argument (tensors that cat joins) */
  TC_MAX_CALL_VALUES = 1 << 18, /* values that one eager call of a tensor function makes */
  TC_MAX_ATTRS = 32,            /* attributes of one operation */
  TC_MAX_RESULTS = 256,         /* results of one tensor function (split, unbind) */
  TC_MAX_KERNEL_BUFFERS = 64,
  TC_MAX_KERNEL_DIMS = 8,
  TC_MAX_TILED = 8, /* entries of a launch list that run tile by tile together; more start a new run */
  TC_MAX_GRAPH_OPS =
      1 << 17, /* tensor functions in one captured graph: about a gigabyte of the compiler's memory */
  TC_MAX_INLINE_DEPTH = 64,     /* Lua calls inlined into one another by capture */
  TC_MAX_LOOP_TURNS = 1 << 18,  /* jumps back, and tail calls, of one capture */
  TC_MAX_TRACE_STACK = 1 << 18, /* registers of all inlined calls together */
  TC_MAX_SCALARS = 64,          /* numbers that are inputs of one graph */
  TC_MAX_META_CHAIN = 100,      /* tables behind one another in __index or __newindex */
};

#endif

/* One module: from begin to the object in memory.
 *
 * 1. A module has its own LLVM context and target machine, so modules in different threads share nothing.
 * 2. No optimisation pipeline runs: instruction selection gets what the emitter wrote. At the levels 0 and 1
 *    (`llvm_level`) LLVM's own level is "none", but with selection over whole blocks, scheduling for latency
 *    and a real register allocation: two thirds of the compile time of "less", and code as fast. 2 is "less",
 *    3 "default"; there loop strength reduction and CodeGenPrepare stay off, since they win nothing here.
 * 3. Objects are position-independent, small code model, and refer to nothing outside of themselves. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

#include "codegen/llvm/supports.h"
#include "codegen/llvm/types.h"

static const char TRIPLE[] = "x86_64-unknown-linux-gnu";

static const char *const intrinsic_names[LL_INTRINSIC_COUNT] = {
    [LL_FABS] = "llvm.fabs",
    [LL_FLOOR] = "llvm.floor",
    [LL_CEIL] = "llvm.ceil",
    [LL_SQRT] = "llvm.sqrt",
    [LL_FMA] = "llvm.fma",
    [LL_MASKED_LOAD] = "llvm.masked.load",
    [LL_MASKED_STORE] = "llvm.masked.store",
    [LL_GATHER] = "llvm.masked.gather",
    [LL_SCATTER] = "llvm.masked.scatter",
    [LL_PREFETCH] = "llvm.prefetch",
    [LL_SFENCE] = "llvm.x86.sse.sfence",
    [LL_FIX_F32] = "llvm.x86.avx512.mask.fixupimm.ps.512",
    [LL_FIX_F64] = "llvm.x86.avx512.mask.fixupimm.pd.512",
    [LL_SCALE_F32] = "llvm.x86.avx512.mask.scalef.ps.512",
    [LL_SCALE_F64] = "llvm.x86.avx512.mask.scalef.pd.512",
};

/* LLVM's registries and options are the process's: set once, by whichever thread comes first. */
static pthread_once_t llvm_once = PTHREAD_ONCE_INIT;
static void llvm_setup(void) {
  static const char *const options[] = {"tbench",
                                        "-disable-lsr",
                                        "-disable-cgp",
                                        "-fast-isel=0",
                                        "-optimize-regalloc",
                                        "-enable-misched=0",
                                        "-pre-RA-sched=list-ilp"};
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMParseCommandLineOptions((int)(sizeof options / sizeof *options), options, NULL);
}

static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                             LLVMCodeGenLevelDefault};

static tc_status make_machine(struct tc_module *m, const struct tc_config *config, struct tc_error *err) {
  char features[1024];
  char *message = NULL;
  LLVMTargetRef target;
  const int level = config->llvm_level < 0 ? 0 : config->llvm_level > 3 ? 3 : (int)config->llvm_level;
  /* The widest vectors are wanted, and hardware gathers rather than a branch for each lane. */
  const int length = snprintf(features, sizeof features, "%s%s-prefer-256-bit,+fast-gather",
                              m->target->llvm_features, *m->target->llvm_features ? "," : "");
  if (length >= (int)sizeof features)
    return tc_fail(err, TC_LIMIT, "codegen", "the target's feature list is longer than %zu characters",
                   sizeof features);
  if (LLVMGetTargetFromTriple(TRIPLE, &target, &message)) {
    tc_fail(err, TC_CODEGEN, "codegen", "LLVM has no target %s: %s", TRIPLE,
            message ? message : "unknown reason");
    LLVMDisposeMessage(message);
    return TC_CODEGEN;
  }
  m->machine = LLVMCreateTargetMachine(target, TRIPLE, m->target->llvm_cpu, features, levels[level],
                                       LLVMRelocPIC, LLVMCodeModelSmall);
  return m->machine
             ? TC_OK
             : tc_fail(err, TC_CODEGEN, "codegen", "LLVM made no target machine for %s", m->target->llvm_cpu);
}

static void make_types(struct tc_module *m) {
  LLVMContextRef c = m->context;
  m->void_ = LLVMVoidTypeInContext(c);
  m->i1 = LLVMInt1TypeInContext(c);
  m->i8 = LLVMInt8TypeInContext(c);
  m->i16 = LLVMInt16TypeInContext(c);
  m->i32 = LLVMInt32TypeInContext(c);
  m->i64 = LLVMInt64TypeInContext(c);
  m->f32 = LLVMFloatTypeInContext(c);
  m->f64 = LLVMDoubleTypeInContext(c);
  m->ptr = LLVMPointerTypeInContext(c, 0);
  LLVMTypeRef parameters[] = {m->ptr, m->ptr, m->i64, m->i64};
  m->kernel_type = LLVMFunctionType(m->void_, parameters, 4, false);
  m->nounwind =
      LLVMCreateEnumAttribute(c, LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind")), 0);
  m->nontemporal_kind = LLVMGetMDKindIDInContext(c, "nontemporal", strlen("nontemporal"));
  LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(m->i32, 1, false));
  m->nontemporal = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, &one, 1));
}

static void discard(struct tc_module *m) {
  if (!m) return;
  if (m->builder) LLVMDisposeBuilder(m->builder);
  if (m->module) LLVMDisposeModule(m->module);
  if (m->machine) LLVMDisposeTargetMachine(m->machine);
  if (m->context) LLVMContextDispose(m->context);
  TC_FREE(m->alloc, m);
}

static tc_status begin(const struct tc_alloc *alloc, const struct tc_target *target,
                       const struct tc_config *config, struct tc_module **out, struct tc_error *err) {
  *out = NULL;
  pthread_once(&llvm_once, llvm_setup);
  struct tc_module *m = TC_NEW(alloc, struct tc_module);
  if (!m) return tc_fail_memory(err, "codegen");
  m->alloc = alloc;
  m->target = target;
  m->avx512 = target->vector_bytes == 64;
  m->roll = config->roll;
  tc_status status = make_machine(m, config, err);
  if (status) goto fail;
  m->context = LLVMContextCreate();
  m->module = LLVMModuleCreateWithNameInContext("kernels", m->context);
  m->builder = LLVMCreateBuilderInContext(m->context);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(m->machine);
  LLVMSetModuleDataLayout(m->module, layout);
  LLVMDisposeTargetData(layout);
  LLVMSetTarget(m->module, TRIPLE);
  make_types(m);
  *out = m;
  return TC_OK;
fail:
  discard(m);
  return status;
}

/* --- intrinsics --- */

static struct ll_declaration declare(struct tc_module *m, enum ll_intrinsic which, LLVMTypeRef type,
                                     LLVMTypeRef second) {
  const char *name = intrinsic_names[which];
  const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMTypeRef types[] = {type, second};
  const size_t n = type ? second ? 2 : 1 : 0;
  struct ll_declaration d = {.which = which, .type = type};
  d.function = LLVMGetIntrinsicDeclaration(m->module, id, types, n);
  d.function_type = LLVMIntrinsicGetType(m->context, id, types, n);
  return d;
}

LLVMValueRef ll_call(struct ll_emit *e, enum ll_intrinsic which, LLVMTypeRef type, LLVMTypeRef second,
                     LLVMValueRef *args, int n) {
  struct tc_module *m = e->m;
  int i = 0;
  while (i < m->n_declarations && (m->declarations[i].which != which || m->declarations[i].type != type)) i++;
  struct ll_declaration d;
  if (i < m->n_declarations)
    d = m->declarations[i];
  else {
    d = declare(m, which, type, second);
    if (m->n_declarations < LL_DECLARATIONS) m->declarations[m->n_declarations++] = d;
  }
  return LLVMBuildCall2(m->builder, d.function_type, d.function, args, (unsigned)n, "");
}

LLVMValueRef ll_fail(struct ll_emit *e, tc_status status, LLVMTypeRef type, const char *format, ...) {
  if (!e->status) {
    char text[TC_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    e->status = tc_fail(e->err, status, "codegen", "%s: %s", e->k->name, text);
  }
  return LLVMGetUndef(type);
}

/* --- one kernel --- */

/* Lanes of a vector: as many as fill a register with the dtype that most operations have; inner loops over
 * blocks of an outer dimension take a whole block at once, up to four registers. */
static int choose_lanes(const struct ll_emit *e, int wide, int narrow) {
  const struct tc_kernel *k = e->k;
  const int bytes = wide > narrow ? 8 : 4;
  const int lanes = e->m->target->vector_bytes / bytes;
  const struct tc_kernel_dim *dim = k->lanes == TC_LANES_OUTER ? &k->outer[k->n_outer - 1]
                                    : k->n_inner               ? &k->inner[k->n_inner - 1]
                                                               : NULL;
  if (!dim || tc_sym_is(dim->extent, 1)) return 1;
  if (k->lanes != TC_LANES_OUTER || e->block_loop) return lanes;
  int block = lanes;
  while (block * 2 <= 4 * lanes && block * 2 <= LL_MAX_LANES && k->block % (block * 2) == 0) block *= 2;
  return block;
}

struct census {
  int wide, narrow;
};

static void take_census(struct ll_emit *e, const struct tc_expr *x, struct census *c) {
  struct ll_info *info = &e->info[x->id];
  if (info->counted) return;
  info->counted = 1;
  const bool computes = x->op != TC_E_INDEX && x->op != TC_E_CONST;
  if (computes && (x->dtype == TC_F64 || x->dtype == TC_I64)) c->wide += x->dtype == TC_F64 ? 4 : 1;
  if (computes && (x->dtype == TC_F32 || x->dtype == TC_BF16)) c->narrow += 4;
  if (computes && x->dtype == TC_BOOL) c->narrow++;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (x->args[i]) take_census(e, x->args[i], c);
}

static void each_root(struct ll_emit *e, void (*visit)(struct ll_emit *, const struct tc_expr *, void *),
                      void *state) {
  for (int p = 0; p < e->k->n_phases; p++) {
    const struct tc_phase *phase = &e->k->phases[p];
    for (int i = 0; i < phase->n_reductions; i++) visit(e, phase->reductions[i].value, state);
    for (int i = 0; i < phase->n_stores; i++) visit(e, phase->stores[i].value, state);
  }
}
static void visit_census(struct ll_emit *e, const struct tc_expr *x, void *state) {
  take_census(e, x, state);
}
static void visit_analyse(struct ll_emit *e, const struct tc_expr *x, void *state) {
  (void)state, ll_analyse(e, x);
}

static void prepare(struct ll_emit *e) {
  const struct tc_kernel *k = e->k;
  struct census census = {0};
  e->status_buffer = e->rng_buffer = -1;
  for (int i = 0; i < k->n_buffers; i++) {
    if (k->buffers[i].role == TC_ROLE_STATUS) e->status_buffer = i;
    if (k->buffers[i].role == TC_ROLE_RNG) e->rng_buffer = i;
  }
  e->block_loop = k->lanes == TC_LANES_OUTER && !k->n_inner;
  each_root(e, visit_census, &census);
  for (int i = 0; i < k->n_exprs; i++) e->info[i].counted = 0;
  e->lanes = choose_lanes(e, census.wide, census.narrow);
  e->lane_variable = e->lanes == 1                ? TC_SYM_INVALID
                     : k->lanes == TC_LANES_OUTER ? k->outer[k->n_outer - 1].var
                                                  : k->inner[k->n_inner - 1].var;
  each_root(e, visit_analyse, NULL);
  if (e->m->roll && !k->plain) ll_find_rolls(e);
}

static tc_status emit(struct tc_module *m, const struct tc_kernel *k, struct tc_error *err) {
  char why[TC_ERROR_TEXT];
  if (!ll_supports(m->target, k, why, sizeof why))
    return tc_fail(err, TC_UNSUPPORTED, "codegen", "%s: %s", k->name, why);
  struct ll_emit *e = TC_NEW(m->alloc, struct ll_emit);
  if (!e) return tc_fail_memory(err, "codegen");
  e->m = m, e->k = k, e->err = err;
  e->info = TC_NEW_ARRAY(m->alloc, struct ll_info, (size_t)k->n_exprs + 1);
  e->sizes = TC_NEW_ARRAY(m->alloc, LLVMValueRef, (size_t)k->n_sizes + 1);
  e->acc = TC_NEW_ARRAY(m->alloc, LLVMValueRef, (size_t)k->n_accs + 1);
  if (e->info && e->sizes && e->acc) {
    prepare(e);
    ll_kernel(e);
  } else
    ll_fail(e, TC_NOMEM, m->i64, "out of memory");
  const tc_status status = e->status;
  TC_FREE_ARRAY(m->alloc, e->info, (size_t)k->n_exprs + 1);
  TC_FREE_ARRAY(m->alloc, e->sizes, (size_t)k->n_sizes + 1);
  TC_FREE_ARRAY(m->alloc, e->acc, (size_t)k->n_accs + 1);
  tc_vec_free(m->alloc, &e->numbers.items);
  tc_hash_index_free(m->alloc, &e->numbers.index);
  TC_FREE(m->alloc, e);
  return status;
}

/* --- the end --- */

static tc_status copy_object(const struct tc_module *m, LLVMMemoryBufferRef object, struct tc_blob *out,
                             struct tc_error *err) {
  const size_t size = LLVMGetBufferSize(object);
  unsigned char *bytes = tc_new_bytes(m->alloc, size);
  if (!bytes) return tc_fail_memory(err, "codegen");
  memcpy(bytes, LLVMGetBufferStart(object), size);
  *out = (struct tc_blob){bytes, size, m->alloc};
  return TC_OK;
}

/* Of a copy, since instruction selection changes the module. */
static void assembly(struct tc_module *m, struct tc_strbuf *text) {
  LLVMModuleRef copy = LLVMCloneModule(m->module);
  LLVMMemoryBufferRef printed = NULL;
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(m->machine, copy, LLVMAssemblyFile, &message, &printed)) {
    LLVMDisposeMessage(message);
  } else {
    tc_strbuf_bytes(text, LLVMGetBufferStart(printed), LLVMGetBufferSize(printed));
    LLVMDisposeMemoryBuffer(printed);
  }
  LLVMDisposeModule(copy);
}

static tc_status finish(struct tc_module *m, struct tc_blob *out, struct tc_strbuf *text,
                        struct tc_error *err) {
  char *message = NULL;
  LLVMMemoryBufferRef object = NULL;
  tc_status status = TC_OK;
  *out = (struct tc_blob){0};
  if (text) {
    char *ir = LLVMPrintModuleToString(m->module);
    tc_strbuf_puts(text, ir);
    LLVMDisposeMessage(ir);
  }
  if (LLVMTargetMachineEmitToMemoryBuffer(m->machine, m->module, LLVMObjectFile, &message, &object)) {
    status = tc_fail(err, TC_CODEGEN, "codegen", "LLVM: %s", message ? message : "no object");
    LLVMDisposeMessage(message);
  } else {
    status = copy_object(m, object, out, err);
    LLVMDisposeMemoryBuffer(object);
  }
  discard(m);
  return status;
}

const struct tc_codegen tc_codegen_llvm = {
    .name = "llvm",
    .version = "llvm-" LLVM_VERSION_STRING "/8",
    .supports = ll_supports,
    .begin = begin,
    .emit = emit,
    .assembly = assembly,
    .finish = finish,
    .discard = discard,
};

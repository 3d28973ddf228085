/* The loader of objects: every kind of relocation it takes, errors for what it does not, and damaged
 * bytes. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cpu/cpu.h"

/* --- a small object, made by hand --- */

static const unsigned char text[] = {
    /* load: *buffers[0] = the constant */
    0x48,
    0x8B,
    0x07, /* mov rax, [rdi] */
    0x48,
    0x8B,
    0x0D,
    0,
    0,
    0,
    0, /* mov rcx, [rip + constant]      PC32 at 6 */
    0x48,
    0x89,
    0x08,
    0xC3,
    0x90,
    0x90, /* mov [rax], rcx; ret */
    /* fill, at 16: memset(buffers[0], 7, 16) */
    0x48,
    0x8B,
    0x3F, /* mov rdi, [rdi] */
    0xBE,
    7,
    0,
    0,
    0, /* mov esi, 7 */
    0xBA,
    16,
    0,
    0,
    0, /* mov edx, 16 */
    0xE9,
    0,
    0,
    0,
    0, /* jmp memset                     PLT32 at 30 */
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    /* slot, at 48: *buffers[0] = *(the constant, through a slot) */
    0x48,
    0x8B,
    0x05,
    0,
    0,
    0,
    0, /* mov rax, [rip + slot]          REX_GOTPCRELX at 51 */
    0x48,
    0x8B,
    0x08, /* mov rcx, [rax] */
    0x48,
    0x8B,
    0x07, /* mov rax, [rdi] */
    0x48,
    0x89,
    0x08,
    0xC3,
    0x90,
    0x90, /* mov [rax], rcx; ret */
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    0x90,
    /* pointer, at 80: *buffers[0] = *pointer */
    0x48,
    0x8B,
    0x05,
    0,
    0,
    0,
    0, /* mov rax, [rip + pointer]       PC32 at 83 */
    0x48,
    0x8B,
    0x08,
    0x48,
    0x8B,
    0x07,
    0x48,
    0x89,
    0x08,
    0xC3,
};
static const uint64_t constant = 0x1122334455667788u;

enum {
  S_NULL,
  S_TEXT,
  S_RODATA,
  S_POINTER,
  S_RELA_TEXT,
  S_RELA_POINTER,
  S_SYMTAB,
  S_STRTAB,
  S_SHSTRTAB,
  SECTIONS
};
enum { Y_NULL, Y_RODATA, Y_POINTER, Y_MEMSET, Y_LOAD, Y_FILL, Y_SLOT, Y_READ, SYMBOLS };
static const char names[] = "\0memset\0load\0fill\0slot\0pointer";
static const char section_names[] =
    "\0.text\0.rodata\0.data.rel.ro\0.rela.text\0.rela.data\0.symtab\0.strtab\0.shstrtab";
enum { RELOCATIONS = 4, OBJECT_BYTES = 4096 };

struct object {
  unsigned char bytes[OBJECT_BYTES];
  size_t size;
  Elf64_Ehdr header;
  Elf64_Shdr sections[SECTIONS];
  Elf64_Sym symbols[SYMBOLS];
  Elf64_Rela text_relocations[RELOCATIONS], pointer_relocation;
};

static uint32_t name_at(const char *table, size_t bytes, const char *name) {
  for (size_t i = 0; i < bytes; i++)
    if (i > 0 && table[i - 1] == '\0' && strcmp(table + i, name) == 0) return (uint32_t)i;
  return 0;
}

static void describe(struct object *o) {
  memset(o, 0, sizeof *o);
  o->header =
      (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_REL,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = SECTIONS,
                   .e_shstrndx = S_SHSTRTAB};
#define NAMED(section) name_at(section_names, sizeof section_names, section)
  o->sections[S_TEXT] = (Elf64_Shdr){.sh_name = NAMED(".text"),
                                     .sh_type = SHT_PROGBITS,
                                     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                     .sh_size = sizeof text,
                                     .sh_addralign = 16};
  o->sections[S_RODATA] = (Elf64_Shdr){.sh_name = NAMED(".rodata"),
                                       .sh_type = SHT_PROGBITS,
                                       .sh_flags = SHF_ALLOC,
                                       .sh_size = 8,
                                       .sh_addralign = 64};
  o->sections[S_POINTER] = (Elf64_Shdr){.sh_name = NAMED(".data.rel.ro"),
                                        .sh_type = SHT_PROGBITS,
                                        .sh_flags = SHF_ALLOC | SHF_WRITE,
                                        .sh_size = 8,
                                        .sh_addralign = 8};
  o->sections[S_RELA_TEXT] = (Elf64_Shdr){.sh_name = NAMED(".rela.text"),
                                          .sh_type = SHT_RELA,
                                          .sh_link = S_SYMTAB,
                                          .sh_info = S_TEXT,
                                          .sh_size = sizeof o->text_relocations,
                                          .sh_entsize = sizeof(Elf64_Rela),
                                          .sh_addralign = 8};
  o->sections[S_RELA_POINTER] = (Elf64_Shdr){.sh_name = NAMED(".rela.data"),
                                             .sh_type = SHT_RELA,
                                             .sh_link = S_SYMTAB,
                                             .sh_info = S_POINTER,
                                             .sh_size = sizeof(Elf64_Rela),
                                             .sh_entsize = sizeof(Elf64_Rela),
                                             .sh_addralign = 8};
  o->sections[S_SYMTAB] = (Elf64_Shdr){.sh_name = NAMED(".symtab"),
                                       .sh_type = SHT_SYMTAB,
                                       .sh_link = S_STRTAB,
                                       .sh_size = sizeof o->symbols,
                                       .sh_entsize = sizeof(Elf64_Sym),
                                       .sh_addralign = 8};
  o->sections[S_STRTAB] = (Elf64_Shdr){
      .sh_name = NAMED(".strtab"), .sh_type = SHT_STRTAB, .sh_size = sizeof names, .sh_addralign = 1};
  o->sections[S_SHSTRTAB] = (Elf64_Shdr){.sh_name = NAMED(".shstrtab"),
                                         .sh_type = SHT_STRTAB,
                                         .sh_size = sizeof section_names,
                                         .sh_addralign = 1};
  o->symbols[Y_RODATA] = (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = S_RODATA};
  o->symbols[Y_POINTER] =
      (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = S_POINTER};
  o->symbols[Y_MEMSET] = (Elf64_Sym){.st_name = name_at(names, sizeof names, "memset"),
                                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)};
  static const char *const functions[] = {"load", "fill", "slot", "pointer"};
  static const uint64_t starts[] = {0, 16, 48, 80};
  for (int i = 0; i < 4; i++)
    o->symbols[Y_LOAD + i] = (Elf64_Sym){.st_name = name_at(names, sizeof names, functions[i]),
                                         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                         .st_shndx = S_TEXT,
                                         .st_value = starts[i]};
  o->text_relocations[0] = (Elf64_Rela){6, ELF64_R_INFO(Y_RODATA, R_X86_64_PC32), -4};
  o->text_relocations[1] = (Elf64_Rela){30, ELF64_R_INFO(Y_MEMSET, R_X86_64_PLT32), -4};
  o->text_relocations[2] = (Elf64_Rela){51, ELF64_R_INFO(Y_RODATA, R_X86_64_REX_GOTPCRELX), -4};
  o->text_relocations[3] = (Elf64_Rela){83, ELF64_R_INFO(Y_POINTER, R_X86_64_PC32), -4};
  o->pointer_relocation = (Elf64_Rela){0, ELF64_R_INFO(Y_RODATA, R_X86_64_64), 0};
}

static void put(struct object *o, int section, const void *bytes, size_t size) {
  o->size = (o->size + 15) & ~(size_t)15;
  o->sections[section].sh_offset = o->size;
  memcpy(o->bytes + o->size, bytes, size);
  o->size += size;
}

/* Lays the description out as bytes. */
static struct tc_blob write_object(struct object *o) {
  const uint64_t zero = 0;
  o->size = sizeof o->header;
  put(o, S_TEXT, text, sizeof text);
  put(o, S_RODATA, &constant, sizeof constant);
  put(o, S_POINTER, &zero, sizeof zero);
  put(o, S_RELA_TEXT, o->text_relocations, sizeof o->text_relocations);
  put(o, S_RELA_POINTER, &o->pointer_relocation, sizeof o->pointer_relocation);
  put(o, S_SYMTAB, o->symbols, sizeof o->symbols);
  put(o, S_STRTAB, names, sizeof names);
  put(o, S_SHSTRTAB, section_names, sizeof section_names);
  o->size = (o->size + 15) & ~(size_t)15;
  o->header.e_shoff = o->size;
  memcpy(o->bytes + o->size, o->sections, sizeof o->sections);
  o->size += sizeof o->sections;
  memcpy(o->bytes, &o->header, sizeof o->header);
  return (struct tc_blob){.bytes = o->bytes, .size = o->size, .alloc = tc_alloc_system()};
}

/* --- tests --- */

static struct tc_device *device;
static int open_device(void **state) {
  struct tc_error err;
  (void)state;
  return tc_device_cpu_open(tc_alloc_system(), "auto", 1, &device, &err) != TC_OK;
}
static int close_device(void **state) {
  (void)state;
  device->methods->close(device);
  return 0;
}

static tc_status load(struct object *o, struct tc_loaded **loaded, struct tc_error *err) {
  const struct tc_blob blob = write_object(o);
  return device->methods->load(device, &blob, loaded, err);
}

static void run(struct tc_loaded *loaded, const char *name, uint64_t *out) {
  const tc_cpu_kernel kernel = tc_cpu_kernel_of(device->methods->symbol(device, loaded, name));
  void *const buffers[] = {out};
  assert_non_null(kernel);
  kernel(buffers, NULL, 0, 1);
}

static void test_relocations(void **state) {
  struct object o;
  struct tc_loaded *loaded;
  struct tc_error err;
  (void)state;
  describe(&o);
  assert_int_equal(load(&o, &loaded, &err), TC_OK);
  static const char *const reads[] = {"load", "slot", "pointer"};
  for (int i = 0; i < 3; i++) {
    uint64_t out[2] = {0, 0};
    run(loaded, reads[i], out);
    assert_true(out[0] == constant && out[1] == 0);
  }
  uint64_t out[3] = {0, 0, 0};
  run(loaded, "fill", out);
  assert_true(out[0] == 0x0707070707070707u && out[1] == out[0] && out[2] == 0);
  assert_null(device->methods->symbol(device, loaded, "memset"));
  assert_null(device->methods->symbol(device, loaded, "nothing"));
  device->methods->unload(device, loaded);
}

/* No part of a loaded object is writable and executable at once. */
static void test_protection(void **state) {
  struct object o;
  struct tc_loaded *loaded;
  struct tc_error err;
  char line[512];
  (void)state;
  describe(&o);
  assert_int_equal(load(&o, &loaded, &err), TC_OK);
  const uintptr_t code = (uintptr_t)device->methods->symbol(device, loaded, "load");
  FILE *maps = fopen("/proc/self/maps", "r");
  bool found = false;
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps)) {
    unsigned long start, end;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 || code < start || code >= end) continue;
    found = true;
    assert_string_equal(rights, "r-xp");
  }
  fclose(maps);
  assert_true(found);
  device->methods->unload(device, loaded);
}

static void refuse(struct object *o, tc_status want, const char *text_wanted) {
  struct tc_loaded *loaded;
  struct tc_error err;
  assert_int_equal(load(o, &loaded, &err), want);
  if (!strstr(err.message, text_wanted)) fail_msg("\"%s\" says nothing of \"%s\"", err.message, text_wanted);
}

static void test_refusals(void **state) {
  struct object o;
  (void)state;
  describe(&o);
  o.symbols[Y_MEMSET].st_name =
      name_at(names, sizeof names, "fill"); /* an undefined symbol that nobody provides */
  refuse(&o, TC_CODEGEN, "fill");
  describe(&o);
  o.text_relocations[0].r_info = ELF64_R_INFO(Y_RODATA, R_X86_64_TPOFF32);
  refuse(&o, TC_CODEGEN, "relocation type");
  describe(&o);
  o.text_relocations[0].r_info = ELF64_R_INFO(Y_RODATA, R_X86_64_32S);
  refuse(&o, TC_CODEGEN, "relocation type");
  describe(&o);
  o.sections[S_POINTER].sh_name = NAMED(".rodata"); /* writable data under another name */
  refuse(&o, TC_CODEGEN, "writable");
  describe(&o);
  o.text_relocations[0].r_offset = sizeof text - 3;
  refuse(&o, TC_CORRUPT, "outside");
  describe(&o);
  o.text_relocations[0].r_info = ELF64_R_INFO(SYMBOLS, R_X86_64_PC32);
  refuse(&o, TC_CORRUPT, "symbol");
  describe(&o);
  o.symbols[Y_RODATA].st_value = 9;
  refuse(&o, TC_CORRUPT, "section");
  describe(&o);
  o.header.e_machine = EM_AARCH64;
  refuse(&o, TC_CORRUPT, "x86-64");
  describe(&o);
  o.sections[S_TEXT].sh_addralign = 3;
  refuse(&o, TC_CORRUPT, "alignment");
  describe(&o);
  o.sections[S_TEXT].sh_size = OBJECT_BYTES;
  refuse(&o, TC_CORRUPT, "outside");
}

static void try_bytes(const unsigned char *bytes, size_t size) {
  struct tc_loaded *loaded = NULL;
  struct tc_error err;
  unsigned char *copy =
      malloc(size ? size : 1); /* of its own, so that a read past the end is seen by a sanitizer */
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  const struct tc_blob blob = {.bytes = copy, .size = size, .alloc = tc_alloc_system()};
  const tc_status status = device->methods->load(device, &blob, &loaded, &err);
  assert_true(status == TC_OK || status == TC_CORRUPT || status == TC_CODEGEN || status == TC_NOMEM);
  if (status == TC_OK) device->methods->unload(device, loaded);
  free(copy);
}

static void test_truncated(void **state) {
  struct object o;
  (void)state;
  describe(&o);
  const struct tc_blob blob = write_object(&o);
  for (size_t size = 0; size < blob.size; size++) {
    struct tc_loaded *loaded;
    struct tc_error err;
    const struct tc_blob cut = {.bytes = blob.bytes, .size = size, .alloc = blob.alloc};
    assert_int_equal(device->methods->load(device, &cut, &loaded, &err), TC_CORRUPT);
  }
}

static void test_damaged(void **state) {
  enum { TRIALS = 20000 };
  static const uint64_t values[] = {
      0, 1, 0x7F, 0xFF, 0xFFFF, 0xFFFFFFFF, UINT64_MAX, 0x8000000000000000u, 0x7FFFFFFFFFFFFFFFu};
  uint64_t r = 88172645463325252u;
  (void)state;
  for (int trial = 0; trial < TRIALS; trial++) {
    struct object o;
    describe(&o);
    struct tc_blob blob = write_object(&o);
    for (int n = 0; n < 1 + trial % 3; n++) {
      r ^= r << 13, r ^= r >> 7, r ^= r << 17;
      /* Most of the damage goes where structure is. */
      const size_t from = r & 1 ? 0 : (size_t)o.sections[S_RELA_TEXT].sh_offset,
                   span = r & 1 ? sizeof(Elf64_Ehdr) : blob.size - from;
      const size_t at = from + (r >> 8) % span, bytes = (size_t)1 << ((r >> 40) % 4);
      const uint64_t value = r & 2 ? values[(r >> 44) % (sizeof values / sizeof *values)] : r;
      memcpy(blob.bytes + at, &value, at + bytes <= blob.size ? bytes : 1);
    }
    try_bytes(blob.bytes, blob.size);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_relocations), cmocka_unit_test(test_protection), cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_truncated),   cmocka_unit_test(test_damaged),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}

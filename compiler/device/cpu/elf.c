/* Loader of x86-64 ELF relocatable objects from memory: the code that a generator's blob holds.
 *
 * Invariants:
 *  1. No byte of the object is believed before it is checked: every offset, size, index and relocation lies
 *     inside of what it points into (blobs come from a disk cache, and a fuzzer runs over this file).
 *  2. Memory is written or executed, never both: sections are filled while writable, then text becomes
 *     read-execute and the rest read-only. Data that code would write is refused; .data.rel.ro is written by
 *     relocation alone.
 *  3. An object refers to nothing outside but the functions in `externals`.
 * Layout of the mapping: text sections | pages | other sections, then one GOT word and one jump stub for each
 * relocation that may need them (the executable stubs lie at the end of the text pages). */
#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/vec.h"
#include "codegen/slow_path.h"
#include "device/cpu/cpu.h"

enum { STUB_BYTES = 16, GOT_BYTES = 8, MAX_SECTIONS = 4096, MAX_ALIGN = 4096 };

struct symbol {
  const char *name;
  void *address;
};

struct tc_loaded {
  const struct tc_alloc *alloc;
  unsigned char *map;
  size_t map_bytes;
  TC_VEC(struct symbol) symbols; /* defined functions; names point into `names` */
  char *names;
  size_t names_bytes;
};

/* The work of one load. */
struct load {
  const unsigned char *bytes;
  size_t size;
  const Elf64_Shdr *sections;
  unsigned n_sections;
  size_t *place; /* of each section in the mapping; NOWHERE when it is not loaded */
  size_t text_bytes, stubs_at, data_at, got_at, n_got, n_stubs;
  size_t got_used, stubs_used;
  struct tc_loaded *loaded;
  struct tc_error *err;
};

static const size_t NOWHERE = (size_t)-1;

static const struct {
  const char *name;
  void *address;
} externals[] = {{"memcpy", (void *)memcpy},
                 {"memset", (void *)memset},
                 {"memmove", (void *)memmove},
                 {"tc_far_turns_f32", (void *)tc_far_turns_f32},
                 {"tc_far_turns_f64", (void *)tc_far_turns_f64},
                 {"tc_far_rest_f32", (void *)tc_far_rest_f32},
                 {"tc_far_rest_f64", (void *)tc_far_rest_f64}};

static tc_status damaged(struct load *l, const char *what) {
  return tc_fail(l->err, TC_CORRUPT, "cpu", "the code object is damaged: %s", what);
}

static bool inside(const struct load *l, uint64_t offset, uint64_t bytes) {
  return offset <= l->size && bytes <= l->size - offset;
}

static tc_status read_header(struct load *l) {
  if (l->size < sizeof(Elf64_Ehdr)) return damaged(l, "no header");
  if ((uintptr_t)l->bytes % sizeof(uint64_t))
    return damaged(l, "it is not aligned in memory"); /* tables are read where they lie */
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)l->bytes;
  if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
      h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL || h->e_machine != EM_X86_64)
    return damaged(l, "no x86-64 relocatable ELF file");
  if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum == 0 || h->e_shnum > MAX_SECTIONS ||
      h->e_shoff % sizeof(uint64_t))
    return damaged(l, "bad section table");
  if (!inside(l, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
    return damaged(l, "the section table lies outside");
  l->sections = (const Elf64_Shdr *)(const void *)(l->bytes + h->e_shoff);
  l->n_sections = h->e_shnum;
  for (unsigned i = 0; i < l->n_sections; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    if (s->sh_type != SHT_NOBITS && !inside(l, s->sh_offset, s->sh_size))
      return damaged(l, "a section lies outside");
    if (s->sh_addralign > MAX_ALIGN || (s->sh_addralign & (s->sh_addralign - 1)))
      return damaged(l, "bad alignment");
  }
  return TC_OK;
}

static bool is_loaded(const Elf64_Shdr *s) {
  return s->sh_flags & SHF_ALLOC && (s->sh_type == SHT_PROGBITS || s->sh_type == SHT_NOBITS);
}

static const char *section_name(const struct load *l, const Elf64_Shdr *s) {
  const unsigned index = ((const Elf64_Ehdr *)(const void *)l->bytes)->e_shstrndx;
  if (index >= l->n_sections || l->sections[index].sh_type != SHT_STRTAB) return "";
  const Elf64_Shdr *names = &l->sections[index];
  const char *text = (const char *)l->bytes + names->sh_offset;
  return s->sh_name < names->sh_size && text[names->sh_size - 1] == '\0' ? text + s->sh_name : "";
}

static tc_status check_writable(struct load *l) {
  static const char by_relocation[] = ".data.rel.ro";
  for (unsigned i = 0; i < l->n_sections; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    if (!is_loaded(s) || !(s->sh_flags & SHF_WRITE) || s->sh_size == 0) continue;
    const char *name = section_name(l, s);
    if (strncmp(name, by_relocation, sizeof by_relocation - 1) != 0 || s->sh_flags & SHF_TLS)
      return tc_fail(l->err, TC_CODEGEN, "cpu",
                     "generated code has writable data in section '%.64s', which the loader does not support",
                     name);
  }
  return TC_OK;
}

/* A table of fixed-size entries; false when it is none. */
static bool table(const struct load *l, const Elf64_Shdr *s, size_t entry, const void **entries,
                  size_t *count) {
  if (s->sh_entsize != entry || s->sh_size % entry || s->sh_offset % sizeof(uint64_t) ||
      s->sh_type == SHT_NOBITS)
    return false;
  *entries = l->bytes + s->sh_offset;
  *count = s->sh_size / entry;
  return true;
}

static bool wants_got(unsigned type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

static tc_status count_slots(struct load *l) {
  for (unsigned i = 0; i < l->n_sections; i++) {
    const Elf64_Rela *r;
    const void *entries;
    size_t count;
    if (l->sections[i].sh_type != SHT_RELA) continue;
    if (!table(l, &l->sections[i], sizeof *r, &entries, &count)) return damaged(l, "bad relocation table");
    r = entries;
    for (size_t k = 0; k < count; k++) {
      l->n_got += wants_got(ELF64_R_TYPE(r[k].r_info));
      l->n_stubs += ELF64_R_TYPE(r[k].r_info) == R_X86_64_PLT32;
    }
  }
  return TC_OK;
}

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Places the sections whose flags hold (or lack) SHF_EXECINSTR behind `at`; returns the end, or NOWHERE. */
static size_t place_sections(struct load *l, bool text, size_t at, size_t limit) {
  for (unsigned i = 0; i < l->n_sections; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    if (!is_loaded(s) || !!(s->sh_flags & SHF_EXECINSTR) != text) continue;
    at = round_up(at, s->sh_addralign ? s->sh_addralign : 1);
    if (s->sh_size > limit || at > limit - s->sh_size) return NOWHERE;
    l->place[i] = at;
    at += s->sh_size;
  }
  return at;
}

enum { MAP_LIMIT = 1 << 30 }; /* keeps all distances inside 32 bits */

static tc_status map_sections(struct load *l) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (unsigned i = 0; i < l->n_sections; i++) l->place[i] = NOWHERE;
  if (l->n_got > MAP_LIMIT / GOT_BYTES / 4 || l->n_stubs > MAP_LIMIT / STUB_BYTES / 4)
    return damaged(l, "too many relocations");
  const size_t text_end = place_sections(l, true, 0, MAP_LIMIT / 4);
  if (text_end == NOWHERE) return damaged(l, "too large");
  l->stubs_at = round_up(text_end, STUB_BYTES);
  l->text_bytes = round_up(l->stubs_at + l->n_stubs * STUB_BYTES, page);
  l->data_at = l->text_bytes;
  const size_t data_end = place_sections(l, false, l->data_at, MAP_LIMIT / 2 + l->data_at);
  if (data_end == NOWHERE) return damaged(l, "too large");
  l->got_at = round_up(data_end, GOT_BYTES);
  struct tc_loaded *loaded = l->loaded;
  loaded->map_bytes = round_up(l->got_at + l->n_got * GOT_BYTES + 1, page);
  void *map = mmap(NULL, loaded->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    return tc_fail(l->err, TC_NOMEM, "cpu", "no memory for %zu bytes of code", loaded->map_bytes);
  loaded->map = map;
  for (unsigned i = 0; i < l->n_sections; i++)
    if (l->place[i] != NOWHERE && l->sections[i].sh_type == SHT_PROGBITS)
      memcpy(loaded->map + l->place[i], l->bytes + l->sections[i].sh_offset, l->sections[i].sh_size);
  return TC_OK;
}

/* --- symbols --- */

struct symbols {
  const Elf64_Sym *entries;
  size_t count;
  const char *names;
  size_t names_bytes;
};

static tc_status read_symbols(struct load *l, unsigned section, struct symbols *out) {
  const void *entries;
  if (section >= l->n_sections || l->sections[section].sh_type != SHT_SYMTAB ||
      !table(l, &l->sections[section], sizeof(Elf64_Sym), &entries, &out->count))
    return damaged(l, "bad symbol table");
  out->entries = entries;
  const uint32_t link = l->sections[section].sh_link;
  if (link >= l->n_sections || l->sections[link].sh_type != SHT_STRTAB || !l->sections[link].sh_size)
    return damaged(l, "bad string table");
  out->names = (const char *)l->bytes + l->sections[link].sh_offset;
  out->names_bytes = l->sections[link].sh_size;
  return out->names[out->names_bytes - 1] ? damaged(l, "the string table has no end") : TC_OK;
}

static tc_status external_address(struct load *l, const char *name, uint64_t *address) {
  for (size_t i = 0; i < sizeof externals / sizeof *externals; i++)
    if (!strcmp(externals[i].name, name)) return *address = (uint64_t)(uintptr_t)externals[i].address, TC_OK;
  return tc_fail(l->err, TC_CODEGEN, "cpu", "generated code calls '%.64s', which the loader does not provide",
                 name);
}

static tc_status symbol_address(struct load *l, const struct symbols *symbols, uint64_t index,
                                uint64_t *address, bool *external) {
  if (index >= symbols->count) return damaged(l, "a relocation names no symbol");
  const Elf64_Sym *s = &symbols->entries[index];
  *external = s->st_shndx == SHN_UNDEF;
  if (*external) {
    if (s->st_name >= symbols->names_bytes) return damaged(l, "a symbol has no name");
    return external_address(l, symbols->names + s->st_name, address);
  }
  if (s->st_shndx >= l->n_sections || l->place[s->st_shndx] == NOWHERE ||
      s->st_value > l->sections[s->st_shndx].sh_size)
    return damaged(l, "a symbol lies outside of its section");
  *address = (uint64_t)(uintptr_t)l->loaded->map + l->place[s->st_shndx] + s->st_value;
  return TC_OK;
}

static tc_status collect_functions(struct load *l) {
  struct tc_loaded *loaded = l->loaded;
  struct symbols symbols;
  unsigned section = 0;
  while (section < l->n_sections && l->sections[section].sh_type != SHT_SYMTAB) section++;
  tc_status status = read_symbols(l, section, &symbols);
  if (status) return status;
  loaded->names = tc_new_bytes(loaded->alloc, symbols.names_bytes);
  if (!loaded->names) return tc_fail(l->err, TC_NOMEM, "cpu", "no memory for symbols");
  loaded->names_bytes = symbols.names_bytes;
  memcpy(loaded->names, symbols.names, symbols.names_bytes);
  for (size_t i = 0; i < symbols.count && !status; i++) {
    const Elf64_Sym *s = &symbols.entries[i];
    uint64_t address;
    bool external;
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF) continue;
    if (s->st_name >= symbols.names_bytes) return damaged(l, "a symbol has no name");
    status = symbol_address(l, &symbols, i, &address, &external);
    const struct symbol function = {loaded->names + s->st_name, (void *)(uintptr_t)address};
    if (!status && !tc_vec_push(loaded->alloc, &loaded->symbols, function))
      status = tc_fail(l->err, TC_NOMEM, "cpu", "no memory for symbols");
  }
  return status;
}

/* --- relocations --- */

static uint64_t make_stub(struct load *l, uint64_t target) {
  static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip), the address behind it */
  unsigned char *stub = l->loaded->map + l->stubs_at + STUB_BYTES * l->stubs_used++;
  memcpy(stub, jump, sizeof jump);
  memcpy(stub + sizeof jump, &target, sizeof target);
  return (uint64_t)(uintptr_t)stub;
}

static uint64_t make_got(struct load *l, uint64_t target) {
  unsigned char *slot = l->loaded->map + l->got_at + GOT_BYTES * l->got_used++;
  memcpy(slot, &target, sizeof target);
  return (uint64_t)(uintptr_t)slot;
}

static tc_status store32(struct load *l, unsigned char *at, int64_t value) {
  if (value < INT32_MIN || value > INT32_MAX) return damaged(l, "a relocation does not fit");
  const int32_t narrow = (int32_t)value;
  memcpy(at, &narrow, sizeof narrow);
  return TC_OK;
}

static tc_status relocate(struct load *l, const struct symbols *symbols, unsigned target,
                          const Elf64_Rela *r) {
  const unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
  const size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? sizeof(uint64_t) : sizeof(uint32_t);
  if (type == R_X86_64_NONE) return TC_OK;
  if (r->r_offset > l->sections[target].sh_size || width > l->sections[target].sh_size - r->r_offset)
    return damaged(l, "a relocation lies outside");
  uint64_t address;
  bool external;
  const tc_status status = symbol_address(l, symbols, ELF64_R_SYM(r->r_info), &address, &external);
  if (status) return status;
  if (type == R_X86_64_PLT32 && external) address = make_stub(l, address);
  if (wants_got(type)) address = make_got(l, address);
  unsigned char *at = l->loaded->map + l->place[target] + r->r_offset;
  const uint64_t absolute = address + (uint64_t)r->r_addend, relative = absolute - (uint64_t)(uintptr_t)at;
  switch (type) {
    case R_X86_64_64: memcpy(at, &absolute, sizeof absolute); return TC_OK;
    case R_X86_64_PC64: memcpy(at, &relative, sizeof relative); return TC_OK;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: return store32(l, at, (int64_t)relative);
    default:
      return tc_fail(l->err, TC_CODEGEN, "cpu",
                     "generated code needs relocation type %u, which the loader does not know", type);
  }
}

static tc_status relocate_all(struct load *l) {
  for (unsigned i = 0; i < l->n_sections; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    const void *entries;
    size_t count;
    struct symbols symbols;
    if (s->sh_type != SHT_RELA) continue;
    if (s->sh_info >= l->n_sections) return damaged(l, "a relocation table has no section");
    if (l->place[s->sh_info] == NOWHERE) continue;
    if (!table(l, s, sizeof(Elf64_Rela), &entries, &count)) return damaged(l, "bad relocation table");
    tc_status status = read_symbols(l, s->sh_link, &symbols);
    for (size_t k = 0; k < count && !status; k++)
      status = relocate(l, &symbols, s->sh_info, (const Elf64_Rela *)entries + k);
    if (status) return status;
  }
  return TC_OK;
}

static tc_status protect(struct load *l) {
  unsigned char *map = l->loaded->map;
  const size_t data_bytes = l->loaded->map_bytes - l->data_at;
  if ((l->text_bytes && mprotect(map, l->text_bytes, PROT_READ | PROT_EXEC)) ||
      mprotect(map + l->data_at, data_bytes, PROT_READ))
    return tc_fail(l->err, TC_DEVICE, "cpu", "the system refuses executable memory");
  return TC_OK;
}

static tc_status load_object(struct load *l) {
  tc_status status = check_writable(l);
  if (!status) status = count_slots(l);
  if (!status) status = map_sections(l);
  if (!status) status = collect_functions(l);
  if (!status) status = relocate_all(l);
  return status ? status : protect(l);
}

tc_status tc_cpu_load(struct tc_device *device, const struct tc_blob *blob, struct tc_loaded **out,
                      struct tc_error *err) {
  const struct tc_alloc *alloc = tc_cpu_of(device)->alloc;
  struct load l = {.bytes = blob->bytes, .size = blob->size, .err = err};
  tc_status status = read_header(&l);
  if (status) return status;
  l.loaded = TC_NEW(alloc, struct tc_loaded);
  l.place = TC_NEW_ARRAY(alloc, size_t, l.n_sections);
  if (!l.loaded || !l.place) {
    status = tc_fail(err, TC_NOMEM, "cpu", "no memory to load code");
  } else {
    l.loaded->alloc = alloc;
    status = load_object(&l);
  }
  if (l.place) tc_free_bytes(alloc, l.place, l.n_sections * sizeof *l.place);
  if (!status)
    *out = l.loaded;
  else if (l.loaded) {
    l.loaded->alloc = alloc;
    tc_cpu_unload(device, l.loaded);
  }
  return status;
}

const struct tc_kernel_handle *tc_cpu_symbol(struct tc_device *device, struct tc_loaded *loaded,
                                             const char *name) {
  (void)device;
  for (size_t i = 0; i < loaded->symbols.len; i++)
    if (!strcmp(loaded->symbols.data[i].name, name))
      return (const struct tc_kernel_handle *)(uintptr_t)loaded->symbols.data[i].address;
  return NULL;
}

void tc_cpu_unload(struct tc_device *device, struct tc_loaded *loaded) {
  (void)device;
  const struct tc_alloc *alloc = loaded->alloc;
  if (loaded->map) munmap(loaded->map, loaded->map_bytes);
  tc_vec_free(alloc, &loaded->symbols);
  tc_free_bytes(alloc, loaded->names, loaded->names_bytes);
  TC_FREE(alloc, loaded);
}

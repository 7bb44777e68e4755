#include "elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "margay/base/descriptor.h"

namespace margay::lttng_rules {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;
constexpr std::uint64_t kLargestTable = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostHeaders = 1 << 16;

struct Elf32Types {
  using Header = Elf32_Ehdr;
  using Section = Elf32_Shdr;
  using Segment = Elf32_Phdr;
  using Symbol = Elf32_Sym;
};
struct Elf64Types {
  using Header = Elf64_Ehdr;
  using Section = Elf64_Shdr;
  using Segment = Elf64_Phdr;
  using Symbol = Elf64_Sym;
};

// All of it, or false.
bool read_at(int file, std::uint64_t offset, void* to, std::size_t size) {
  char* out = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::pread(file, out, size, static_cast<off_t>(offset));
    if (got <= 0) return false;
    out += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool is_within(std::uint64_t offset, std::uint64_t size, std::uint64_t file_size) {
  return size <= kLargestTable && offset <= file_size && size <= file_size - offset;
}

template <class Entry>
std::optional<std::vector<Entry>> read_table(int file, std::uint64_t file_size, std::uint64_t offset,
                                             std::uint64_t count) {
  if (!is_within(offset, count * sizeof(Entry), file_size)) return std::nullopt;
  std::vector<Entry> out(count);
  if (count > 0 && !read_at(file, offset, out.data(), count * sizeof(Entry))) return std::nullopt;
  return out;
}

constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

}  // namespace

std::optional<ElfFile> ElfFile::read(const std::string& path, std::size_t most) {
  // A pipe or a device is not waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  unsigned char ident[EI_NIDENT];
  if (size > kLargestFile || !read_at(file.get(), 0, ident, sizeof ident)) return std::nullopt;
  if (std::memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != kByteOrder) return std::nullopt;
  ElfFile elf;
  const bool read = ident[EI_CLASS] == ELFCLASS64   ? elf.load<Elf64Types>(file.get(), size, most)
                    : ident[EI_CLASS] == ELFCLASS32 ? elf.load<Elf32Types>(file.get(), size, most)
                                                    : false;
  if (!read) return std::nullopt;
  elf.sort();
  return elf;
}

template <class Types>
bool ElfFile::load(int file, std::uint64_t file_size, std::size_t most) {
  typename Types::Header header;
  if (!read_at(file, 0, &header, sizeof header)) return false;
  if (header.e_shentsize != sizeof(typename Types::Section) ||
      header.e_phentsize != sizeof(typename Types::Segment))
    return false;
  is_moved_ = header.e_type == ET_DYN;
  const auto segments = read_table<typename Types::Segment>(file, file_size, header.e_phoff, header.e_phnum);
  const auto sections = read_table<typename Types::Section>(
      file, file_size, header.e_shoff, std::min<std::uint64_t>(header.e_shnum, kMostHeaders));
  if (!segments || !sections) return false;
  const auto first =
      std::find_if(segments->begin(), segments->end(), [](const auto& s) { return s.p_type == PT_LOAD; });
  if (first != segments->end()) first_ = first->p_vaddr & ~std::uint64_t{4095};
  // All symbols where they were kept, else those for linking at run time.
  for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM})
    for (const auto& section : *sections)
      if (section.sh_type == type && section.sh_link < sections->size())
        return load_symbols<Types>(file, file_size, section, (*sections)[section.sh_link], most);
  return true;
}

template <class Types>
bool ElfFile::load_symbols(int file, std::uint64_t file_size, const typename Types::Section& symbols,
                           const typename Types::Section& names, std::size_t most) {
  using Symbol = typename Types::Symbol;
  const auto table = read_table<Symbol>(file, file_size, symbols.sh_offset, symbols.sh_size / sizeof(Symbol));
  if (!table || !is_within(names.sh_offset, names.sh_size, file_size)) return false;
  names_.resize(names.sh_size);
  if (!read_at(file, names.sh_offset, names_.data(), names_.size())) return false;
  for (const Symbol& symbol : *table) {
    const unsigned type = symbol.st_info & 0xfU;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= names_.size() || names_[symbol.st_name] == '\0') continue;
    if (functions_.size() == most) return false;
    functions_.push_back(
        {symbol.st_value, symbol.st_size, symbol.st_name, (symbol.st_info >> 4U) == STB_GLOBAL});
  }
  return true;
}

// Of several names of one address the global one, the one of a known size, the first.
void ElfFile::sort() {
  std::stable_sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.global != b.global) return a.global;
    return a.size > b.size;
  });
  functions_.erase(std::unique(functions_.begin(), functions_.end(),
                               [](const Function& a, const Function& b) { return a.begin == b.begin; }),
                   functions_.end());
  functions_.shrink_to_fit();
}

std::string ElfFile::find(std::uint64_t base, std::uint64_t address) const {
  const std::uint64_t at = is_moved_ ? address - base + first_ : address;
  const auto after = std::upper_bound(functions_.begin(), functions_.end(), at,
                                      [](std::uint64_t a, const Function& f) { return a < f.begin; });
  if (after == functions_.begin()) return "";
  const Function& f = *std::prev(after);
  if (f.size != 0 && at - f.begin >= f.size) return "";
  const std::size_t end = names_.find('\0', f.name);
  return names_.substr(f.name, end == std::string::npos ? end : end - f.name);
}

}  // namespace margay::lttng_rules

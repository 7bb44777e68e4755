#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "elf_file.h"
#include "margay/lttng_rules/symbols.h"

namespace margay::lttng_rules {
namespace {

constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostOfFile = std::size_t{1} << 20;
constexpr std::size_t kMostOfAll = std::size_t{1} << 22;
constexpr std::size_t kLongestMangled = 4096;

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kLongestMangled) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

}  // namespace

struct ElfSymbols::Files {
  std::map<std::string, std::optional<ElfFile>, std::less<>> by_path;
  std::size_t functions = 0;
};

ElfSymbols::ElfSymbols() : files_(std::make_unique<Files>()) {}
ElfSymbols::~ElfSymbols() = default;

std::string ElfSymbols::find(std::string_view path, std::uint64_t base, std::uint64_t address) {
  auto file = files_->by_path.find(path);
  if (file == files_->by_path.end()) {
    // "[linux-vdso.so.1]" is no file.
    if (!path.starts_with('/') || files_->by_path.size() >= kMostFiles) return "";
    const std::size_t left = kMostOfAll - files_->functions;
    const std::string name(path);
    file = files_->by_path.emplace(name, ElfFile::read(name, std::min(left, kMostOfFile))).first;
    if (file->second) files_->functions += file->second->functions();
  }
  return file->second ? demangled(file->second->find(base, address)) : "";
}

}  // namespace margay::lttng_rules

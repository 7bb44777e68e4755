// Which leaf an access is of: one for each page, each structure that has a part of it, and each thread. Pure.
//
// Thread safety: none. Cost: one look-up in a small table where a page was accessed lately, else one in a
// hash table. Memory: some 300 bytes a leaf, kMostLeaves at most.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "margay/base/result.h"
#include "memory_structures.h"

namespace margay::trace::memory {

// A process of which nothing is said, where a trace has only one.
inline constexpr std::uint32_t kOnlySpace = 0;

class Pages {
 public:
  static constexpr std::size_t kMostLeaves = 65'536;

  struct Page {
    std::uint64_t number = 0;  // address / size of a page
    std::uint32_t space = kOnlySpace;
    std::uint32_t first_leaf = kNobody;
    // In the slice `sharing_of` (a count): the first thread, and whether there was another one.
    std::uint64_t sharing_of = 0;
    std::uint32_t thread = kNobody;
    bool shared = false;
    bool whole = true;                  // all of it is of `structure` (or of none)
    std::uint32_t structure = kNobody;  // of the first byte
  };
  struct Leaf {
    std::uint32_t page = 0, thread = kNobody, structure = kNobody, next = kNobody;
  };

  // `page_bytes` is a power of two. `structures` outlives it.
  Pages(std::uint64_t page_bytes, const Structures& structures);

  // The page of an address, made if need be. Only the pages of leaves stay.
  std::uint32_t page_of(std::uint64_t address, std::uint32_t space) {
    const std::uint64_t number = address >> shift_;
    const Recent& recent = recent_[slot_of(number, space)];
    if (recent.page != kNobody && recent.number == number && recent.space == space) return recent.page;
    return look_up(number, space);
  }
  std::uint32_t structure_of(std::uint32_t page, std::uint64_t address) const {
    const Page& p = pages_[page];
    return p.whole ? p.structure : look_for_structure(address);
  }
  // kNobody: there is none yet.
  std::uint32_t find(std::uint32_t page, std::uint32_t thread, std::uint32_t structure) const {
    std::uint32_t l = pages_[page].first_leaf;
    while (l != kNobody && (leaves_[l].thread != thread || leaves_[l].structure != structure))
      l = leaves_[l].next;
    return l;
  }
  // REQUIRES: find() gave kNobody. Errors: kLimit, with the size of pages that would help.
  Result<std::uint32_t> add(std::uint32_t page, std::uint32_t thread, std::uint32_t structure);

  Page& operator[](std::uint32_t page) { return pages_[page]; }
  const Page& operator[](std::uint32_t page) const { return pages_[page]; }
  std::size_t size() const { return pages_.size(); }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  std::uint64_t page_bytes() const { return std::uint64_t{1} << shift_; }
  const Structures& structures() const { return structures_; }

 private:
  struct Key {
    std::uint64_t number;
    std::uint32_t space;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      const std::uint64_t h = (k.number ^ (std::uint64_t{k.space} << 44)) * 0x9e3779b97f4a7c15ull;
      return h ^ (h >> 32);
    }
  };
  struct Recent {
    std::uint64_t number = 0;
    std::uint32_t space = 0, page = kNobody;
  };
  static constexpr std::size_t kRecent = 1024;

  static std::size_t slot_of(std::uint64_t number, std::uint32_t space) {
    return (number ^ (number >> 10) ^ space) & (kRecent - 1);
  }
  std::uint32_t look_up(std::uint64_t number, std::uint32_t space);
  std::uint32_t look_for_structure(std::uint64_t address) const;
  std::string too_many() const;

  const unsigned shift_;
  const Structures& structures_;
  std::array<Recent, kRecent> recent_{};
  std::unordered_map<Key, std::uint32_t, Hash> by_number_;
  std::vector<Page> pages_;
  std::vector<Leaf> leaves_;
};

// "4 KiB", "64 B": sizes of pages.
std::string page_text(std::uint64_t bytes);

}  // namespace margay::trace::memory

// What the leaves of memory are called: the artificial hierarchy of addresses (MEMORY.md). Pure.
//
// First the structure, or a *chunk* (touched pages, less than kChunkGap between one and the next); then
// halves: pages are counted from the begin of the structure or chunk, and a range of 2^k of them, from a
// multiple of 2^k, is a node where both of its halves were touched; then the page; then the thread.
//
// Cost: O(leaves * log) and the attributes. Thread safety: pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/model/hierarchy.h"
#include "memory_pages.h"

namespace margay::trace::memory {

inline constexpr std::uint64_t kChunkGap = 1 << 20;  // bytes

// Who accesses, as the trace says it.
struct Thread {
  std::string name;     // a number, or any text
  std::string program;  // "": not said

  std::string shown() const {
    const bool number = name.find_first_not_of("0123456789") == std::string::npos;
    return number ? "tid" + name : name;
  }
};

struct Names {
  std::vector<Thread> threads;
  std::vector<std::string> spaces;  // ids of processes; one or none: they are not told
};

// Gives each leaf's attributes to `take`, leaves of one structure one after the other. Errors: those of
// `take`.
Status describe(const Pages& pages, const Names& names,
                const std::function<Status(std::uint32_t leaf, const model::Attributes&)>& take);

}  // namespace margay::trace::memory

#include "memory_pages.h"

#include <bit>
#include <iterator>
#include <set>
#include <tuple>

#include "margay/base/text.h"

namespace margay::trace::memory {

std::string page_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t u = 0;
  for (; bytes >= 1024 && bytes % 1024 == 0 && u + 1 < std::size(kUnits); ++u) bytes /= 1024;
  return std::to_string(bytes) + kUnits[u];
}

Pages::Pages(std::uint64_t page_bytes, const Structures& structures)
    : shift_(static_cast<unsigned>(std::countr_zero(page_bytes))), structures_(structures) {}

std::uint32_t Pages::look_up(std::uint64_t number, std::uint32_t space) {
  const auto [at, fresh] =
      by_number_.try_emplace(Key{number, space}, static_cast<std::uint32_t>(pages_.size()));
  if (fresh) {
    Page page;
    page.number = number;
    page.space = space;
    const std::uint64_t begin = number << shift_, last = begin + (page_bytes() - 1);
    const auto inside = structures_.within(begin, last);
    if (!inside.empty()) {
      page.whole = inside.front().begin <= begin && inside.front().end > last;
      if (page.whole) page.structure = inside.front().structure;
    }
    pages_.push_back(page);
  }
  recent_[slot_of(number, space)] = {number, space, at->second};
  return at->second;
}

std::uint32_t Pages::look_for_structure(std::uint64_t address) const {
  const auto here = structures_.within(address, address);
  return here.empty() ? kNobody : here.front().structure;
}

Result<std::uint32_t> Pages::add(std::uint32_t page, std::uint32_t thread, std::uint32_t structure) {
  if (leaves_.size() >= kMostLeaves) return fail(ErrorCode::kLimit, too_many());
  const auto leaf = static_cast<std::uint32_t>(leaves_.size());
  leaves_.push_back({page, thread, structure, pages_[page].first_leaf});
  pages_[page].first_leaf = leaf;
  return leaf;
}

// The smallest pages with which what is there would take at most half of the room.
std::string Pages::too_many() const {
  std::string out = "more than 65,536 leaves: pages of " + page_text(page_bytes()) +
                    ", each for every thread and structure that it is of";
  for (unsigned more = 1; shift_ + more <= 40; ++more) {
    std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>> there;
    for (const Leaf& l : leaves_)
      there.emplace(pages_[l.page].number >> more, pages_[l.page].space, l.thread, l.structure);
    if (there.size() <= kMostLeaves / 2)
      return out + "; expected larger ones: with --page " + page_text(page_bytes() << more) +
             " what was read so far takes " + grouped(there.size());
  }
  return out + "; expected fewer threads or structures";
}

}  // namespace margay::trace::memory

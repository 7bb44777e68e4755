// How long visits to a state were lately, of all leaves of a coupled job together, whatever its mode was and
// whoever was suspect, as far as the mode knew anything of them. Pure.
//
// What is usual is known of each mode, and a mode is what the job as a whole does. Where a long piece of work
// goes through the machine, one part after the other (the ends of a sweep over many ranks are slices apart),
// it comes in modes that know nothing of it; and who is blamed for it is not learned from, so that it would
// be told again and again. But what most leaves have shown lately, and 16 of them, is what the program does:
// few ranks are no wave.
//
// Lately: the last 64 to 128 slices. Cost: of a visit a few ns, of one that is asked for O(bins), of a slice
// O(kinds * bins), of each 64 O(leaves * kinds). Memory: 4 bytes a leaf and kind, and 3 KiB a kind. Thread
// safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "usual_lengths.h"

namespace margay::detect {

class LengthsLately {
 public:
  // Of so many kinds for each column, as in UsualLengths.
  explicit LengthsLately(std::size_t lengths) : lengths_of_column_(lengths) {}
  // There are so many of either; they keep their numbers.
  void reach(std::size_t leaves, std::size_t columns);
  // The part of visits that are as long, where most leaves had such a one, and 16 of them; 0: they had not.
  double part(std::uint32_t kind, float log) const;
  // A slice is over in which these ended. By leaf: it is there.
  void add(std::span<const UsualLengths::Visit> visits, const std::vector<char>& there);
  void forget() { kinds_.assign(kinds_.size(), {}), leaves_ = 0; }

 private:
  using Counts = std::array<std::uint32_t, UsualLengths::kBins>;  // by length
  struct Kind {
    Counts now{}, before{};                   // visits
    std::uint64_t visits = 0;                 // of both
    std::vector<std::uint16_t> newest, most;  // by leaf: the longest that it had now, and in both
    Counts leaves{};                          // of these
    std::uint16_t longest = 0;                // of all
    std::uint16_t common = 0;                 // most leaves had one so long; 0: none
  };
  std::size_t lengths_of_column_, columns_ = 0, leaves_ = 0;
  std::vector<Kind> kinds_;
  std::int64_t slices_ = 0;
};

}  // namespace margay::detect

// How long visits to a state were lately, of all leaves of a coupled job together, whatever its mode was and
// whoever was suspect. Pure.
//
// What is usual is known of each mode, and a mode is what the job as a whole does. Where a long piece of work
// goes through the machine, one part after the other (the ends of a sweep over many ranks are slices apart),
// it comes in modes that know nothing of it; and who is blamed for it is not learned from, so that it would
// be told again and again. But what most leaves have shown lately, and 16 of them, is what the program does:
// few ranks are no wave.
//
// Lately: the last 64 to 128 slices. Cost: of a visit a few ns, of one that is asked for some 100; each 64
// slices O(leaves * kinds). Memory: 2 bytes a leaf and kind, and 3 KiB a kind. Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace margay::detect {

class LengthsLately {
 public:
  // There are so many leaves, and kinds of length; they keep their numbers.
  void reach(std::size_t leaves, std::size_t kinds);
  // A visit ended; the logarithm of its length.
  void see(std::uint32_t leaf, std::uint32_t kind, float log) {
    Kind& k = kinds_[kind];
    const std::uint8_t bin = bin_of(log);
    k.now[bin] += 1, k.visits += 1;
    k.newest[leaf] = std::max(k.newest[leaf], bin);
    if (bin <= k.most[leaf]) return;
    k.longest = std::max(k.longest, bin);
    k.leaves[k.most[leaf]] -= 1, k.leaves[bin] += 1;
    k.most[leaf] = bin;
  }
  // The part of visits that are as long, where most leaves had such a one, and 16 of them; 0: they had not.
  double part(std::uint32_t kind, float log) const;
  // By leaf: it is there.
  void end_slice(const std::vector<char>& there);

 private:
  // As in usual_lengths.h: eight to a factor of e, from e^-14 slices on; what is shorter is in the first.
  static std::uint8_t bin_of(float log) {
    return static_cast<std::uint8_t>(std::clamp((log + 14) * 8, 0.0f, 255.0f));
  }
  using Counts = std::array<std::uint32_t, 256>;
  struct Kind {
    Counts now{}, before{};                  // visits
    std::uint64_t visits = 0;                // of both
    std::vector<std::uint8_t> newest, most;  // by leaf: the longest that it had now, and in both
    Counts leaves{};                         // of these
    std::uint8_t longest = 0;                // of all
    std::uint8_t common = 0;                 // most leaves had one so long; 0: none
  };
  std::vector<Kind> kinds_;
  std::int64_t slices_ = 0;
};

}  // namespace margay::detect

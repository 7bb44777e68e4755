// Errors of our own amid the analysis (an exception: no memory, a mistake of ours): each is counted, and said
// at most once a minute; slices amid which it failed are not shown to it again. Thread safety: none.
#pragma once

#include <cstdint>
#include <exception>
#include <set>
#include <string>

#include "margay/base/ids.h"
#include "margay/observe/counters.h"

namespace margay::daemon {

class AnalysisFailures {
 public:
  // False: `work` threw; what it had not done yet is left.
  template <class Work>
  bool survive(const char* doing, TimeNs now, Work&& work) {
    try {
      work();
      return true;
    } catch (const std::exception& e) {
      met(doing, e, now);
    }
    return false;
  }
  // The analysis failed amid this slice; `where`: a noun phrase.
  void amid_slice(SliceIndex slice, const std::string& where, const std::string& what, TimeNs now);
  void amid(const std::string& where, const std::string& what, TimeNs now);
  bool skips(SliceIndex slice) const { return skipped_.contains(slice); }
  // So many more that it does not know any more.
  void forgotten(std::uint64_t slices) { not_analysed_ += slices; }
  void set(observe::Values& values) const;

 private:
  static constexpr std::size_t kMostSkipped = 1024;
  void met(const char* doing, const std::exception& e, TimeNs now);
  void say(const std::string& sentence, TimeNs now);

  std::set<SliceIndex> skipped_;
  std::uint64_t not_analysed_ = 0, failures_ = 0;
  std::string last_;  // a sentence
  TimeNs next_said_{};
};

}  // namespace margay::daemon

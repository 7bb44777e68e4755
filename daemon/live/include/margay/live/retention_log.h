// Into the log: when retention begins, and when even that is not enough. Thread safety: none.
#pragma once

#include "margay/settings/options.h"
#include "margay/store/retention_manager.h"

namespace margay::daemon {

class RetentionLog {
 public:
  explicit RetentionLog(const Options& options) : options_(options) {}
  void look(const store::RetentionReport& report);

 private:
  const Options& options_;
  std::uint64_t times_ = 0;  // that retention worked, as far as it was told
  bool full_ = false;
};

}  // namespace margay::daemon

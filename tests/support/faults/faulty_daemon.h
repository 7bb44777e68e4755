// A margayd with libmargay-faults.so before it: started, told what shall go wrong (page.h), waited for,
// started again.
//
// Thread safety: none. Ownership: ends its daemon when it goes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "page.h"

namespace margay::test {

class FaultyDaemon {
 public:
  // `arguments` begin with the program; --restarts is added. Its words go to the file `log`.
  // Errors: kIo (page file).
  static Result<FaultyDaemon> make(std::vector<std::string> arguments, const std::string& library,
                                   const std::string& page_path, const std::string& archive, TimeNs realtime,
                                   std::string log);
  FaultyDaemon(FaultyDaemon&& o) noexcept;
  FaultyDaemon(const FaultyDaemon&) = delete;
  FaultyDaemon& operator=(const FaultyDaemon&) = delete;
  FaultyDaemon& operator=(FaultyDaemon&&) = delete;
  ~FaultyDaemon();

  void start();
  bool running() const { return pid_ > 0; }
  // Looks whether it has ended: its wait status, once.
  std::optional<int> ended();
  // SIGTERM; true when it ends with 0 within `patience`.
  bool end(DurationNs patience);
  std::uint32_t restarts() const { return starts_ == 0 ? 0 : starts_ - 1; }

  faults_page& page() { return *page_; }
  // Makes the kill order that stands in the page valid.
  void arm();
  void disarm();
  bool armed() const { return page_->kill_order != page_->killed_order; }

 private:
  FaultyDaemon() = default;
  std::vector<std::string> arguments_;
  std::string library_, page_path_, log_;
  faults_page* page_ = nullptr;
  pid_t pid_ = -1;
  std::uint32_t starts_ = 0;
};

}  // namespace margay::test

// Which sink has had which alert: a file of JSON lines in the run's archive, so that a daemon that is started
// again does not send twice.
//
//   {"sink":"webhook","since_ns":1700000000000000000}          this sink is used since then (wall clock)
//   {"sink":"webhook","id":"...","status":"firing","fate":"sent"}      or "given_up"
//
// A line is written when the other side has taken the alert; killed in between, the next daemon sends it once
// more. Bounded: kMostRemembered lines count, the newest; a file with more than twice as many is written
// anew. Not synced: after a crash of the machine its last lines may be missing.
//
// Cost: one write(2) a line. Errors are kept, never thrown: what could not be written is remembered in memory
// alone. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "margay/base/recent_set.h"
#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::sinks {

class DeliveryLog {
 public:
  static constexpr std::size_t kMostRemembered = 65'536;
  static constexpr std::size_t kLongestLine = 4096;
  static constexpr std::size_t kMostSinks = 64;

  // Reads what stands there; a file that cannot be read or written is said in trouble(), and counts as empty.
  explicit DeliveryLog(const std::string& path);
  DeliveryLog(const DeliveryLog&) = delete;
  DeliveryLog& operator=(const DeliveryLog&) = delete;
  ~DeliveryLog();

  // Since when this sink is used in this run: `now` (wall clock) if it has not been before.
  TimeNs since(const std::string& sink, TimeNs now);
  bool had(const std::string& sink, const std::string& id, const std::string& status) const;
  void note(const std::string& sink, const std::string& id, const std::string& status, bool sent);
  const std::string& trouble() const { return trouble_; }  // a sentence, or ""

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // sink, id, status
  void read();
  void write_anew();
  void open();
  void append(const std::string& line);

  const std::string path_;
  std::size_t lines_ = 0;
  int fd_ = -1;
  bool cut_ = false;  // the file ends in the middle of a line
  RecentSet<Key> had_{kMostRemembered};
  std::map<std::string, TimeNs> since_;
  std::string trouble_;
};

}  // namespace margay::sinks

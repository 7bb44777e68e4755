// From the analyst's alerts to the archive and to the sinks: each word once, over restarts and over an
// analysis that is made anew; what people have said about alerts holds them back
// (alert/notification_policy.h).
//
// Thread safety: none; its sinks have threads of their own.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/alert/jsonl_sink.h"
#include "margay/alert/notification_policy.h"
#include "margay/analysis/exchange.h"
#include "margay/base/recent_set.h"
#include "margay/observe/counters.h"
#include "margay/settings/options.h"
#include "margay/sinks/dispatcher.h"

namespace margay::daemon {

class AlertNotifier {
 public:
  // `resume`: of the archive, for what has been said to whom. `clock` must outlive it. Errors: kIo, and those
  // of the sinks.
  static Result<std::unique_ptr<AlertNotifier>> make(const Options& options, const store::Resume& resume,
                                                     const Clock& clock);
  void start();
  void stop();

  // What the archive has of alerts is not new. Returns them, by id/step, as they were said then.
  using Said = std::map<std::string, alert::Alert>;
  Said recall(const store::Resume& resume);

  struct How {
    bool past = false;  // looked back on: viewers see it again, in its place
    bool anew = false;  // by an analysis that is made anew: what was said before has had its way to people
    const Said* said = nullptr;  // of `past`
  };
  // New alerts, and new words about them, go into `findings` and to the sinks. True: there were new ones. The
  // alerts are as they were said first.
  bool take(std::vector<alert::Alert>& alerts, const How& how, Findings& findings);
  // Alerts that no silence holds any more are told; what people have said since goes into `findings`.
  void settle(Findings& findings);

  alert::NotificationPolicy& policy() { return policy_; }
  const alert::NotificationPolicy& policy() const { return policy_; }
  // Why what people said is left as it is in the archive, or "".
  const std::string& handling_trouble() const { return handling_trouble_; }
  void note_handling(Findings& findings);
  std::uint64_t raised() const { return ids_.inserted() + before_; }  // alerts of this run
  void set(observe::Values& values) const;

 private:
  static constexpr std::size_t kMostRemembered = 65'536;
  AlertNotifier(const store::Resume& resume, const Clock& clock);
  void take_handling(const store::Resume& resume);
  void deliver(const alert::Alert& alert, bool known, bool past);

  const Clock& clock_;
  RecentSet<std::string> known_{kMostRemembered};       // id/step, already in the archive
  std::map<std::string, std::uint64_t> known_updates_;  // by id: updates in the archive, if any
  RecentSet<std::string> ids_{kMostRemembered};         // fired in this run
  std::uint64_t before_ = 0;                            // of this run, that were not loaded
  std::uint64_t updates_said_ = 0;
  alert::NotificationPolicy policy_;
  std::string handling_trouble_;
  std::uint64_t handling_noted_ = 0;
  std::optional<alert::JsonlSink> file_;
  std::unique_ptr<sinks::Dispatcher> dispatcher_;  // nullptr: no other sinks
};

}  // namespace margay::daemon

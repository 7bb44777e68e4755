// Alerts to send, a folder, and patience, for tests of the sinks.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "../../support/temporary_folder.h"
#include "margay/sinks/sink.h"

namespace margay::sinks {

inline alert::Alert an_alert(const std::string& id, alert::Status status = alert::Status::kFiring) {
  alert::Alert a;
  a.id = id;
  a.run = "night";
  a.status = status;
  a.onset = SystemClock().realtime() - seconds(2);
  a.detected = a.onset + milliseconds(300);
  a.node = "/h1";
  a.likely_cause = a.resources = {"/h1/rank3", "/h1/rank4"};
  a.affected = {"/h1"};
  a.phase = "B";
  a.cost_s = 0.25;
  a.false_alarms_per_day = 0.03;
  a.message = "rank3 on h1 has been stopped for 0.2 s";
  if (status == alert::Status::kResolved) a.end = a.onset + seconds(1);
  return a;
}

inline std::shared_ptr<Notice> a_notice(const std::string& id,
                                        alert::Status status = alert::Status::kFiring) {
  auto n = std::make_shared<Notice>();
  n->alert = an_alert(id, status);
  n->node = n->alert.node;
  n->began = n->alert.onset;
  n->end = n->alert.end;
  n->link = "margay:///data/night.margay#t=1.2-4.4";
  return n;
}

// False after half a minute: a hang, not a slow machine.
inline bool soon(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Until it has come to an end.
inline Outcome outcome_of(Sink& sink) {
  std::optional<Outcome> o;
  EXPECT_TRUE(soon([&] { return (o = sink.progress(SystemClock().monotonic())).has_value(); }));
  return o.value_or(Outcome{Outcome::Kind::kRetry, "never ended", {}});
}
inline Outcome send(Sink& sink, const Notice& notice) {
  sink.begin(notice, SystemClock().monotonic());
  return outcome_of(sink);
}

class InAFolder : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string file(const std::string& name, const std::string& text,
                   std::filesystem::perms mode = std::filesystem::perms::owner_all) const {
    std::ofstream(path(name)) << text;
    std::filesystem::permissions(path(name), mode);
    return path(name);
  }
  std::string content(const std::string& name) const {
    std::ifstream in(path(name));
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  const test::TemporaryFolder folder_;
};

}  // namespace margay::sinks

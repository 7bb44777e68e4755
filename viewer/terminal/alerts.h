// Reads the alerts of a report (untrusted) into sentences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "margay/wire/report.pb.h"

namespace margay::terminal {

// All texts are printable (Unicode).
struct AlertView {
  std::string id;  // never empty
  std::string kind;
  std::string where;     // "rank3 on node1", "rank1, rank2 and 14 more", or the node
  std::string sentence;  // what a person reads
  // What it claims, a line each: what it has cost, who caused it how probably, false alarms a day. "" of an
  // older daemon's.
  std::string details;
  // Raw, never printed: those that are blamed, or where that is nobody the node; and the node that covers it.
  std::vector<std::string> paths;
  std::string node;
  bool firing = true;
  std::int64_t onset_ns = 0;
  std::optional<std::int64_t> end_ns;
  std::int64_t emitted_ns = 0;
  double score_bits = 0;
  bool acknowledged = false;
  std::string acknowledged_by, comment;
  std::string silenced_by;  // the silence that keeps it from the sinks; "": none

  // Of a replay with other settings when it was said: "live only", "now only"; "" of both times.
  std::string beside;

  bool names_who = false;  // the sentence says of whom it speaks

  // Raw: who is blamed where that is one, else the node that covers them; "/" of an unknown one.
  std::string place() const {
    if (paths.size() == 1 && !paths[0].empty()) return paths[0];
    return node.empty() ? "/" : node;
  }
  // When what is shown happened.
  std::int64_t time_ns() const { return !firing && end_ns ? *end_ns : onset_ns; }
};

// Newest first, the newest of each id; at most `most` of the newest entries are looked at. Of a replay with
// other settings with as many of those that were said live only, each where its onset lies.
std::vector<AlertView> read_alerts(const wire::Report& report, int most);

// The newest entry of the alert with this id (AlertView::id); null: the report has none.
const wire::Alert* find_alert(const wire::Report& report, const std::string& id);

// The sentence; whom it is about stands before one that does not say it.
std::string told_text(const AlertView& alert);
// "acknowledged by ann: disk swap; silenced by s1; now only", or "".
std::string handled_text(const AlertView& alert);
// "2 firing (1 acknowledged, 1 silenced), 5 resolved"; `firing` is the word for it.
std::string count_text(const std::vector<AlertView>& alerts, const std::string& firing);

// "/node1/rank3" -> "rank3 on node1"; "/" -> "all"; printable.
std::string resource_text(const std::string& path);

}  // namespace margay::terminal

// An EventSink that keeps what it is told, and checks the order of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "../../support/temporary_folder.h"
#include "margay/lttng/event.h"
#include "margay/lttng_trace/trace_reader.h"

namespace margay::lttng::test {

using margay::test::TemporaryFolder;

struct Seen {
  std::string name;
  std::int64_t at = 0;
  std::int32_t cpu = -1;
  std::int64_t vpid = -1, vtid = -1;
  std::string procname;
  std::string first;  // its first field, as text
};

class Recorder : public EventSink {
 public:
  void on_class(const EventClass& cls) override { classes.push_back(cls); }
  void on_event(const Event& e) override {
    in_order = in_order && e.at.value >= last && e.cls < classes.size();
    last = e.at.value;
    Seen seen{classes[e.cls].name, e.at.value, e.cpu, e.vpid, e.vtid, std::string(e.procname), ""};
    if (!classes[e.cls].fields.empty()) {
      const FieldType type = classes[e.cls].fields[0].type;
      if (type == FieldType::kText) seen.first = e.values->text(0);
      if (type == FieldType::kSigned || type == FieldType::kUnsigned)
        seen.first = std::to_string(e.values->integer(0));
    }
    events.push_back(std::move(seen));
    if (look) look(e);
  }
  void on_discarded(const Discarded& d) override { discarded.push_back(d); }
  void on_progress(TimeNs until) override {
    in_order = in_order && until.value >= last;
    last = until.value;
    progress.push_back(until.value);
  }
  std::size_t count(const std::string& name) const {
    return static_cast<std::size_t>(
        std::count_if(events.begin(), events.end(), [&](const Seen& s) { return s.name == name; }));
  }

  std::vector<EventClass> classes;
  std::vector<Seen> events;
  std::vector<Discarded> discarded;
  std::vector<std::int64_t> progress;
  std::function<void(const Event&)> look;
  bool in_order = true;
  std::int64_t last = INT64_MIN;
};

// Reads to the end; the error's sentence, or "".
inline std::string read_all(TraceReader& reader, std::uint64_t most_events = 1000) {
  for (;;) {
    const auto step = reader.run_once(most_events);
    if (!step) return step.error().message;
    if (*step == Step::kEnd) return "";
  }
}

}  // namespace margay::lttng::test

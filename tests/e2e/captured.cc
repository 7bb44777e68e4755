#include "captured.h"

#include <cstring>
#include <fstream>

#include "margay/base/last_state.h"
#include "margay/wire/columns.h"
#include "margay/wire/ingest.pb.h"

namespace margay::test {

bool read_capture(const std::string& path, std::vector<Message>& out) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  for (;;) {
    char head[16];
    in.read(head, sizeof head);
    if (in.gcount() == 0) return true;
    if (in.gcount() != sizeof head) return false;
    std::int64_t at;
    std::uint32_t from, body;
    std::memcpy(&at, head, 8);
    std::memcpy(&from, head + 8, 4);
    std::memcpy(&body, head + 12, 4);
    Message m{TimeNs(at), std::string(from, '\0'), std::string(body, '\0')};
    in.read(m.from.data(), from);
    in.read(m.body.data(), body);
    if (!in) return false;
    out.push_back(std::move(m));
  }
}

bool decode(const std::vector<Message>& messages, const store::RunMeta& run, Decoded& out, std::string& why) {
  for (const Message& bytes : messages) {
    wire::ToCollector m;
    if (!m.ParseFromString(bytes.body)) {
      ++out.undecodable;
      continue;
    }
    if (m.has_hello()) {
      SourceNames& source = out.sources[m.hello().source()];
      for (int i = static_cast<int>(source.names.size()); i < m.hello().names_size(); ++i) {
        source.names.push_back(m.hello().names(i).name());
        source.region.push_back(m.hello().names(i).family() == wire::FAMILY_REGION);
      }
      const auto boot = m.hello().attributes().find("boot_id");
      if (boot == m.hello().attributes().end() || boot->second != run.boot_id)
        return why = "a source of another host: this check knows one clock", false;
      source.offset = run.wall_offset;
    }
    for (const wire::EventBatch& b : m.batches()) {
      const auto source = out.sources.find(b.source());
      if (source == out.sources.end()) continue;  // it will be sent again, after a hello
      StreamRecords& stream = out.streams[{b.source(), b.stream()}];
      if (b.first() > stream.next) {
        stream.hole = true;  // put off: it must come again
        continue;
      }
      if (b.first() + b.count() >= stream.next && b.count() > 0) {
        std::vector<EventRecord> records;
        if (!wire::decode_columns_untrusted({b.columns().data(), b.columns().size()}, b.count(), records))
          return why = "a batch does not decode", false;
        stream.records.insert(stream.records.end(),
                              records.begin() + static_cast<std::ptrdiff_t>(stream.next - b.first()),
                              records.end());
        stream.next = b.first() + b.count();
      }
      stream.covered = std::max(stream.covered, TimeNs(b.covered_until_ns()) + source->second.offset);
    }
    if (m.has_goodbye() && out.sources.contains(m.goodbye().source()))
      out.goodbyes[m.goodbye().source()] =
          TimeNs(m.goodbye().end_ns()) + out.sources[m.goodbye().source()].offset;
  }
  return true;
}

std::vector<ReferenceEvent> events_of(const StreamRecords& stream, const SourceNames& source,
                                      std::optional<TimeNs> goodbye,
                                      const std::map<std::string, std::uint16_t>& ids) {
  using E = ReferenceEvent;
  std::vector<E> events;
  bool ended = false;
  for (const EventRecord& r : stream.records) {
    const TimeNs t = TimeNs(r.time_ns) + source.offset;
    if (r.kind == MARGAY_REGION_ENTER || r.kind == MARGAY_REGION_LEAVE) continue;
    if (r.kind == MARGAY_GAP) {
      events.push_back({E::kGap, kUnknown, t});
      continue;
    }
    const StateId state = r.state == 0 ? kCompute : StateId(ids.at(source.names[r.state]));
    if (r.kind == MARGAY_STACK) {
      events.push_back({E::kStack, state, t});
      continue;
    }
    events.push_back({r.kind == MARGAY_ENTER ? E::kEnter : E::kLeave, state, t});
    ended = r.kind == MARGAY_LEAVE && is_last_state(source.names[r.state]);
    if (ended) events.push_back({E::kEnd, kAbsent, t});
  }
  if (!ended && goodbye && !events.empty())
    events.push_back({E::kEnd, kAbsent, std::max(*goodbye, stream.covered)});
  return events;
}

}  // namespace margay::test

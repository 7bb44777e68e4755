// archive_dump: what an archive holds, as text, for tests and for people who look for faults in Margay.
//
//   archive_dump meta DIR      one JSON object: the run, its levels, states, leaves, streams
//   archive_dump slices DIR    CSV slice,leaves,states,lost_events,provisional of level 0
//   archive_dump cells DIR     CSV slice,leaf,state,duration_ns,longest_ns,visits of level 0, without empty
//                             ones
//   archive_dump evidence DIR CSV slice,leaf,process_state,sampled_ns,cpu_ns,run_delay_ns,stopped_ns,
//                             blocked_ns,storage_bytes of level 0: what the node sampler saw of processes
//   archive_dump records DIR  CSV leaf,kind,records,bytes of the raw records that were kept
//   archive_dump gaps DIR     CSV slice,leaf,unknown_ns,lost of the gaps among them: each from the record
//   before it on,
//                             its records in the slice in which it ends
//   archive_dump events DIR   every raw record that was kept, by leaf:
//   [leaf,time_ns,kind,name,bytes,peer,tag] archive_dump alerts DIR   the alerts, a JSON object a line
//   archive_dump reports DIR  the reports that were kept, a JSON object a line
//
// Exit code: 0; 1 if the archive cannot be read; 2 for a wrong call.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "margay/store/archive.h"
#include "margay/wire/columns.h"
#include "margay/wire/report.pb.h"

namespace {

using namespace margay;

int complain(const Error& error) {
  std::fprintf(stderr, "archive_dump: %s\n", error.message.c_str());
  return 1;
}

int dump_meta(const store::Archive& archive) {
  const auto resume = archive.load();
  if (!resume) return complain(resume.error());
  const store::RunMeta& run = resume->run;
  nlohmann::ordered_json j;
  j["run"] = run.run;
  j["command"] = run.command;
  j["boot_id"] = run.boot_id;
  j["begin_ns"] = run.begin.value;
  j["end_ns"] = run.end ? nlohmann::ordered_json(run.end->value) : nlohmann::ordered_json(nullptr);
  j["exit_code"] = run.exit_code ? nlohmann::ordered_json(*run.exit_code) : nlohmann::ordered_json(nullptr);
  j["wall_offset_ns"] = run.wall_offset.value;
  for (const DurationNs level : run.levels) j["levels_ns"].push_back(level.value);
  for (const auto& closed : resume->closed)
    if (closed.level == LevelIndex(0)) j["closed_through"] = closed.through.value;
  for (const auto& state : resume->states.states()) j["states"].push_back(state.name);
  j["leaves"] = nlohmann::ordered_json::array();
  for (const auto& leaf : resume->leaves) j["leaves"].push_back(leaf.attributes);
  j["streams"] = nlohmann::ordered_json::array();
  for (const auto& s : resume->streams)
    j["streams"].push_back({{"source", std::to_string(s.source.value)},
                            {"stream", s.stream},
                            {"epoch", s.epoch},
                            {"next", s.next},
                            {"produced", s.produced},
                            {"recorded", s.recorded},
                            {"modelled", s.modelled},
                            {"wire_lost", s.wire_lost}});
  std::puts(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return 0;
}

int dump_columns(const store::Archive& archive, bool cells) {
  const auto resume = archive.load();
  if (!resume) return complain(resume.error());
  std::puts(cells ? "slice,leaf,state,duration_ns,longest_ns,visits"
                  : "slice,leaves,states,lost_events,provisional");
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  const Status scanned =
      archive.scan_columns(LevelIndex(0), SliceIndex(-kFar), SliceIndex(kFar), [&](model::SliceColumn&& c) {
        const auto slice = static_cast<long long>(c.index.value);
        if (!cells) {
          std::printf("%lld,%u,%u,%llu,%d\n", slice, c.leaves(), c.states(),
                      static_cast<unsigned long long>(c.lost_events), c.provisional ? 1 : 0);
          return true;
        }
        for (std::uint32_t l = 0; l < c.leaves(); ++l) {
          const LeafIndex leaf(l);
          for (std::uint16_t x = 0; x < c.states(); ++x) {
            const std::int64_t duration = c.duration_ns(leaf)[x], longest = c.longest_ns(leaf)[x];
            const std::uint32_t visits = c.visits(leaf)[x];
            if (duration == 0 && longest == 0 && visits == 0) continue;
            std::printf("%lld,%u,%s,%lld,%lld,%u\n", slice, l, resume->states[StateId(x)].name.c_str(),
                        static_cast<long long>(duration), static_cast<long long>(longest), visits);
          }
        }
        return true;
      });
  return scanned ? 0 : complain(scanned.error());
}

int dump_evidence(const store::Archive& archive) {
  std::puts("slice,leaf,process_state,sampled_ns,cpu_ns,run_delay_ns,stopped_ns,blocked_ns,storage_bytes");
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  const Status scanned =
      archive.scan_columns(LevelIndex(0), SliceIndex(-kFar), SliceIndex(kFar), [&](model::SliceColumn&& c) {
        for (std::uint32_t l = 0; l < c.leaves(); ++l) {
          const model::NodeEvidence& e = c.evidence(LeafIndex(l));
          if (e.process_state == 0) continue;
          std::printf("%lld,%u,%c,%lld,%lld,%lld,%lld,%lld,%lld\n", static_cast<long long>(c.index.value), l,
                      e.process_state, static_cast<long long>(e.sampled_ns), static_cast<long long>(e.cpu_ns),
                      static_cast<long long>(e.run_delay_ns), static_cast<long long>(e.stopped_ns),
                      static_cast<long long>(e.blocked_ns), static_cast<long long>(e.storage_bytes));
        }
        return true;
      });
  return scanned ? 0 : complain(scanned.error());
}

constexpr const char* kKinds[] = {"?",    "enter",      "leave",   "region_enter", "region_leave",
                                  "gap",  "stack",      "begin",   "end",          "variable",
                                  "mark", "link_begin", "link_end"};
const char* kind_name(unsigned kind) {
  return kKinds[kind < std::size(kKinds) ? kind : 0];
}

// A JSON array a line. Names are those of the record's source: states, and texts of those that are none.
int dump_events(const store::Archive& archive) {
  const auto resume = archive.load();
  if (!resume) return complain(resume.error());
  std::map<SourceId, std::vector<std::string>> names;
  for (const auto& s : resume->sources) {
    for (const StateId id : s.names) names[s.source].push_back(resume->states[id].name);
    for (const auto& t : s.texts) names[s.source][t.index] = t.text;
  }
  Status decoded{};
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  for (const auto& leaf : resume->leaves) {
    const auto& table = names[leaf.source];
    const Status read =
        archive.read_raw(leaf.leaf, TimeNs(-kFar), TimeNs(kFar), [&](store::RawBlock&& block) {
          std::vector<EventRecord> records;
          decoded = wire::decode_columns_untrusted(block.columns, block.count, records);
          for (const EventRecord& r : records) {
            const nlohmann::json line = {leaf.leaf.value,
                                         r.time_ns,
                                         kind_name(r.kind),
                                         r.state < table.size() ? table[r.state] : std::string(),
                                         r.bytes,
                                         r.peer,
                                         r.tag};
            std::puts(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
          }
          return bool(decoded);
        });
    if (!read) return complain(read.error());
    if (!decoded) return complain(decoded.error());
  }
  return 0;
}

// What kinds of records there are: of the gaps, `bytes` are the records that were dropped.
int dump_records(const store::Archive& archive) {
  struct Sum {
    std::uint64_t records = 0, bytes = 0;
  };
  std::map<std::pair<std::uint32_t, unsigned>, Sum> sums;
  Status decoded{};
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  const Status read =
      archive.read_raw(std::nullopt, TimeNs(-kFar), TimeNs(kFar), [&](store::RawBlock&& block) {
        std::vector<EventRecord> records;
        decoded = wire::decode_columns_untrusted(block.columns, block.count, records);
        for (const EventRecord& r : records) {
          Sum& sum = sums[{block.leaf.value, r.kind}];
          ++sum.records;
          sum.bytes += r.bytes;
        }
        return bool(decoded);
      });
  if (!read) return complain(read.error());
  if (!decoded) return complain(decoded.error());
  std::puts("leaf,kind,records,bytes");
  for (const auto& [key, sum] : sums)
    std::printf("%u,%s,%llu,%llu\n", key.first, kind_name(key.second),
                static_cast<unsigned long long>(sum.records), static_cast<unsigned long long>(sum.bytes));
  return 0;
}

// What the gaps leave unknown of each slice.
int dump_gaps(const store::Archive& archive) {
  const auto resume = archive.load();
  if (!resume) return complain(resume.error());
  const DurationNs slice = resume->run.levels.at(0);
  std::map<SourceId, DurationNs> offsets;
  for (const auto& s : resume->sources) offsets[s.source] = s.clock_offset;
  struct Sum {
    std::int64_t unknown_ns = 0;
    std::uint64_t lost = 0;
  };
  std::puts("slice,leaf,unknown_ns,lost");
  Status decoded{};
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  for (const auto& leaf : resume->leaves) {
    std::map<SliceIndex, Sum> sums;
    std::optional<TimeNs> before;
    const Status read =
        archive.read_raw(leaf.leaf, TimeNs(-kFar), TimeNs(kFar), [&](store::RawBlock&& block) {
          std::vector<EventRecord> records;
          decoded = wire::decode_columns_untrusted(block.columns, block.count, records);
          const DurationNs offset = offsets[block.source.value_or(leaf.source)];
          for (const EventRecord& r : records) {
            const TimeNs t = TimeNs(r.time_ns) + offset;
            if (r.kind == MARGAY_GAP) {
              sums[slice_of(t, slice)].lost += r.bytes;
              for (TimeNs at = before.value_or(t); at < t;) {
                const SliceIndex in = slice_of(at, slice);
                const TimeNs until = std::min(t, slice_end(in, slice));
                sums[in].unknown_ns += (until - at).value;
                at = until;
              }
            }
            before = t;
          }
          return bool(decoded);
        });
    if (!read) return complain(read.error());
    if (!decoded) return complain(decoded.error());
    for (const auto& [at, sum] : sums)
      std::printf("%lld,%u,%lld,%llu\n", static_cast<long long>(at.value), leaf.leaf.value,
                  static_cast<long long>(sum.unknown_ns), static_cast<unsigned long long>(sum.lost));
  }
  return 0;
}

int dump_alerts(const store::Archive& archive) {
  const auto alerts = archive.alerts();
  if (!alerts) return complain(alerts.error());
  for (const auto& a : *alerts) std::puts(a.json.c_str());
  return 0;
}

// A line per published report that was kept.
int dump_reports(const store::Archive& archive) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  const Status read = archive.read_reports(TimeNs(0), TimeNs(kFar), [](store::ReportRecord&& r) {
    wire::Report report;
    if (!report.ParseFromString(r.bytes)) return false;
    std::printf("{\"watermark_ns\":%lld,\"final\":%s,\"phases\":%d,\"nodes\":%d,\"parts\":%d}\n",
                static_cast<long long>(r.watermark.value), report.final() ? "true" : "false",
                report.phases_size(), report.nodes_size(), report.spatiotemporal().parts_size() / 3);
    return true;
  });
  return read ? 0 : complain(read.error());
}

// Of each such report the p and the parts of its picture: path, first and last slice, both inside.
int dump_pictures(const store::Archive& archive) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  const Status read = archive.read_reports(TimeNs(0), TimeNs(kFar), [](store::ReportRecord&& r) {
    wire::Report report;
    if (!report.ParseFromString(r.bytes)) return false;
    const wire::PartitionView& view = report.spatiotemporal();
    nlohmann::json out{{"watermark_ns", r.watermark.value}, {"p", view.p()}, {"count", view.part_count()}};
    nlohmann::json& parts = out["parts"] = nlohmann::json::array();
    for (int i = 0; i + 2 < view.parts_size(); i += 3) {
      if (view.parts(i) >= static_cast<std::uint32_t>(report.nodes_size())) return false;
      parts.push_back({report.nodes(static_cast<int>(view.parts(i))).path(),
                       view.first_slice() + view.parts(i + 1), view.first_slice() + view.parts(i + 2)});
    }
    std::puts(out.dump().c_str());
    return true;
  });
  return read ? 0 : complain(read.error());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  if (what != "meta" && what != "slices" && what != "cells" && what != "records" && what != "events" &&
      what != "evidence" && what != "gaps" && what != "alerts" && what != "reports" && what != "pictures") {
    std::fputs("archive_dump meta|slices|cells|evidence|records|gaps|events|alerts|reports|pictures DIR\n",
               stderr);
    return 2;
  }
  const auto archive = store::Archive::open(argv[2], store::Mode::kReadOnly);
  if (!archive) return complain(archive.error());
  if (what == "meta") return dump_meta(**archive);
  if (what == "records") return dump_records(**archive);
  if (what == "evidence") return dump_evidence(**archive);
  if (what == "gaps") return dump_gaps(**archive);
  if (what == "events") return dump_events(**archive);
  if (what == "alerts") return dump_alerts(**archive);
  if (what == "reports") return dump_reports(**archive);
  if (what == "pictures") return dump_pictures(**archive);
  return dump_columns(**archive, what == "cells");
}

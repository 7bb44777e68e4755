// From messages of agents to what a viewer shows: ingest, slicer, detection, report, status. Whatever agents
// say, the report can be read by viewers, and the status is valid JSON.
//   input: u8 length of the job's command, the command, then a conversation (ingest_script.h)
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>

#include "ingest_script.h"
#include "margay/analysis/report_builder.h"
#include "margay/detect/levels.h"
#include "margay/terminal/status.h"
#include "proto_mutator.h"

namespace {

using namespace margay;

struct Analysis {
  daemon::Options options;
  std::unique_ptr<detect::Levels> levels;
  std::shared_ptr<const detect::Topology> topology = std::make_shared<detect::Topology>();
  std::deque<alert::Alert> alerts;
  daemon::RunStatus status;
  TimeNs watermark = fuzz::kRunBegin + fuzz::kOffset;

  explicit Analysis(std::string_view command) {
    options.run = "r";
    options.command = command;
    options.window_slices = 16;
    detect::DetectorOptions d;
    d.run = "r";
    d.window.slices = options.window_slices;
    levels = std::make_unique<detect::Levels>(d, std::span<const DurationNs>());
  }
  void keep(std::vector<alert::Alert> raised) {
    alerts.insert(alerts.end(), raised.begin(), raised.end());
    while (alerts.size() > daemon::kMostReportedAlerts) alerts.pop_front();
  }
  void on_slice(const fuzz::Conversation& c, const model::SliceColumn& column) {
    if (topology->version != c.ingest.topology_version() || topology->states.size() != c.states.size()) {
      auto fresh = std::make_shared<detect::Topology>();
      fresh->version = c.ingest.topology_version();
      fresh->hierarchy = model::Hierarchy(c.ingest.leaves());
      fresh->states = c.states.states();
      topology = fresh;
      levels->set_topology(topology);
    }
    watermark = slice_end(column.index, fuzz::kSlice);
    keep(levels->on_slice(column, watermark));
  }
  void check_report(const fuzz::Conversation& c, bool final) {
    status.accounts.assign(c.ingest.leaves().size(), {});
    status.conditions.assign(c.ingest.leaves().size(), "");
    for (const auto& [id, source] : c.ingest.sources())
      for (const auto& [index, stream] : source.streams) status.accounts[stream.leaf.value] += stream.account;
    const daemon::ReportInput in{options,   *levels,   *topology,
                                 &status,   alerts,    fuzz::kRunBegin + fuzz::kOffset,
                                 watermark, watermark, c.now + fuzz::kOffset,
                                 1,         final,     true};
    const wire::Report report = daemon::build_report(in);
    const std::string bytes = report.SerializeAsString();
    wire::Report back;
    FUZZ_CHECK(back.ParseFromString(bytes), "a viewer can read the report");
    FUZZ_CHECK(nlohmann::json::accept(terminal::status_json(back)), "the status is JSON");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  Analysis analysis(in.bytes(in.u8()));
  fuzz::Conversation c;
  for (int frames = 0; !in.empty() && frames < 24; ++frames) {
    c.step(
        in, [&](const model::SliceColumn& column) { analysis.on_slice(c, column); },
        [&](const model::SliceColumn& column) {
          analysis.keep(analysis.levels->on_amended(column, analysis.watermark));
        },
        [&] { analysis.check_report(c, false); });
    static_cast<void>(c.slicer.take_changed());
    static_cast<void>(c.ingest.take_accepted());
  }
  analysis.keep(analysis.levels->finish(analysis.watermark, analysis.watermark));
  analysis.check_report(c, true);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  const std::size_t prefix = size == 0 ? 0 : std::min<std::size_t>(size, 1u + data[0]);
  return margay::fuzz::mutate_frames<margay::wire::ToCollector>(data, size, most, seed, prefix,
                                                                fuzz::kFrameHead);
}

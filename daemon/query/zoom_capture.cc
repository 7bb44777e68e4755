// A zoom into a capture: a first reading for the range, the leaves and the names; then the events, by two
// threads, each of which decodes its own leaves.
#include <sys/stat.h>
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "margay/base/text.h"
#include "margay/trace/capture.h"
#include "zoom_parts.h"

namespace margay::daemon::internal {
namespace {

constexpr unsigned kMostThreads = 4;

// What the first reading keeps.
class Directory final : public trace::Consumer {
 public:
  Status on_name(std::uint16_t, const trace::Name& name) override {
    if (name.kind != trace::Name::Kind::kState) return {};
    states.push_back(name.text);
    infos.push_back({name.text, name.family});
    return {};
  }
  Status on_leaf(LeafIndex, const trace::Leaf& leaf) override {
    leaves.push_back(leaf.attributes);
    return {};
  }
  Status on_records(LeafIndex, std::span<const EventRecord>) override { return {}; }
  Status on_covered(TimeNs) override { return {}; }

  std::vector<std::string> states = {"Compute"};
  std::vector<model::StateInfo> infos = {{"Compute", model::StateFamily::kCompute}};  // of the same
  std::vector<model::Attributes> leaves;
};

std::vector<std::string> notes_of(const trace::CaptureCounts& c) {
  std::vector<std::string> out;
  const auto note = [&](std::uint64_t n, const char* what) {
    if (n > 0) out.push_back(grouped(n) + " " + what);
  };
  note(c.cut_off, "bytes at the end are an incomplete message; all before them was read");
  note(c.undecodable, "messages cannot be decoded and were left out");
  note(c.foreign, "messages are of another run or version and were left out");
  note(c.rejected, "records are invalid and were left out");
  note(c.lost, "records were lost; the time that they would describe counts as nothing");
  return out;
}

}  // namespace

Result<Zoomed> zoom_capture(const ZoomRequest& request) {
  if (request.level)
    return wrong("--level: " + request.input + " is a capture, which holds events and no slices");
  Directory directory;
  const auto extent = trace::scan_capture(request.input, {}, directory);
  if (!extent) return tl::unexpected(extent.error());
  if (!extent->begin) return wrong(request.input + ": no events in it");
  if (request.op.of_variable())
    return wrong("--operator " + request.op.text() + ": a capture has no variables");
  for (const Status& ok :
       {check_states(request, directory.states), check_some_state(request, directory.infos)})
    if (!ok) return tl::unexpected(ok.error());
  const TimeNs zero = *extent->begin;
  const auto grid = range_of(request, zero, extent->end, request.slices.value_or(ZoomRequest::kUsualSlices));
  if (!grid) return tl::unexpected(grid.error());
  const auto of = look_at(directory.leaves, request);
  if (!of) return tl::unexpected(of.error());
  const std::vector<bool>& below = of->at.leaves;

  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  struct Part {
    std::unique_ptr<trace::Resampler> trace;
    Result<trace::CaptureCounts> counts;
  };
  std::vector<Part> parts(threads);
  const auto read = [&](unsigned i) {
    trace::CaptureOptions options;
    options.part = i;
    options.parts = threads;
    options.wanted = [&](LeafIndex l) { return l.value < below.size() && below[l.value]; };
    if (i == 0 && request.progress)
      options.step = [&](std::uint64_t bytes) -> Status {
        request.progress(static_cast<double>(bytes) /
                         static_cast<double>(std::max<std::uint64_t>(1, extent->bytes)));
        return {};
      };
    parts[i].trace = std::make_unique<trace::Resampler>(slicer::Reslicer::Options{
        *grid, request.op, state_filter(request, directory.infos), request.memory_bytes / 2 / threads});
    parts[i].counts = trace::read_capture(request.input, options, *parts[i].trace);
    if (!parts[i].counts) return;
    if (Status ok = parts[i].trace->finish(); !ok) parts[i].counts = tl::unexpected(ok.error());
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(read, i);
  read(0);
  for (std::thread& t : others) t.join();
  for (const Part& p : parts)
    if (!p.counts) return tl::unexpected(p.counts.error());
  Zoomed out;
  trace::CaptureCounts counts = *parts[0].counts;
  for (unsigned i = 1; i < threads; ++i) {
    if (Status ok = parts[0].trace->cells().adopt(parts[i].trace->cells(), i, threads); !ok)
      return fail(ok.error(), request.input);
    counts.records += parts[i].counts->records;
    counts.rejected += parts[i].counts->rejected;
  }
  auto model = model_of(*parts[0].trace, zero, request);
  if (!model) return tl::unexpected(model.error());
  out.model = std::move(*model);
  out.events = counts.records;
  out.notes = notes_of(counts);
  return out;
}

}  // namespace margay::daemon::internal

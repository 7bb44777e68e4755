// zoom_check: zooms into a real run, against the plain reference slicer on the run's captured messages.
//
//   zoom_check CAPTURE ARCHIVE
//
// Both are of one run (margay run --capture CAPTURE --archive ARCHIVE). Compared to the nanosecond, each
// leaf, state and slice:
//   cells     slices of the archive's finest level, which are read and nothing else
//   halves    slices of half of it, out of step with it by half of one: the raw events
//   odd       slices that fit nothing
//   capture   the same as odd, from CAPTURE
// A line of figures for each; every difference (the first 20) is a line of stderr. Exit code: 0 equal, 1 not,
// 2 for a wrong call or files that cannot be read.
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "captured.h"
#include "margay/query/zoom.h"
#include "margay/store/archive.h"
#include "margay/trace/capture.h"
#include "margay/trace/resampler.h"

namespace {

using namespace margay;

int complain(const std::string& sentence) {
  std::fprintf(stderr, "zoom_check: %s\n", sentence.c_str());
  return 2;
}

// (leaf, slice, state) -> ns
using Durations = std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, std::int64_t>;

struct Run {
  store::Resume resume;
  test::Decoded decoded;
  std::vector<std::vector<test::ReferenceEvent>> events;  // by leaf
};

// Slices [first, first + count) of `slice`, counted from trace time 0.
Durations reference(const Run& run, DurationNs slice, SliceIndex first, std::uint32_t count) {
  Durations out;
  for (std::uint32_t l = 0; l < run.events.size(); ++l)
    for (const auto& [where, cell] :
         test::reference_cells(run.events[l], slice_begin(slice_of(run.resume.run.begin, slice), slice),
                               slice_begin(first + count, slice), slice))
      if (where.first >= first.value && where.second >= kCompute.value && cell.duration_ns > 0)
        out[{l, static_cast<std::uint32_t>(where.first - first.value),
             run.resume.states[StateId(where.second)].name}] = cell.duration_ns;
  return out;
}

Durations of(const daemon::Model& m) {
  Durations out;
  const auto length =
      static_cast<double>((m.times->to - m.times->from).value) / static_cast<double>(m.slices);
  // Leaves by name, for the hierarchy has an order of its own.
  for (std::uint32_t k = 0; k < m.slices; ++k)
    for (std::uint32_t l = 0; l < m.leaves(); ++l)
      for (std::size_t x = 0; x < m.states; ++x)
        if (const double v = m.values[(k * m.leaves() + l) * m.states + x]; v > 0)
          out[{l, k, m.state_names[x]}] = std::llround(v * m.unit * length);
  return out;
}

std::size_t compare(const char* what, const Durations& found, const Durations& expected,
                    std::uint64_t events) {
  std::size_t different = 0;
  const auto say = [&](const auto& key, std::int64_t a, std::int64_t b) {
    if (a == b || ++different > 20) return;
    std::fprintf(stderr, "%s: leaf %u slice %u %s: %lld ns, expected %lld ns\n", what, std::get<0>(key),
                 std::get<1>(key), std::get<2>(key).c_str(), static_cast<long long>(a),
                 static_cast<long long>(b));
  };
  for (const auto& [key, ns] : expected) say(key, found.contains(key) ? found.at(key) : 0, ns);
  for (const auto& [key, ns] : found)
    if (!expected.contains(key)) say(key, ns, 0);
  std::printf("%s: cells %zu events %llu differ %zu\n", what, expected.size(),
              static_cast<unsigned long long>(events), different);
  return different;
}

// Leaves in the order of the hierarchy, as the model has them.
std::vector<std::uint32_t> order_of(const store::Resume& resume) {
  std::vector<model::Attributes> attributes;
  for (const auto& l : resume.leaves) attributes.push_back(l.attributes);
  const model::Hierarchy hierarchy(attributes);
  std::vector<std::uint32_t> out;
  for (const LeafIndex l : hierarchy.leaf_order()) out.push_back(l.value);
  return out;
}

int check(const std::string& capture, const std::string& path) {
  Run run;
  {
    const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
    if (!archive) return complain(archive.error().message);
    auto resume = (*archive)->load();
    if (!resume) return complain(resume.error().message);
    run.resume = std::move(*resume);
  }
  std::vector<test::Message> messages;
  if (!test::read_capture(capture, messages)) return complain(capture + ": cannot be read to its end");
  if (std::string why; !test::decode(messages, run.resume.run, run.decoded, why))
    return complain(capture + ": " + why);
  std::map<std::string, std::uint16_t> ids;
  for (std::uint16_t i = 0; i < run.resume.states.size(); ++i) ids[run.resume.states[StateId(i)].name] = i;
  const auto order = order_of(run.resume);
  for (const std::uint32_t l : order) {
    const store::LeafRecord& leaf = run.resume.leaves[l];
    std::optional<TimeNs> goodbye;
    if (const auto it = run.decoded.goodbyes.find(leaf.source.value); it != run.decoded.goodbyes.end())
      goodbye = it->second;
    run.events.push_back(test::events_of(run.decoded.streams[{leaf.source.value, leaf.stream}],
                                         run.decoded.sources[leaf.source.value], goodbye, ids));
  }

  const DurationNs slice = run.resume.run.levels[0];
  const SliceIndex first = slice_of(run.resume.run.begin, slice);
  SliceIndex through = first - 1;
  for (const auto& c : run.resume.closed)
    if (c.level == LevelIndex(0)) through = c.through;
  const TimeNs from = slice_begin(first, slice), to = slice_end(through, slice);
  std::size_t different = 0;
  const auto zoomed = [&](const char* what, const std::string& input, DurationNs d, TimeNs a, TimeNs b,
                          bool events) -> int {
    const SliceIndex begin = slice_of(TimeNs(a.value + d.value - 1), d), end = slice_of(b, d);
    daemon::ZoomRequest r;
    r.input = input;
    r.from = "@" + std::to_string(slice_begin(begin, d).value);
    r.to = "@" + std::to_string(slice_begin(end, d).value);
    r.slices = static_cast<std::uint64_t>(end.value - begin.value);
    const auto z = daemon::zoom(r);
    if (!z) return complain(z.error().message);
    if ((z->events > 0) != events) return complain(std::string(what) + ": another way was taken");
    different += compare(what, of(z->model), reference(run, d, begin, static_cast<std::uint32_t>(*r.slices)),
                         z->events);
    return 0;
  };
  const DurationNs half(slice.value / 2), odd(33'333'331);
  if (zoomed("cells", path, slice, from, to, false) != 0) return 2;
  // From the middle of a slice to the middle of one: the boundaries between fall on middles and slices.
  if (zoomed("halves", path, half, from + seconds(1) + half, to - half, true) != 0) return 2;
  if (zoomed("odd", path, odd, from + half, to, true) != 0) return 2;

  const SliceIndex begin = slice_of(TimeNs(from.value + odd.value - 1), odd), end = slice_of(to, odd);
  trace::CaptureOptions options;
  options.boot_id = run.resume.run.boot_id;
  options.clock_offset = run.resume.run.wall_offset;
  trace::Resampler model(
      slicer::Reslicer::Options{*slicer::Grid::make(slice_begin(begin, odd), slice_begin(end, odd),
                                                    static_cast<std::uint64_t>(end.value - begin.value)),
                                {},
                                {}});
  const auto counts = trace::read_capture(capture, options, model);
  if (!counts) return complain(counts.error().message);
  if (const Status ok = model.finish(); !ok) return complain(ok.error().message);
  Durations found;
  const slicer::Reslicer& cells = model.cells();
  for (std::uint32_t l = 0; l < order.size(); ++l)
    for (std::uint32_t k = 0; k < cells.grid().slices; ++k)
      for (std::size_t x = 0; x < cells.columns(); ++x)
        if (const auto ns = static_cast<std::int64_t>(cells.count(LeafIndex(order[l]), k, x)); ns > 0)
          found[{l, k, cells.column_name(x)}] = ns;
  different += compare("capture", found, reference(run, odd, begin, cells.grid().slices), counts->records);
  return different == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return complain("zoom_check CAPTURE ARCHIVE");
  return check(argv[1], argv[2]);
}

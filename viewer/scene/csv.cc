#include <algorithm>
#include <charconv>

#include "margay/scene/event_sums.h"
#include "margay/scene/palette.h"
#include "margay/scene/phase_list.h"
#include "margay/scene/quality.h"
#include "margay/scene/run_filter.h"
#include "margay/scene/statistics.h"
#include "margay/scene/temporal_bars.h"
#include "margay/scene/topology.h"
#include "margay/scene/treemap.h"

namespace margay::scene {
namespace {

// Lines of RFC 4180.
class Csv {
 public:
  Csv& text(std::string_view field) {
    separate();
    if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
      out_ += field;
      return *this;
    }
    out_ += '"';
    for (const char c : field) out_.append(c == '"' ? 2 : 1, c);
    out_ += '"';
    return *this;
  }
  // The shortest that reads back as the same; independent of the locale.
  template <class T>
  Csv& number(T value) {
    char digits[40];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
    separate();
    out_.append(digits, end);
    return *this;
  }
  void line() {
    out_ += "\r\n";
    first_ = true;
  }
  std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  std::string out_;
  bool first_ = true;
};

std::string share_head(const ViewData& data) {
  return data.unit.empty() ? "share" : "share of full";
}
std::string total_head(const ViewData& data) {
  if (data.unit.empty()) return "leaf-seconds";
  return (measure_kind(data.question.measure()).adds_up ? "total (" : "mean (") + data.unit + ")";
}

double csv_seconds(std::int64_t ns, std::int64_t zero_ns = 0) {
  return static_cast<double>(static_cast<__int128>(ns) - zero_ns) / 1e9;
}
Csv& optional_seconds(Csv& csv, const std::optional<DurationNs>& d) {
  return d ? csv.number(csv_seconds(d->value)) : csv.text("");
}

double seconds_since_zero(const ViewData& data, std::uint32_t boundary) {
  return csv_seconds(data.boundaries[boundary].value, data.zero.value);
}

}  // namespace

std::string csv_of(const Statistics& statistics, const ViewData& data) {
  Csv csv;
  csv.text("state").text("family").text(share_head(data));
  csv.text(total_head(data));
  csv.text("parts with it as mode").text("leaves with it as mode").text("least share of a part");
  csv.text("largest share of a part").line();
  for (const StateRow& row : statistics.rows) {
    const State& state = data.states[row.state];
    csv.text(state.name).text(family_name(state.family)).number(row.share).number(row.total);
    csv.number(row.mode_parts).number(row.mode_leaves).number(row.least).number(row.most).line();
  }
  return csv.take();
}

std::string parts_csv(const ViewData& data) {
  Csv csv;
  for (const char* head : {"resource", "first slice", "last slice", "begin (s)", "end (s)", "leaves",
                           "gain (bits)", "loss (bits)", "known", "mode", "strength"})
    csv.text(head);
  const std::vector<std::uint32_t> order = states_in_order(data);
  for (const std::uint32_t state : order) csv.text(data.states[state].name);
  const std::string left_out = left_out_text(data.question);
  if (!left_out.empty()) csv.text("filter");
  csv.line();
  std::vector<double> shares(data.states.size());
  for (const Part& part : data.parts) {
    const Node& node = data.nodes[part.node];
    csv.text(node.path).number(part.first).number(part.last - 1);
    csv.number(seconds_since_zero(data, part.first)).number(seconds_since_zero(data, part.last));
    csv.number(node.leaf_count);
    csv.number(part.gain).number(part.loss).number(part.known);
    csv.text(part.mode == kNoState ? "" : data.states[static_cast<std::size_t>(part.mode)].name);
    csv.number(part.strength);
    for (const StateShare& s : data.shares_of(part)) shares[s.state] = s.share;
    for (const std::uint32_t state : order) csv.number(shares[state]);
    for (const StateShare& s : data.shares_of(part)) shares[s.state] = 0;
    if (!left_out.empty()) csv.text(left_out);
    csv.line();
  }
  return csv.take();
}

std::string nodes_csv(const ViewData& data, const TreemapContents& contents, std::span<const double> sizes) {
  Csv csv;
  for (const char* head : {"resource", "leaves", "size", "known"}) csv.text(head);
  const std::vector<std::uint32_t> order = states_in_order(data);
  for (const std::uint32_t state : order) csv.text(data.states[state].name);
  csv.line();
  for (std::uint32_t n = 0; n < data.nodes.size(); ++n) {
    csv.text(data.nodes[n].path).number(data.nodes[n].leaf_count).number(sizes[n]).number(contents.known[n]);
    for (const std::uint32_t state : order) csv.number(contents.of(n)[state]);
    csv.line();
  }
  return csv.take();
}

std::string event_sums_csv(const EventSums& sums) {
  Csv csv;
  for (const char* head :
       {"name", "resource", "count", "total_ns", "bytes", "mean_ns", "deviation_ns", "median_ns", "q90_ns",
        "q99_ns", "longest_ns", "longest_begin_s", "longest_resource", "single", "untimed"})
    csv.text(head);
  csv.line();
  for (const EventSum& s : sums.sums) {
    csv.text(sums.messages ? sums.resources[s.from] : sums.names[s.name].name);
    csv.text(sums.messages ? sums.resources[s.to] : "");
    csv.number(s.count).number(s.total.value).number(s.bytes).number(s.mean).number(s.deviation);
    for (const DurationNs d : {s.median, s.q90, s.q99, s.longest}) csv.number(d.value);
    csv.number(static_cast<double>((s.longest_begin - sums.zero).value) * 1e-9);
    csv.text(sums.resources.empty() ? "" : sums.resources[sums.messages ? s.to : s.longest_resource]);
    csv.number(s.single).number(s.untimed).line();
  }
  return csv.take();
}

std::string blocks_csv(const EventSums& sums, const SumBlocks& partition) {
  Csv csv;
  for (const char* head : {"p", "from", "to", "pairs", "messages", "bytes", "mean_ns"}) csv.text(head);
  csv.line();
  for (const SumBlock& b : partition.blocks) {
    csv.number(partition.p).text(sums.resources[b.from]).text(sums.resources[b.to]);
    csv.number(b.pairs).number(b.count).number(b.bytes);
    csv.number(b.timed > 0 ? b.total / static_cast<double>(b.timed) : 0.0).line();
  }
  return csv.take();
}

std::string bars_csv(const ViewData& data) {
  Csv csv;
  csv.text("begin (s)").text("end (s)").text("state").text("family").text(share_head(data));
  csv.text(total_head(data)).text("known");
  const std::string left_out = left_out_text(data.question);
  if (!left_out.empty()) csv.text("filter");
  csv.line();
  BarOptions options;
  options.least_share = 0;
  for (const Bar& bar : temporal_bars(data, options)) {
    const double area = data.leaves() * data.seconds(bar.first, bar.last);
    const auto begin = [&] {
      csv.number(seconds_since_zero(data, bar.first)).number(seconds_since_zero(data, bar.last));
    };
    const auto end_line = [&] {
      if (!left_out.empty()) csv.text(left_out);
      csv.line();
    };
    for (const Segment& segment : bar.segments) {
      const State& state = data.states[static_cast<std::size_t>(segment.state)];
      const double share = segment.to - segment.from;
      begin();
      csv.text(state.name).text(family_name(state.family)).number(share);
      csv.number(total_of(data, share * bar.weight, area)).number(bar.known);
      end_line();
    }
    if (!bar.segments.empty()) continue;
    begin();
    csv.text("").text("").number(0).number(0).number(bar.known);
    end_line();
  }
  return csv.take();
}

std::string curve_csv(const Steps& steps) {
  Csv csv;
  for (const char* head :
       {"p", "until", "parts", "gain (bits)", "loss (bits)", "gain (share)", "loss (share)"})
    csv.text(head);
  csv.line();
  for (const Step& s : steps.steps) {
    csv.number(s.p).number(s.until).number(s.parts).number(s.gain).number(s.loss);
    csv.number(s.gain_share).number(s.loss_share).line();
  }
  return csv.take();
}

std::string stretches_csv(const PhaseList& list, TimeNs zero, const std::string& only) {
  Csv csv;
  for (const char* head : {"phase", "label", "time", "of", "begin (s)", "end (s)", "lasted (s)", "goes on",
                           "against usual (share)", "made of"})
    csv.text(head);
  csv.line();
  for (const ListedStretch& s : list.stretches) {
    if (!only.empty() && s.name != only) continue;
    csv.text(s.name).text(s.label).number(s.occurrence).number(s.of);
    csv.number(csv_seconds(s.time.from.value, zero.value)).number(csv_seconds(s.time.to.value, zero.value));
    csv.number(csv_seconds(s.length().value)).text(s.goes_on ? "yes" : "no");
    s.against_usual ? csv.number(*s.against_usual) : csv.text("");
    std::string made_of;
    for (const auto& [name, share] : s.made_of) made_of += (made_of.empty() ? "" : "+") + name;
    csv.text(made_of).line();
  }
  return csv.take();
}

std::string phases_csv(const PhaseList& list) {
  Csv csv;
  for (const char* head : {"phase", "label", "stretches", "time of all (s)", "share", "usual (s)",
                           "shortest (s)", "longest (s)"})
    csv.text(head);
  csv.line();
  for (const ListedPhase& p : list.phases) {
    csv.text(p.name).text(p.label).number(p.stretches).number(csv_seconds(p.total.value)).number(p.share);
    for (const auto& d : {p.usual, p.shortest, p.longest}) optional_seconds(csv, d);
    csv.line();
  }
  return csv.take();
}

std::string difference_csv(const std::vector<StateDifference>& rows, const std::string& first,
                           const std::string& second) {
  Csv csv;
  csv.text("state").text("family").text(first);
  if (!second.empty()) csv.text(second).text("difference");
  csv.line();
  for (const StateDifference& r : rows) {
    csv.text(r.state.name).text(family_name(r.state.family)).number(r.first);
    if (!second.empty()) csv.number(r.second).number(r.more());
    csv.line();
  }
  return csv.take();
}

std::string links_csv(const Topology& topology, const ViewData& data) {
  Csv csv;
  for (const char* head : {"a", "b", "messages a to b", "bytes a to b", "messages b to a", "bytes b to a"})
    csv.text(head);
  csv.line();
  for (const Link& l : topology.links) {
    csv.text(data.nodes[topology.nodes[l.a]].path).text(data.nodes[topology.nodes[l.b]].path);
    csv.number(l.there.count).number(l.there.bytes).number(l.back.count).number(l.back.bytes).line();
  }
  return csv.take();
}

}  // namespace margay::scene

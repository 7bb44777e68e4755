#include "event_sums.h"

#include <algorithm>
#include <map>

#include "margay/base/text.h"
#include "margay/query/event_statistics.h"
#include "margay/query/message_blocks.h"
#include "view_tree.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kMostBins = std::size_t{1} << 19;  // of an answer: some 7 MiB

// Texts once each, by index.
class Texts {
 public:
  std::uint32_t index_of(const std::string& text, const std::function<void(const std::string&)>& add) {
    const auto [at, is_new] = known_.emplace(text, static_cast<std::uint32_t>(known_.size()));
    if (is_new) add(text);
    return at->second;
  }

 private:
  std::map<std::string, std::uint32_t> known_;
};

std::uint64_t whole(std::int64_t ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
}

void put_lengths(const EventSummary& s, TimeNs from, wire::EventsSum& out) {
  out.set_count(s.lengths.count() + s.untimed);
  out.set_single(s.lengths.single());
  out.set_untimed(s.untimed);
  out.set_total_ns(whole(s.total.value));
  out.set_bytes(s.bytes);
  out.set_mean_ns(s.lengths.mean());
  out.set_deviation_ns(s.lengths.deviation());
  out.set_median_ns(whole(s.lengths.quantile(0.5)));
  out.set_q90_ns(whole(s.lengths.quantile(0.9)));
  out.set_q99_ns(whole(s.lengths.quantile(0.99)));
  out.set_longest_ns(whole(s.longest.value));
  if (s.lengths.count() > 0) out.set_longest_begin_ns((s.longest_begin - from).value);
}

// The first `most`.
std::size_t kept(const std::vector<EventSummary>& all, std::uint32_t most, wire::EventsAnswer& answer) {
  const std::size_t count = std::min<std::size_t>(all.size(), most);
  answer.set_sums_left_out(all.size() - count);
  return count;
}

Status put_visits(const store::Archive& archive, const store::Resume& resume, std::uint32_t most,
                  const EventQuery& list, wire::EventsAnswer& answer) {
  EventStatistics sums(EventStatistics::By::kName, list.from, list.to);
  std::map<std::string, wire::StateFamily> families;
  const auto read = list_events(archive, resume, list, [&](const EventRow& row) {
    if (row.what.kind == trace::Occurrence::Kind::kState)
      families.try_emplace(row.name.text, static_cast<wire::StateFamily>(row.name.family));
    return sums.add(row);
  });
  if (!read) return tl::unexpected(read.error());
  answer.set_holes(read->holes);
  answer.set_exact(read->exact);
  const std::vector<EventSummary> all = sums.summaries();
  const std::size_t count = kept(all, most, answer);
  Texts resources;
  std::size_t bins_left = kMostBins, without_bins = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const EventSummary& s = all[i];
    wire::EventsSum& out = *answer.add_sums();
    put_lengths(s, list.from, out);
    wire::Name& name = *answer.add_names();
    name.set_name(clean_utf8(s.name));
    const auto family = families.find(s.name);
    name.set_family(family != families.end() ? family->second : wire::FAMILY_REGION);
    out.set_name(static_cast<std::uint32_t>(i));
    out.set_longest_resource(resources.index_of(
        s.longest_resource, [&](const std::string& path) { answer.add_resources(clean_utf8(path)); }));
    const std::vector<LengthStatistics::Bin> bins = s.lengths.bins();
    bins_left -= std::min(bins_left, bins.size());
    if (bins_left == 0) {
      ++without_bins;
      continue;
    }
    for (const LengthStatistics::Bin& bin : bins) {
      out.add_bin_from_ns(whole(bin.from));
      out.add_bin_until_ns(whole(bin.until));
      out.add_bin_count(bin.count);
    }
  }
  if (without_bins > 0)
    answer.add_notes("how long the visits of " + std::to_string(without_bins) +
                     " states last is left out: it is too much for an answer");
  return {};
}

// Pairs by their paths in a view, for blocks are nodes of it.
void name_as_seen(std::vector<EventSummary>& pairs, const store::Resume& resume, const model::View& view) {
  const ViewTree tree(attributes_of(resume), view);
  std::map<std::string, std::string> seen;
  for (std::uint32_t l = 0; l < resume.leaves.size(); ++l)
    seen.emplace(tree.resource(LeafIndex(l)), tree.hierarchy().path_of(LeafIndex(l)));
  for (EventSummary& pair : pairs)
    for (std::string* path : {&pair.name, &pair.resource})
      if (const auto at = seen.find(*path); at != seen.end()) *path = at->second;
}

Status put_pairs(const store::Archive& archive, const store::Resume& resume, const EventPageRequest& request,
                 const EventQuery& list, wire::EventsAnswer& answer) {
  MessageQuery query;
  query.from = list.from, query.to = list.to;
  query.view = list.view;
  query.nodes = list.nodes;
  query.resources = list.resources;
  query.go_on = list.go_on;
  EventStatistics sums(EventStatistics::By::kBoth, list.from, list.to);
  const auto read =
      list_messages(archive, resume, query, [&](const MessageRow& row) { return sums.add(row); });
  if (!read) return tl::unexpected(read.error());
  answer.set_holes(read->holes);
  answer.set_exact(read->exact);
  for (const std::string& note : unpaired_notes(read->calls)) answer.add_notes(note);
  std::vector<EventSummary> all = sums.summaries();
  std::stable_sort(all.begin(), all.end(),
                   [](const EventSummary& a, const EventSummary& b) { return a.bytes > b.bytes; });
  const std::size_t count = kept(all, request.most, answer);
  Texts resources;
  const auto add = [&](const std::string& path) { answer.add_resources(clean_utf8(path)); };
  for (std::size_t i = 0; i < count; ++i) {
    wire::EventsSum& out = *answer.add_sums();
    put_lengths(all[i], list.from, out);
    out.set_from(resources.index_of(all[i].name, add));
    out.set_to(resources.index_of(all[i].resource, add));
  }
  if (request.alike == wire::EventsQuestion::NOT) return {};
  if (!list.view.is_usual()) name_as_seen(all, resume, list.view);
  const auto blocks = find_blocks(all, request.alike, list.go_on);
  if (!blocks) return tl::unexpected(blocks.error());
  for (const std::string& note : blocks->notes) answer.add_notes(note);
  for (const MessageBlocks& one : blocks->partitions) {
    wire::EventsBlocks& out = *answer.add_blocks();
    out.set_p(one.p), out.set_gain(one.gain), out.set_loss(one.loss), out.set_chosen(one.chosen);
    for (const MessageBlock& block : one.blocks) {
      out.add_from(resources.index_of(blocks->nodes[block.from], add));
      out.add_to(resources.index_of(blocks->nodes[block.to], add));
      out.add_pairs(block.pairs), out.add_count(block.count), out.add_bytes(block.bytes);
      out.add_timed(block.timed), out.add_total_ns(block.total_ns);
    }
  }
  return {};
}

}  // namespace

Status put_sums(const store::Archive& archive, const store::Resume& resume, const EventPageRequest& request,
                const EventQuery& list, wire::EventsAnswer& answer) {
  Status ok = request.kind == EventPageRequest::Kind::kPairs
                  ? put_pairs(archive, resume, request, list, answer)
                  : put_visits(archive, resume, request.most, list, answer);
  if (!ok && ok.error().code == ErrorCode::kTimeout)
    return fail(
        ErrorCode::kTimeout,
        "so much happened in this stretch that it was not read to its end in time: choose a shorter one");
  return ok;
}

}  // namespace margay::daemon

#include "world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cells.h"
#include "margay/analysis/report_builder.h"
#include "margay/live/durability.h"
#include "margay/replay/replay.h"

namespace margay::simulation {
namespace {

constexpr DurationNs kSlice = milliseconds(100);
constexpr DurationNs kFaultsBehindTheEnd = seconds(2);
constexpr std::int64_t kEver = 1'000'000;  // slices

// Of a report and of the same again, by lines.
std::string first_difference(const std::string& bytes, const wire::Report& again) {
  wire::Report report;
  if (!report.ParseFromString(bytes)) return "it does not parse";
  std::istringstream a(report.DebugString()), b(again.DebugString());
  std::string was, is;
  for (int line = 1; std::getline(a, was) && std::getline(b, is); ++line)
    if (was != is) return "line " + std::to_string(line) + ": " + was + "; again: " + is;
  return "one is longer";
}

std::string sender(std::size_t agent, std::uint64_t generation) {
  return "h" + std::to_string(agent) + "." + std::to_string(generation);
}

}  // namespace

World::World(std::uint64_t seed, const Plan& plan, const std::string& place)
    : seed_(seed), plan_(plan), place_(place), random_(seed) {
  begin_ = clock_.now;
  // The job begins when somebody watches; until then daemons may die as they like.
  while (!daemon_ && !::testing::Test::HasFailure()) {
    if (plan.killed_amid_a_write > 0) files_->kill_at(1 + random_() % 300);
    start();
    if (files_->killed()) kill(false);
  }
  files_->revive();
  for (std::size_t a = 0; a < plan.agents; ++a) {
    std::vector<Rank*> of_agent;
    for (std::size_t r = 0; r < plan.ranks_each; ++r) {
      const std::int64_t half = plan.quiet.value / 2;
      const DurationNs later(half + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(half)));
      ranks_.push_back(std::make_unique<Rank>(ranks_.size() + 1, begin_ + later, random_));
      of_agent.push_back(ranks_.back().get());
    }
    agents_.emplace_back(a + 1, daemon::this_boot(), std::move(of_agent));
    to_daemon_.emplace_back(plan.network, random_);
    to_agent_.emplace_back(plan.network, random_);
  }
}

daemon::Options World::options() const {
  daemon::Options o;
  o.run = "r";
  o.archive = place_ + "/archive";
  o.levels = {kSlice, seconds(1), seconds(10)};
  o.store_memory_bytes = std::uint64_t{8} << 20;
  o.restarts = static_cast<std::uint32_t>(generation_);
  o.disk_budget_bytes = 0;
  o.disk_keep_free_bytes = 0;
  return o;
}

std::uint64_t World::records() const {
  std::uint64_t n = 0;
  for (const auto& rank : ranks_) n += rank->records().size();
  return n;
}

bool World::wrong(const std::string& what) const {
  ADD_FAILURE() << "MARGAY_SEED=" << seed_ << ", step " << step_ << ", "
                << (clock_.now - begin_).value / 1'000'000 << " ms, daemon " << generation_ << ": " << what;
  return true;
}

std::string World::status() const {
  std::string text = daemon_ ? "" : "no daemon; ";
  for (const auto& rank : ranks_) {
    text += "rank " + std::to_string(rank->source()) + " of " + std::to_string(rank->records().size()) +
            " records and " + std::to_string(rank->names()) + " names: ";
    const ingest::Source* source = nullptr;
    if (daemon_)
      if (const auto it = daemon_->model().ingest.sources().find(SourceId(rank->source()));
          it != daemon_->model().ingest.sources().end())
        source = &it->second;
    if (source == nullptr || source->streams.empty()) {
      text += "unknown; ";
      continue;
    }
    const ingest::Stream& stream = source->streams.begin()->second;
    text += std::to_string(stream.account.next) + " and " + std::to_string(source->states.size()) +
            (source->ended ? ", ended" : "") + (stream.gap_since ? ", some missing" : "") +
            (stream.waits ? ", some wait" : "") + "; ";
  }
  return text;
}

const Rank* World::rank_of(SourceId source) const {
  const auto it =
      std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& r) { return r->source() == source.value; });
  return it == ranks_.end() ? nullptr : it->get();
}

void World::start() {
  ++generation_;
  auto daemon =
      Daemon::start(options(), clock_, files_, [this](const std::string& agent, const wire::ToAgent& m) {
        const std::size_t a = std::stoul(agent.substr(1));
        if (agent == sender(a, generation_)) to_agent_[a].send(m.SerializeAsString(), clock_.now);
      });
  if (!daemon) {
    // Whoever started it tries again.
    next_start_ = clock_.now + milliseconds(50);
    if (!files_->killed() && daemon.error().code != ErrorCode::kIo)
      wrong("does not start: " + daemon.error().message);
    if (files_->killed()) ++kills_;
    files_->revive();
    return;
  }
  daemon_ = std::move(*daemon);
  if (!files_->killed()) check_archive();
}

void World::kill(bool power) {
  ++kills_;
  files_->kill_at(1);
  static_cast<void>(files_->change(""));
  daemon_.reset();
  if (power) files_->lose_power(random_);
  files_->revive();
  for (FaultyLink& link : to_daemon_) link.cut();
  for (FaultyLink& link : to_agent_) link.cut();
  next_start_ = clock_.now + DurationNs(static_cast<std::int64_t>(random_() % 500'000'000));
}

void World::carry() {
  for (std::size_t a = 0; a < agents_.size(); ++a) {
    for (const std::string& bytes : to_agent_[a].take(clock_.now)) {
      wire::ToAgent reply;
      if (reply.ParseFromString(bytes)) agents_[a].hear(reply, clock_.now);
    }
    const auto send = [&](const wire::ToCollector& m) {
      to_daemon_[a].send(m.SerializeAsString(), clock_.now);
      return true;
    };
    if (agents_[a].step(clock_.now, send)) to_daemon_[a].clear();
    if (!daemon_) continue;
    for (const std::string& bytes : to_daemon_[a].take(clock_.now))
      daemon_->receive(sender(a, generation_), bytes);
  }
}

void World::faults() {
  if (told_ != TimeNs() && clock_.now - told_ < seconds(1) && daemon_ &&
      once_in(random_, plan_.killed_at_the_end))
    return kill(false);
  // Behind its end nothing goes wrong any more: what there is must come to rest.
  if (clock_.now - begin_ >= plan_.lasts + kFaultsBehindTheEnd) {
    for (FaultyLink& link : to_daemon_) link.restore();
    for (FaultyLink& link : to_agent_) link.restore();
    return;
  }
  for (Agent& agent : agents_)
    if (once_in(random_, plan_.agent_killed)) {
      ++kills_;
      agent.restart();
    }
  if (once_in(random_, plan_.disk_fails)) files_->fail(1 + random_() % 6);
  if (once_in(random_, plan_.killed_amid_a_write)) files_->kill_at(1 + random_() % 20);
  if (!daemon_) return;
  const bool power = once_in(random_, plan_.power_lost);
  if (files_->killed() || power || once_in(random_, plan_.daemon_killed)) kill(power);
}

void World::step() {
  ++step_;
  clock_.now = clock_.now + milliseconds(10) + DurationNs(static_cast<std::int64_t>(random_() % 20'000'000));
  const bool over = clock_.now - begin_ >= plan_.lasts;
  for (const auto& rank : ranks_) {
    rank->run(clock_.now, plan_.overflow);
    if (over) rank->finalize(clock_.now);
  }
  clock_.now = clock_.now + milliseconds(20);  // no record lies behind it
  carry();
  if (daemon_) daemon_->step(!once_in(random_, plan_.slow_disk));
  faults();
  if (!daemon_ && clock_.now >= next_start_) start();
  if (daemon_ && files_->killed()) kill(false);
  if (daemon_) check();
}

void World::run() {
  while (!::testing::Test::HasFailure()) {
    step();
    const bool told =
        std::all_of(agents_.begin(), agents_.end(), [](const Agent& agent) { return agent.done(); });
    if (told) break;
    if (clock_.now - begin_ > plan_.lasts + seconds(60)) {
      wrong("the agents never got rid of what they had: " + status());
      return;
    }
  }
  // The end is for the next daemon to say again, if this one is killed amid it.
  told_ = clock_.now;
  while (!::testing::Test::HasFailure()) {
    if (daemon_) daemon_->finish();
    if (daemon_ && daemon_->finished()) break;
    step();
    if (clock_.now - told_ > seconds(60)) {
      wrong("the run never ended: " + status());
      return;
    }
  }
  if (!::testing::Test::HasFailure()) check_end();
}

void World::check_accounts(const Rank& rank, const ingest::Account& a) {
  const std::string who = "rank " + std::to_string(rank.source()) + ": ";
  if (!a.balanced())
    wrong(who + "produced " + std::to_string(a.produced) + " is not modelled " + std::to_string(a.modelled) +
          " + late " + std::to_string(a.late_dropped) + " + dropped " + std::to_string(a.probe_dropped) +
          " + wire_lost " + std::to_string(a.wire_lost) + " + rejected " + std::to_string(a.rejected) +
          " + in flight " + std::to_string(a.in_flight()));
  if (a.produced > rank.produced() || a.recorded > rank.records().size() || a.next > rank.records().size() ||
      a.probe_dropped > rank.dropped())
    wrong(who + "more is counted than there was");
  const bool allowed = plan_.agent_killed > 0 && a.rejected == 0;
  if (a.late_dropped + a.wire_lost + a.rejected > 0 && !allowed)
    wrong(who + "late " + std::to_string(a.late_dropped) + ", wire_lost " + std::to_string(a.wire_lost) +
          ", rejected " + std::to_string(a.rejected) + ", though its agent kept all");
}

void World::check_held(LeafIndex leaf, const Rank& rank) {
  const daemon::IngestModel& model = daemon_->model();
  const ingest::Source& source = model.ingest.sources().at(SourceId(rank.source()));
  const TimeNs position = model.slicer.leaf_state(leaf).position;
  const TimeNs from = slice_begin(slice_of(begin_ + HandClock::kOffset, kSlice), kSlice);
  ReferenceCells is;
  SliceIndex first = slice_of(from, kSlice);
  while (model.slicer.column(first) == nullptr) first = first + 1;
  for (SliceIndex s = first; model.slicer.column(s) != nullptr; s = s + 1)
    add_cells(*model.slicer.column(s), leaf, is);
  const ReferenceCells expected = margay::test::reference_cells(
      rank.reference(source.streams.at(0).account.next, HandClock::kOffset, source.states), from, position,
      kSlice);
  const std::string d = difference(is, expected, first, first + kEver, position, kSlice);
  if (!d.empty()) wrong("rank " + std::to_string(rank.source()) + ", cells that are held: " + d);
}

// Its account is that of all records, too.
void World::check_report() {
  const wire::Report& report = daemon_->report();
  std::map<std::string, std::uint64_t> is;
  for (const auto& c : report.health().counters()) is[c.name()] = c.value();
  const std::uint64_t sum = is["events_modelled"] + is["events_late_dropped"] + is["events_probe_dropped"] +
                            is["events_wire_lost"] + is["events_rejected"] + is["events_in_flight"];
  if (is["events_produced"] != sum)
    wrong("a report says produced " + std::to_string(is["events_produced"]) + ", and accounts for " +
          std::to_string(sum));
}

void World::check() {
  check_report();
  const daemon::IngestModel& model = daemon_->model();
  for (const auto& [id, source] : model.ingest.sources()) {
    const Rank* rank = rank_of(id);
    if (rank == nullptr) {
      wrong("a source that there is not");
      return;
    }
    for (const auto& [index, stream] : source.streams) check_accounts(*rank, stream.account);
  }
  // Of what was lost nobody knows when, so that there is no reference.
  if (plan_.agent_killed > 0) return check_rows();
  // The reference costs as much as there was: one leaf a step.
  const auto& leaves = model.ingest.leaf_owner();
  if (leaves.empty() || ::testing::Test::HasFailure()) return;
  const LeafIndex leaf(static_cast<std::uint32_t>(step_ % leaves.size()));
  check_held(leaf, *rank_of(leaves[leaf.value].first));
}

// The cells of each closed slice sum to its duration.
void World::check_rows() {
  const slicer::Slicer& slicer = daemon_->model().slicer;
  for (SliceIndex s = slicer.next_open() - 1; slicer.column(s) != nullptr; s = s - 1) {
    const model::SliceColumn& c = *slicer.column(s);
    for (std::uint32_t leaf = 0; leaf < c.leaves(); ++leaf) {
      std::int64_t sum = 0;
      for (const std::int64_t ns : c.duration_ns(LeafIndex(leaf))) sum += ns;
      if (sum != kSlice.value && sum != 0)  // 0: a leaf that came later
        wrong("leaf " + std::to_string(leaf) + " has " + std::to_string(sum) + " ns in a slice");
    }
  }
}

// What the archive held when this daemon opened it: one cut, whole.
void World::check_archive() {
  if (plan_.agent_killed > 0) return;
  const store::Resume& r = daemon_->resume();
  const TimeNs from = slice_begin(slice_of(begin_ + HandClock::kOffset, kSlice), kSlice);
  const SliceIndex first = slice_of(from, kSlice);
  const auto columns = daemon_->archive().read_columns(LevelIndex(0), first, first + kEver);
  if (!columns) {
    wrong(columns.error().message);
    return;
  }
  for (const store::StreamRecord& stream : r.streams) {
    const Rank& rank = *rank_of(stream.source);
    const auto source = std::find_if(r.sources.begin(), r.sources.end(),
                                     [&](const auto& s) { return s.source == stream.source; });
    const auto leaf = std::find_if(r.leaves.begin(), r.leaves.end(),
                                   [&](const auto& l) { return l.source == stream.source; });
    const auto state = leaf == r.leaves.end()
                           ? r.leaf_states.end()
                           : std::find_if(r.leaf_states.begin(), r.leaf_states.end(),
                                          [&](const auto& s) { return s.leaf == leaf->leaf; });
    if (source == r.sources.end() || state == r.leaf_states.end()) {
      wrong("the archive has a stream without its source, leaf or state");
      return;
    }
    ReferenceCells is;
    for (const model::SliceColumn& c : *columns) add_cells(c, leaf->leaf, is);
    const ReferenceCells expected = margay::test::reference_cells(
        rank.reference(stream.next, HandClock::kOffset, source->names), from, state->position, kSlice);
    const std::string d = difference(is, expected, first, first + kEver, state->position, kSlice);
    if (!d.empty()) wrong("rank " + std::to_string(rank.source()) + ", in the archive: " + d);
  }
}

// What the daemons reported, each of a part of the run, is what one analysis of all of it comes to, to the
// byte.
void World::check_replay(const store::Archive& archive, const store::Resume& resume) {
  std::map<std::uint64_t, std::string> live;  // by position in the journal
  const Status read =
      archive.read_reports(TimeNs(INT64_MIN), TimeNs(INT64_MAX), [&](store::ReportRecord&& r) {
        wire::Report report;
        EXPECT_TRUE(report.ParseFromString(r.bytes));
        live[report.position()] = daemon::content_of(report).SerializeAsString();
        return true;
      });
  if (!read || live.empty()) {
    wrong("the archive has no reports");
    return;
  }
  daemon::ReplayListener listener;
  listener.after = [&](const daemon::Analyst& analyst) {
    const auto at = live.find(analyst.position());
    if (at == live.end()) return;
    const wire::Report again = daemon::content_of(analyst.report());
    if (at->second != again.SerializeAsString())
      wrong("decision " + std::to_string(at->first) +
            " is not what a replay says: " + first_difference(at->second, again));
    live.erase(at);
  };
  daemon::Options settings;
  std::unique_ptr<daemon::Analyst> analyst;
  const auto result = daemon::replay(archive, resume, {}, settings, listener, analyst);
  if (!result)
    wrong("no replay: " + result.error().message);
  else if (!result->repeats || !live.empty())
    wrong("the replay is not exact: " + std::to_string(live.size()) + " reports are not in it");
}

// Over all daemons, each slice closes once.
void World::check_journal(const store::Archive& archive) {
  std::optional<SliceIndex> last;
  const Status read = archive.read_journal(SliceIndex(0), 0, [&](store::JournalEntry&& e) {
    if (e.kind != store::JournalEntry::Kind::kClosed) return true;
    if (last && e.slice <= *last) wrong("slice " + std::to_string(e.slice.value) + " closes again");
    last = e.slice;
    return true;
  });
  if (!read || !last) wrong("the journal has no slices");
}

void World::check_end() {
  daemon_->end();
  daemon_.reset();
  const auto archive = store::Archive::open(options().archive, store::Mode::kReadOnly);
  if (!archive) {
    wrong(archive.error().message);
    return;
  }
  const auto r = (*archive)->load();
  if (!r) {
    wrong(r.error().message);
    return;
  }
  EXPECT_TRUE(r->run.end);
  EXPECT_EQ(r->streams.size(), ranks_.size());
  check_journal(**archive);
  check_replay(**archive, *r);
  const TimeNs from = slice_begin(slice_of(begin_ + HandClock::kOffset, kSlice), kSlice);
  for (const store::StreamRecord& stream : r->streams) {
    const Rank& rank = *rank_of(stream.source);
    EXPECT_EQ(stream.produced, rank.produced());
    EXPECT_EQ(stream.modelled + stream.late_dropped + stream.wire_lost, rank.records().size());
    EXPECT_EQ(stream.probe_dropped, rank.dropped());
    lost_ += stream.wire_lost + stream.late_dropped;
  }
  if (plan_.agent_killed > 0) return;
  EXPECT_EQ(lost_, 0u);
  const std::vector<DurationNs> levels = options().levels;
  TimeNs end{};  // behind everything: a gap tells of what was before it
  for (const auto& rank : ranks_) end = std::max(end, rank->end() + HandClock::kOffset + seconds(20));
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const SliceIndex first = slice_of(from, levels[level]);
    const auto columns =
        (*archive)->read_columns(LevelIndex(static_cast<std::uint8_t>(level)), first, first + kEver);
    if (!columns || columns->empty()) {
      if (level == 0) wrong("the archive has no slices");
      continue;  // a run that is shorter than a coarse slice
    }
    for (const store::LeafRecord& leaf : r->leaves) {
      const Rank& rank = *rank_of(leaf.source);
      const auto source = std::find_if(r->sources.begin(), r->sources.end(),
                                       [&](const auto& s) { return s.source == leaf.source; });
      ReferenceCells is;
      for (const model::SliceColumn& c : *columns) add_cells(c, leaf.leaf, is);
      const std::string d =
          difference(is,
                     margay::test::reference_cells(
                         rank.reference(rank.records().size(), HandClock::kOffset, source->names), from, end,
                         levels[level]),
                     first, columns->back().index, end, levels[level]);
      if (!d.empty())
        wrong("level " + std::to_string(level) + ", rank " + std::to_string(rank.source()) + ": " + d);
    }
  }
}

}  // namespace margay::simulation

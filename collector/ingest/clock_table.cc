#include "margay/ingest/clock_table.h"

#include <algorithm>
#include <set>

#include "host_time.h"

namespace margay::ingest {
namespace {

constexpr std::size_t kMostClocks = 1024;
constexpr std::uint32_t kQuickAnswers = 8;
constexpr DurationNs kQuick = milliseconds(100);
constexpr DurationNs kUsual = seconds(1);
constexpr DurationNs kLongestRound = seconds(10);
constexpr DurationNs kWallClockError = seconds(1);
constexpr std::int64_t kLatestHostNs = std::int64_t{1} << 61;  // sums of two such times do not overflow

bool is_of(const Source& source, const std::string& boot_id) {
  const auto boot = source.attributes.find("boot_id");
  return boot != source.attributes.end() && boot->second == boot_id;
}

}  // namespace

void ClockTable::meet(Source& source, const wire::ClockPair& wall) {
  if (is_of(source, options_.boot_id)) {
    source.clock_offset = options_.clock_offset;
    source.clock_error = DurationNs(0);
  } else if (!source.clock) {
    source.clock_offset = DurationNs(bounded(bounded(wall.realtime_ns()) - bounded(wall.monotonic_ns())));
    source.clock_error = kWallClockError;
    source.clock = clock_of(source);
    next_asking_ = TimeNs();  // at the next tick
  }
}

void ClockTable::restore(Source& source) {
  if (!is_of(source, options_.boot_id)) source.clock = clock_of(source);
}

std::shared_ptr<ClockMap> ClockTable::clock_of(const Source& source) {
  const auto boot = source.attributes.find("boot_id");
  const std::pair machine(source.owner, boot == source.attributes.end() ? std::string() : boot->second);
  if (const auto it = clocks_.find(machine); it != clocks_.end()) return it->second;
  auto clock = std::make_shared<ClockMap>(source.clock_offset, source.clock_error);
  if (clocks_.size() >= kMostClocks)
    std::erase_if(clocks_, [](const auto& c) { return c.second.use_count() == 1; });
  if (clocks_.size() < kMostClocks) clocks_.emplace(machine, clock);  // else it has one of its own
  return clock;
}

void ClockTable::ask(TimeNs now) {
  if (now < next_asking_) return;
  next_asking_ = now + milliseconds(25);
  for (const auto& [id, source] : sources_.all()) {
    if (source.ended || !source.clock) continue;
    Agent* const agent = agents_.find(source.agent);
    if (agent == nullptr || now < agent->next_ask) continue;
    agent->next_ask = now + (agent->answers < kQuickAnswers ? kQuick : kUsual);
    replies_.to(source.agent).mutable_ask();  // the time is put in when it is sent
  }
}

void ClockTable::stamp(std::vector<std::pair<std::string, wire::ToAgent>>& replies, TimeNs now) {
  for (auto& [to, message] : replies)
    if (Agent* const agent = agents_.find(to); agent != nullptr && message.has_ask()) {
      message.mutable_ask()->set_asked_ns(now.value);
      agent->asked = now;
    }
}

void ClockTable::on_echo(const wire::ClockEcho& echo, const Sender& from) {
  Agent* const agent = agents_.find(from.agent);
  // What it says it answers is looked at before anything is reckoned from it.
  const bool asked = agent != nullptr && agent->asked != TimeNs() && agent->asked.value == echo.asked_ns();
  const DurationNs there_and_back = asked ? from.now - agent->asked : DurationNs(0);
  if (!asked || echo.received_ns() <= 0 || echo.answered_ns() < echo.received_ns() ||
      echo.answered_ns() > kLatestHostNs ||
      DurationNs(echo.answered_ns() - echo.received_ns()) > there_and_back ||
      there_and_back > kLongestRound) {
    ++counters_.clock_refused;
    return;
  }
  agent->asked = TimeNs();
  ++agent->answers;
  const std::int64_t inside = echo.answered_ns() - echo.received_ns();
  ClockSample sample;
  sample.host = TimeNs(echo.received_ns() + inside / 2);
  sample.trace = TimeNs(echo.asked_ns() + there_and_back.value / 2) + options_.clock_offset;
  sample.error = DurationNs((there_and_back.value - inside) / 2 + 1);
  std::set<ClockMap*> taken;
  for (auto& [id, source] : sources_.all()) {
    if (source.agent != from.agent || source.owner != from.owner || source.ended || !source.clock) continue;
    if (taken.insert(source.clock.get()).second) {
      const std::uint64_t steps = source.clock->steps();
      source.clock->add(sample);
      counters_.clock_steps += source.clock->steps() - steps;
    }
    source.clock_offset = source.clock->offset_at(sample.host);
    source.clock_error = source.clock->error();
    source.dirty = true;
    tell_slices(source, from.agent);
    if (source.streams.empty())
      replies_.ask_for_hello(from.agent, source.id);  // what was put off is to be sent again
  }
}

void ClockTable::tell_slices(const Source& source, const std::string& agent) {
  if (options_.slice.value <= 0 || (source.clock && !source.clock->known())) return;
  wire::Slices& slices = *replies_.to(agent).mutable_slices();
  slices.set_slice_ns(options_.slice.value);
  slices.set_origin_ns(-source.clock_offset.value % options_.slice.value);
  slices.set_budget(options_.record_budget);
}

}  // namespace margay::ingest

// Clocks of other machines: asked often at first, then once a second, over the same network path as the data.
#include <algorithm>
#include <set>

#include "margay/ingest/ingest.h"

namespace margay::ingest {
namespace {

constexpr std::size_t kMostClocks = 1024;
constexpr std::uint32_t kQuickAnswers = 8;
constexpr DurationNs kQuick = milliseconds(100);
constexpr DurationNs kUsual = seconds(1);
constexpr DurationNs kLongestRound = seconds(10);
constexpr std::int64_t kLatestHostNs = std::int64_t{1} << 61;  // sums of two such times do not overflow

}  // namespace

std::shared_ptr<ClockMap> Ingest::clock_of(const Source& source) {
  const auto boot = source.attributes.find("boot_id");
  const std::pair machine(source.owner, boot == source.attributes.end() ? std::string() : boot->second);
  if (const auto it = clocks_.find(machine); it != clocks_.end()) return it->second;
  auto clock = std::make_shared<ClockMap>(source.clock_offset, source.clock_error);
  if (clocks_.size() >= kMostClocks)
    std::erase_if(clocks_, [](const auto& c) { return c.second.use_count() == 1; });
  if (clocks_.size() < kMostClocks) clocks_.emplace(machine, clock);  // else it has one of its own
  return clock;
}

void Ingest::ask_clocks(TimeNs now) {
  if (now < next_asking_) return;
  next_asking_ = now + milliseconds(25);
  for (const auto& [id, source] : sources_) {
    if (source.ended || !source.clock) continue;
    const auto it = agents_.find(source.agent);
    if (it == agents_.end() || now < it->second.next_ask) continue;
    it->second.next_ask = now + (it->second.answers < kQuickAnswers ? kQuick : kUsual);
    reply(source.agent).mutable_ask();  // the time is put in when it is sent
  }
}

void Ingest::on_echo(const wire::ClockEcho& echo, const std::string& agent, TimeNs now) {
  const auto it = agents_.find(agent);
  // What it says it answers is looked at before anything is reckoned from it.
  const bool asked =
      it != agents_.end() && it->second.asked != TimeNs() && it->second.asked.value == echo.asked_ns();
  const DurationNs there_and_back = asked ? now - it->second.asked : DurationNs(0);
  if (!asked || echo.received_ns() <= 0 || echo.answered_ns() < echo.received_ns() ||
      echo.answered_ns() > kLatestHostNs ||
      DurationNs(echo.answered_ns() - echo.received_ns()) > there_and_back ||
      there_and_back > kLongestRound) {
    ++counters_.clock_refused;
    return;
  }
  it->second.asked = TimeNs();
  ++it->second.answers;
  const std::int64_t inside = echo.answered_ns() - echo.received_ns();
  ClockSample sample;
  sample.host = TimeNs(echo.received_ns() + inside / 2);
  sample.trace = TimeNs(echo.asked_ns() + there_and_back.value / 2) + options_.clock_offset;
  sample.error = DurationNs((there_and_back.value - inside) / 2 + 1);
  std::set<ClockMap*> taken;
  for (auto& [id, source] : sources_) {
    if (source.agent != agent || source.owner != owner_ || source.ended || !source.clock) continue;
    if (taken.insert(source.clock.get()).second) {
      const std::uint64_t steps = source.clock->steps();
      source.clock->add(sample);
      counters_.clock_steps += source.clock->steps() - steps;
    }
    source.clock_offset = source.clock->offset_at(sample.host);
    source.clock_error = source.clock->error();
    source.dirty = true;
    tell_slices(source, agent);
    if (source.streams.empty()) wants_hello(agent, source.id);  // what was put off is to be sent again
  }
}

}  // namespace margay::ingest

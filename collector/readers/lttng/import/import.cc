#include "margay/lttng_import/import.h"

#include "consumer_sink.h"
#include "margay/lttng_rules/interpreter.h"
#include "margay/lttng_trace/trace_reader.h"

namespace margay::lttng_import {
namespace {

constexpr std::uint64_t kEventsAtOnce = 50'000;

Result<lttng_rules::RuleSet> rules_of(const std::vector<std::string>& files) {
  lttng_rules::RuleSet all;
  for (const std::string& file : files) {
    auto more = lttng_rules::RuleSet::load(file);
    if (!more) return tl::unexpected(more.error());
    if (Status ok = all.add(*more); !ok) return tl::unexpected(ok.error());
  }
  for (const std::string& set : lttng_rules::RuleSet::shipped_names()) {
    auto more = lttng_rules::RuleSet::shipped(set);
    if (!more) return tl::unexpected(more.error());
    if (Status ok = all.add(*more); !ok) return tl::unexpected(ok.error());
  }
  return all;
}

// Tells the consumer's sink the clock's offset, which the first event brings.
class Offset final : public lttng::EventSink {
 public:
  Offset(lttng_rules::Interpreter& next, ConsumerSink& sink) : next_(next), sink_(sink) {}
  void set(const lttng::TraceReader* reader) { reader_ = reader; }
  TimeNs newest() const { return newest_; }
  void on_class(const lttng::EventClass& cls) override { next_.on_class(cls); }
  void on_event(const lttng::Event& event) override {
    if (!known_ && reader_ != nullptr) {
      sink_.set_offset(reader_->offset());
      known_ = true;
    }
    newest_ = std::max(newest_, event.at);
    next_.on_event(event);
  }
  void on_discarded(const lttng::Discarded& discarded) override { next_.on_discarded(discarded); }
  void on_progress(TimeNs until) override {
    if (known_) next_.on_progress(until);
  }

 private:
  lttng_rules::Interpreter& next_;
  ConsumerSink& sink_;
  const lttng::TraceReader* reader_ = nullptr;
  TimeNs newest_{};
  bool known_ = false;
};

void tell(const lttng_rules::Interpreter& interpreter, const lttng::TraceReader& trace,
          const ConsumerSink& sink, const trace::ReadOptions& options) {
  if (!options.problem) return;
  std::uint64_t told = 0;
  const auto say = [&](const std::string& sentence) {
    if (told++ < trace::ReadOptions::kMostTold) options.problem(sentence);
  };
  for (const lttng::Damage& d : trace.damage())
    say(d.place + ": " + d.what + "; " + std::to_string(d.events) + " events before that were read");
  for (const auto& u : interpreter.unmatched())
    say("no rule is for " + std::to_string(u.events) + " events " + u.name);
  for (const std::string& p : interpreter.problems()) say(p);
  if (sink.names_left_out() > 0)
    say(std::to_string(sink.names_left_out()) + " states of more than " +
        std::to_string(ConsumerSink::kMostNames) + " names are (other states)");
  if (const std::uint64_t n = interpreter.account().left_out; n > 0)
    say(std::to_string(n) + " events of threads beyond " + std::to_string(ConsumerSink::kMostLeaves) +
        " are left out");
}

}  // namespace

Result<Summary> read(const std::string& directory, const std::vector<std::string>& rules,
                     const trace::ReadOptions& options, trace::Consumer& consumer) {
  auto set = rules_of(rules);
  if (!set) return tl::unexpected(set.error());
  ConsumerSink sink(consumer);
  lttng_rules::ElfSymbols symbols;
  lttng_rules::Interpreter interpreter(std::move(*set), sink, symbols);
  Offset offset(interpreter, sink);
  auto trace = lttng::TraceReader::open_directory(directory, offset);
  if (!trace) return tl::unexpected(trace.error());
  offset.set(trace->get());
  for (;;) {
    const auto step = (*trace)->run_once(kEventsAtOnce);
    if (!step) return tl::unexpected(step.error());
    if (!sink.status()) return tl::unexpected(sink.status().error());
    if (options.step)
      if (Status ok = options.step(sink.counts()); !ok) return tl::unexpected(ok.error());
    if (*step == lttng::Step::kEnd) break;
  }
  interpreter.finish(offset.newest());
  if (!sink.status()) return tl::unexpected(sink.status().error());
  const lttng::ReaderCounts& read = (*trace)->counts();
  if (read.damaged_streams + read.damaged_traces > 0 && !options.keep_going) {
    const auto& first = (*trace)->damage().front();
    return fail(ErrorCode::kCorrupt,
                first.place + ": " + first.what + " (--keep-going reads what can be read)");
  }
  tell(interpreter, **trace, sink, options);
  const lttng_rules::Account a = interpreter.account();
  Summary out;
  out.counts = sink.counts();
  out.events = a.seen;
  out.used = a.used;
  out.ignored = a.ignored;
  out.unmatched = a.unmatched;
  out.other = a.unattributed + a.too_deep + a.leave_without_enter + a.leave_after_loss + a.left_out;
  out.discarded = a.discarded;
  out.damaged_streams = read.damaged_streams + read.damaged_traces;
  return out;
}

}  // namespace margay::lttng_import

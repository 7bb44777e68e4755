#include "margay/lttng_rules/interpreter.h"

#include <algorithm>
#include <functional>

#include "interpreter_impl.h"

namespace margay::lttng_rules {
namespace {

// What must be equal where a state is entered and left.
std::uint64_t key_of(const Action& action, const lttng::Event& event) {
  const BoundField& field = action.fields[0];
  if (!field.is_there()) return 0;
  if (field.type == lttng::FieldType::kText)
    return std::hash<std::string_view>{}(event.values->text(field.index));
  return static_cast<std::uint64_t>(event.values->integer(field.index));
}

double value_of(const Action& action, const lttng::Event& event) {
  const BoundField& field = action.fields[0];
  if (field.type == lttng::FieldType::kReal) return event.values->real(field.index);
  const std::int64_t value = event.values->integer(field.index);
  return field.type == lttng::FieldType::kUnsigned ? static_cast<double>(static_cast<std::uint64_t>(value))
                                                   : static_cast<double>(value);
}

bool is_of_own_thread(Role role) {
  return role == Role::kEnter || role == Role::kLeave || role == Role::kMark || role == Role::kVariable;
}

}  // namespace

Interpreter::Interpreter(RuleSet rules, reader::StateSink& sink, SymbolSource& symbols, Limits limits)
    : impl_(std::make_unique<Impl>(std::move(rules), sink, symbols, limits)) {}
Interpreter::~Interpreter() = default;

void Interpreter::on_class(const lttng::EventClass& cls) {
  impl_->bindings.add(cls);
}

void Interpreter::on_event(const lttng::Event& event) {
  Impl& impl = *impl_;
  Outcome outcome = Outcome::kUnmatched;
  if (event.cls < impl.bindings.size()) {
    Bindings::Class& cls = impl.bindings.at(event.cls);
    ++cls.events;
    if (cls.fate == Bindings::Fate::kIgnored) outcome = Outcome::kIgnored;
    if (cls.fate == Bindings::Fate::kActions) outcome = impl.act(cls, event);
  }
  ++impl.bins[static_cast<std::size_t>(outcome)];
}

void Interpreter::on_discarded(const lttng::Discarded& discarded) {
  impl_->lose(discarded);
}

void Interpreter::on_progress(TimeNs until) {
  impl_->sink.cover(until);
}

Outcome Interpreter::Impl::act(const Bindings::Class& cls, const lttng::Event& event) {
  const Action* actions = bindings.actions(cls);
  Found own;
  if (cls.count == 1) return act(actions[0], cls, event, own);
  Outcome best = Outcome::kIgnored;
  unsigned done = 0;  // a bit a role: a rule with a filter lets those after it have what it does not take
  for (std::uint32_t i = 0; i < cls.count; ++i) {
    const unsigned bit = 1U << static_cast<unsigned>(actions[i].role);
    if ((done & bit) != 0 && actions[i].role != Role::kVariable) continue;
    const Outcome outcome = act(actions[i], cls, event, own);
    if (outcome != Outcome::kIgnored) done |= bit;
    best = std::min(best, outcome);
  }
  return best;
}

Outcome Interpreter::Impl::act(const Action& action, const Bindings::Class& cls, const lttng::Event& event,
                               Found& own) {
  if (is_of_own_thread(action.role)) {
    if (own.thread == kNothing) own = own_thread(cls, event);
    if (own.thread == kNothing) return own.why;
    Thread& thread = threads.thread(own.thread);
    if (action.filter != kNothing && !passes(threads.process(thread.process), action.filter))
      return Outcome::kIgnored;
    return act_on_own(action, event, thread);
  }
  own = Found();  // what follows may end it
  switch (action.role) {
    case Role::kSwitch:
      return switch_threads(action, event);
    case Role::kWakeup:
      return wake_up(action, event);
    case Role::kThread:
      return learn_thread(action, event);
    case Role::kThreadEnd:
      return learn_thread_end(action, event);
    default:
      return learn_process(action, event);
  }
}

Outcome Interpreter::Impl::act_on_own(const Action& action, const lttng::Event& event, Thread& thread) {
  if (thread.out != Thread::Out::kNo) {  // that it runs again was not told
    ++odd.unbalanced;
    pop_out(thread, event.at);
  }
  if (action.role == Role::kLeave) return leave(thread, action.slot, key_of(action, event), event.at);
  const reader::NameId name = names.of(action, event, thread, threads.process(thread.process));
  if (action.role == Role::kEnter && action.once) leave_missed(thread, action.slot, event.at);
  if (action.role == Role::kEnter) return enter(thread, action.slot, key_of(action, event), name, event.at);
  if (!thread.begun) begin(thread, event.at);
  if (thread.id == reader::kNoThread) return Outcome::kLeftOut;
  if (action.role == Role::kMark)
    sink.mark(thread.id, name, event.at);
  else
    sink.variable(thread.id, name, value_of(action, event), event.at);
  return Outcome::kUsed;
}

Outcome Interpreter::Impl::enter(Thread& thread, std::uint32_t slot, std::uint64_t key, reader::NameId name,
                                 TimeNs at) {
  if (thread.deep > 0 || thread.stack.size() >= limits.depth) {
    ++thread.deep;
    return Outcome::kTooDeep;
  }
  if (!thread.begun) begin(thread, at);
  if (thread.id == reader::kNoThread) return Outcome::kLeftOut;
  thread.stack.push_back({key, slot, name});
  sink.enter(thread.id, name, at);
  return Outcome::kUsed;
}

// A thread is in such a state once at a time: where it is entered again, its end was not seen.
void Interpreter::Impl::leave_missed(Thread& thread, std::uint32_t slot, TimeNs at) {
  const auto first = std::find_if(thread.stack.begin(), thread.stack.end(),
                                  [slot](const Frame& frame) { return frame.slot == slot; });
  for (auto n = thread.stack.end() - first; n > 0; --n) {
    ++odd.unbalanced;
    pop(thread, at);
  }
}

void Interpreter::Impl::pop(Thread& thread, TimeNs at) {
  sink.leave(thread.id, thread.stack.back().name, at);
  thread.stack.pop_back();
}

Outcome Interpreter::Impl::leave(Thread& thread, std::uint32_t slot, std::uint64_t key, TimeNs at) {
  if (thread.begun && thread.id == reader::kNoThread) return Outcome::kLeftOut;
  if (thread.deep > 0) {
    --thread.deep;
    return Outcome::kTooDeep;
  }
  std::size_t inner = 0;  // states that are open inside of it
  const std::size_t size = thread.stack.size();
  for (; inner < size; ++inner) {
    const Frame& frame = thread.stack[size - 1 - inner];
    if (frame.slot == slot && frame.key == key) break;
  }
  if (inner == size) {
    if (thread.excused == 0) return Outcome::kLeaveWithoutEnter;
    --thread.excused;
    return Outcome::kLeaveAfterLoss;
  }
  odd.unbalanced += inner;
  for (std::size_t i = 0; i <= inner; ++i) pop(thread, at);
  return Outcome::kUsed;
}

// One that was told to have another name is another program now, or another process of the same number.
void Interpreter::Impl::learn_process_name(std::uint32_t place, std::string_view name, TimeNs at) {
  if (threads.process(place).told && threads.process(place).name != name) {
    const std::int64_t pid = threads.process(place).pid;
    end_process(place, at);
    place = threads.add_process(pid);
  }
  threads.process(place).told = true;
  name_process(threads.process(place), name);
}

Outcome Interpreter::Impl::learn_process(const Action& action, const lttng::Event& event) {
  if (event.vpid < 0) return Outcome::kUnattributed;
  std::uint32_t place = threads.find_process(event.vpid);
  if (place == FlatMap::kNone) place = add_process(event.vpid, event.at);
  if (place == FlatMap::kNone) return Outcome::kLeftOut;
  if (action.role == Role::kProcess) {
    learn_process_name(place, event.values->text(action.fields[0].index), event.at);
    return Outcome::kUsed;
  }
  Process& process = threads.process(place);
  const auto integer = [&action, &event](std::size_t i) {
    return static_cast<std::uint64_t>(event.values->integer(action.fields[i].index));
  };
  if (action.role == Role::kUnload)
    process.map.remove(integer(0));
  else if (!process.map.add(integer(0), integer(1), event.values->text(action.fields[2].index),
                            limits.libraries))
    return Outcome::kIgnored;
  process.serial = threads.new_serial();  // names of addresses may be others now
  return Outcome::kUsed;
}

void Interpreter::end_process(std::int64_t pid, TimeNs at) {
  const std::uint32_t process = impl_->threads.find_process(pid);
  if (process != FlatMap::kNone) impl_->end_process(process, at);
}

void Interpreter::finish(TimeNs at) {
  for (std::uint32_t i = 0; i < impl_->threads.places(); ++i)
    if (impl_->threads.thread(i).tid >= 0) impl_->end_thread(i, at);
  for (std::uint32_t p = 0; p < impl_->threads.process_places(); ++p)
    if (impl_->threads.process(p).is_known) impl_->end_process(p, at);
  impl_->current_tid.clear();
  impl_->last_thread.clear();
}

Account Interpreter::account() const {
  const auto bin = [this](Outcome outcome) { return impl_->bins[static_cast<std::size_t>(outcome)]; };
  Account a = impl_->odd;
  for (const std::uint64_t n : impl_->bins) a.seen += n;
  a.used = bin(Outcome::kUsed);
  a.ignored = bin(Outcome::kIgnored);
  a.unmatched = bin(Outcome::kUnmatched);
  a.unattributed = bin(Outcome::kUnattributed);
  a.too_deep = bin(Outcome::kTooDeep);
  a.leave_without_enter = bin(Outcome::kLeaveWithoutEnter);
  a.leave_after_loss = bin(Outcome::kLeaveAfterLoss);
  a.left_out = bin(Outcome::kLeftOut);
  a.names_left_out = impl_->names.left_out();
  return a;
}

std::vector<Unmatched> Interpreter::unmatched() const {
  return impl_->bindings.unmatched();
}
std::vector<std::string> Interpreter::unused_rules() const {
  return impl_->bindings.unused_rules();
}
const std::vector<std::string>& Interpreter::problems() const {
  return impl_->bindings.problems();
}

}  // namespace margay::lttng_rules

// What the scheduler says. A thread that is switched out has that as its innermost state, on top of whatever
// it was in, until it is switched in again.
#include <algorithm>

#include "interpreter_impl.h"

namespace margay::lttng_rules {
namespace {

// Of prev_state, as the kernel numbers what a thread does that leaves its CPU.
enum class Why { kRunnable, kBlocked, kUninterruptible, kStopped, kDead };
Why why_of(std::int64_t state) {
  const auto bits = static_cast<std::uint64_t>(state);
  if ((bits & 0x02) != 0) return Why::kUninterruptible;
  if ((bits & 0x01) != 0) return Why::kBlocked;
  if ((bits & 0x0c) != 0) return Why::kStopped;  // by a signal, or a debugger
  if ((bits & 0x30) != 0) return Why::kDead;
  return (bits & 0xc0) != 0 ? Why::kBlocked : Why::kRunnable;  // parked or idle, of kernel threads
}

reader::NameId name_of(const SwitchNames& names, Why why) {
  switch (why) {
    case Why::kRunnable:
      return names.runnable;
    case Why::kBlocked:
      return names.blocked;
    case Why::kUninterruptible:
      return names.uninterruptible;
    default:
      return names.stopped;
  }
}

bool is_wanted(reader::NameId name) {
  return name.value != kNothing;
}

}  // namespace

void Interpreter::Impl::pop_out(Thread& thread, TimeNs at) {
  if (thread.out == Thread::Out::kDeep) --thread.deep;
  if (thread.out == Thread::Out::kOpen) pop(thread, at);
  thread.out = Thread::Out::kNo;
}

Outcome Interpreter::Impl::enter_out(Thread& thread, reader::NameId name, TimeNs at) {
  if (!is_wanted(name)) return Outcome::kUsed;
  const Outcome outcome = enter(thread, kOutSlot, 0, name, at);
  thread.out = outcome == Outcome::kUsed      ? Thread::Out::kOpen
               : outcome == Outcome::kTooDeep ? Thread::Out::kDeep
                                              : Thread::Out::kNo;
  return outcome;
}

Outcome Interpreter::Impl::switch_threads(const Action& action, const lttng::Event& event) {
  const auto integer = [&action, &event](std::size_t i) {
    return event.values->integer(action.fields[i].index);
  };
  const std::int64_t prev = integer(0);
  const std::int64_t next = integer(1);
  if (event.cpu >= 0 && event.cpu < kMostCpus) {
    const auto cpu = static_cast<std::size_t>(event.cpu);
    if (current_tid.size() <= cpu) current_tid.resize(cpu + 1, -1);
    current_tid[cpu] = next;
  }
  Outcome best = Outcome::kIgnored;
  if (prev > 0) best = std::min(best, switch_out(action, event, prev, integer(4)));
  if (next > 0) best = std::min(best, switch_in(action, event, next));
  return best;
}

// The thread of this number, if the rule is for it.
Found Interpreter::Impl::scheduled(const Action& action, const lttng::Event& event, std::int64_t tid,
                                   const BoundField& comm) {
  std::uint32_t i = threads.find_tid(tid);
  if (i == FlatMap::kNone) i = add_thread(tid, tid, true, event.at);
  if (i == FlatMap::kNone) return {kNothing, Outcome::kLeftOut};
  Thread& thread = threads.thread(i);
  if (thread.over) return {kNothing, Outcome::kIgnored};
  thread.last = event.at;
  const std::string_view name = event.values->text(comm.index);
  if (!name.empty() && name != thread.name) {
    thread.named_by_kernel = true;
    rename(thread, name);
  }
  if (thread.left_out) return {kNothing, Outcome::kIgnored};
  if (action.filter != kNothing && !passes(threads.process(thread.process), action.filter))
    return {kNothing, Outcome::kIgnored};
  return {i, Outcome::kUsed};
}

Outcome Interpreter::Impl::switch_out(const Action& action, const lttng::Event& event, std::int64_t tid,
                                      std::int64_t state) {
  const Why why = why_of(state);
  if (why == Why::kDead) {
    const std::uint32_t dead = threads.find_tid(tid);
    if (dead == FlatMap::kNone) return Outcome::kIgnored;
    if (!threads.thread(dead).over) thread_is_over(dead, event.at);
    const std::uint32_t process = threads.thread(dead).process;
    threads.thread(dead).stand_in = false;
    end_thread(dead, event.at);
    if (threads.process(process).entries == 0) end_process(process, event.at);
    return Outcome::kUsed;
  }
  const Found found = scheduled(action, event, tid, action.fields[2]);
  if (found.thread == kNothing) return found.why;
  Thread& thread = threads.thread(found.thread);
  if (thread.out != Thread::Out::kNo) {  // that it was switched in was not told
    ++odd.unbalanced;
    pop_out(thread, event.at);
  }
  if (!thread.stack.empty() && thread.stack.back().slot == kOnCpuSlot) pop(thread, event.at);
  thread.where = why == Why::kRunnable ? Thread::Where::kRunnable : Thread::Where::kBlocked;
  return enter_out(thread, name_of(bindings.switch_names(action.switch_names), why), event.at);
}

Outcome Interpreter::Impl::switch_in(const Action& action, const lttng::Event& event, std::int64_t tid) {
  const Found found = scheduled(action, event, tid, action.fields[3]);
  if (found.thread == kNothing) return found.why;
  Thread& thread = threads.thread(found.thread);
  pop_out(thread, event.at);
  thread.where = Thread::Where::kRunning;
  const reader::NameId on_cpu = bindings.switch_names(action.switch_names).on_cpu;
  if (thread.stack.empty() && is_wanted(on_cpu)) return enter(thread, kOnCpuSlot, 0, on_cpu, event.at);
  return Outcome::kUsed;
}

// What a blocked thread waits for from now on is a processor. The names are those of the first switch rule.
Outcome Interpreter::Impl::wake_up(const Action& action, const lttng::Event& event) {
  const std::int64_t tid =
      action.fields[0].is_there() ? event.values->integer(action.fields[0].index) : event.vtid;
  const std::uint32_t i = tid < 0 ? FlatMap::kNone : threads.find_tid(tid);
  if (i == FlatMap::kNone || threads.thread(i).where != Thread::Where::kBlocked) return Outcome::kIgnored;
  Thread& thread = threads.thread(i);
  if (thread.left_out || thread.over) return Outcome::kIgnored;
  pop_out(thread, event.at);
  thread.where = Thread::Where::kRunnable;
  thread.last = event.at;
  return enter_out(thread, bindings.switch_names(0).runnable, event.at);
}

}  // namespace margay::lttng_rules

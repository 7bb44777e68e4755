// Whose an event is; when threads and processes begin and end.
#include <algorithm>

#include "interpreter_impl.h"
#include "margay/base/glob.h"
#include "margay/base/text.h"

namespace margay::lttng_rules {
namespace {

constexpr DurationNs kSearchPause = milliseconds(100);

template <class T>
void set_of_cpu(std::vector<T>& by_cpu, std::int32_t cpu, T value, T unknown) {
  if (cpu < 0 || cpu >= kMostCpus) return;
  const auto i = static_cast<std::size_t>(cpu);
  if (by_cpu.size() <= i) by_cpu.resize(i + 1, unknown);
  by_cpu[i] = value;
}

}  // namespace

// Without a thread's number the event is of whom the scheduler put on its CPU.
Found Interpreter::Impl::find_or_add(const lttng::Event& event) {
  std::int64_t tid = event.vtid;
  const auto cpu = static_cast<std::size_t>(event.cpu);
  if (tid < 0 && event.cpu >= 0 && cpu < current_tid.size()) tid = current_tid[cpu];
  if (tid <= 0) return {kNothing, Outcome::kUnattributed};
  const bool stand_in = event.vtid < 0 || event.vpid < 0;
  std::uint32_t i = stand_in ? threads.find_tid(tid) : threads.find(event.vpid, tid);
  if (i == FlatMap::kNone) i = add_thread(stand_in ? tid : event.vpid, tid, stand_in, event.at);
  if (i != FlatMap::kNone && !stand_in) threads.thread(i).stand_in = false;
  return {i, Outcome::kLeftOut};
}

Found Interpreter::Impl::own_thread(const Bindings::Class& cls, const lttng::Event& event) {
  Found found = find_or_add(event);
  if (found.thread == kNothing) return found;
  Thread& t = threads.thread(found.thread);
  t.last = event.at;
  if (t.over) {
    if (cls.kernel) return {kNothing, Outcome::kIgnored};
    t.over = false;
    ++threads.process(t.process).live;
  }
  set_of_cpu(last_thread, event.cpu, found.thread, kNothing);
  if (!event.procname.empty() && event.procname != t.name && (cls.kernel || !t.named_by_kernel)) {
    t.named_by_kernel = cls.kernel;
    rename(t, event.procname);
  }
  if (t.left_out) return {kNothing, Outcome::kIgnored};
  return found;
}

std::uint32_t Interpreter::Impl::add_process(std::int64_t pid, TimeNs at) {
  if (threads.processes_are_full()) {
    const std::uint32_t empty = threads.empty_process();
    if (empty == FlatMap::kNone) return FlatMap::kNone;
    end_process(empty, at);
  }
  return threads.add_process(pid);
}

std::uint32_t Interpreter::Impl::add_thread(std::int64_t pid, std::int64_t tid, bool stand_in, TimeNs at) {
  // What stood in for it until its process was known.
  const std::uint32_t before = threads.find_tid(tid);
  if (before != FlatMap::kNone && threads.thread(before).stand_in) end_thread(before, at);
  if (threads.is_full()) {
    const std::uint32_t idle = at < no_idle_until ? FlatMap::kNone : threads.idle_since(at - limits.idle);
    if (idle == FlatMap::kNone) {
      if (no_idle_until <= at) no_idle_until = at + kSearchPause;
      return FlatMap::kNone;
    }
    if (threads.thread(idle).begun) ++odd.threads_forgotten;
    end_thread(idle, threads.thread(idle).last);
  }
  std::uint32_t process = threads.find_process(pid);
  if (process == FlatMap::kNone) process = add_process(pid, at);
  if (process == FlatMap::kNone) return FlatMap::kNone;
  const std::uint32_t i = threads.add(pid, tid, process);
  Thread& t = threads.thread(i);
  t.stand_in = stand_in;
  t.excused = recent_loss;
  t.last = at;
  return i;
}

void Interpreter::Impl::name_process(Process& process, std::string_view name) {
  if (process.name == name) return;
  process.name = name;
  process.passes.clear();
}

bool Interpreter::Impl::passes(Process& process, std::uint32_t filter) {
  const std::vector<std::string>& filters = bindings.filters();
  while (process.passes.size() < filters.size())
    process.passes.push_back(glob_match(filters[process.passes.size()], process.name) ? 1 : 0);
  return process.passes[filter] != 0;
}

void Interpreter::Impl::rename(Thread& thread, std::string_view name) {
  thread.name = name;
  const std::vector<std::string>& patterns = bindings.left_out_threads();
  thread.left_out = std::any_of(patterns.begin(), patterns.end(),
                                [name](const std::string& pattern) { return glob_match(pattern, name); });
  Process& process = threads.process(thread.process);
  // A guess, until a rule tells: the first thread's name, better that of the main one.
  const bool is_main = thread.tid == process.pid && !process.begun && !process.told;
  if ((process.name.empty() || is_main) && !thread.left_out) name_process(process, name);
  if (!thread.begun) return;
  if (!thread.left_out) {
    sink.rename_thread(thread.id, clean_utf8(thread.name));
    return;
  }
  close(thread, thread.last);
  sink.end_thread(thread.id, thread.last);
  ++odd.threads_ended;
  thread.begun = false;
}

void Interpreter::Impl::begin(Thread& thread, TimeNs at) {
  Process& process = threads.process(thread.process);
  if (!process.begun) {
    process.begun = true;
    process.id = sink.process(process.pid, clean_utf8(process.name));
  }
  thread.begun = true;
  thread.id = sink.begin_thread(process.id, thread.tid, clean_utf8(thread.name), at);
  ++odd.threads_begun;
}

void Interpreter::Impl::close(Thread& thread, TimeNs at) {
  odd.left_open += thread.deep - (thread.out == Thread::Out::kDeep ? 1 : 0);
  while (!thread.stack.empty()) {
    odd.left_open += thread.stack.back().slot > kOnCpuSlot ? 1 : 0;
    pop(thread, at);
  }
  thread.deep = 0;
  thread.out = Thread::Out::kNo;
  thread.where = Thread::Where::kUnknown;
}

void Interpreter::Impl::end_thread(std::uint32_t i, TimeNs at) {
  Thread& thread = threads.thread(i);
  close(thread, at);
  if (thread.begun) {
    sink.end_thread(thread.id, at);
    ++odd.threads_ended;
  }
  const std::uint32_t process = thread.process;
  const bool stand_in = thread.stand_in;
  std::replace(last_thread.begin(), last_thread.end(), i, kNothing);
  threads.remove(i);
  if (stand_in && threads.process(process).entries == 0) end_process(process, at);
}

void Interpreter::Impl::end_process(std::uint32_t p, TimeNs at) {
  Process& process = threads.process(p);
  for (std::uint32_t i = 0; process.entries > 0 && i < threads.places(); ++i) {
    Thread& thread = threads.thread(i);
    if (thread.tid < 0 || thread.process != p) continue;
    thread.stand_in = false;  // its process is ended here
    end_thread(i, at);
  }
  if (process.begun) sink.end_process(process.id, at);
  threads.remove_process(p);
}

Outcome Interpreter::Impl::learn_thread(const Action& action, const lttng::Event& event) {
  const auto integer = [&action, &event](std::size_t i, std::int64_t otherwise) {
    return action.fields[i].is_there() ? event.values->integer(action.fields[i].index) : otherwise;
  };
  const std::int64_t tid = integer(0, -1);
  const std::int64_t pid = integer(1, event.vpid);
  if (tid <= 0) return Outcome::kIgnored;
  std::uint32_t i = threads.find_tid(tid);
  if (i != FlatMap::kNone && pid >= 0 && (threads.thread(i).over || threads.thread(i).pid != pid)) {
    end_thread(i, event.at);
    i = FlatMap::kNone;
  }
  if (i == FlatMap::kNone && pid < 0) return Outcome::kIgnored;
  if (i == FlatMap::kNone) i = add_thread(pid, tid, false, event.at);
  if (i == FlatMap::kNone) return Outcome::kLeftOut;
  Thread& thread = threads.thread(i);
  thread.stand_in = false;
  if (!action.fields[2].is_there()) return Outcome::kUsed;
  const std::string_view name = event.values->text(action.fields[2].index);
  thread.named_by_kernel = true;
  if (thread.name != name) rename(thread, name);
  return Outcome::kUsed;
}

Outcome Interpreter::Impl::learn_thread_end(const Action& action, const lttng::Event& event) {
  const BoundField& field = action.fields[0];
  const std::int64_t tid = field.is_there() ? event.values->integer(field.index) : event.vtid;
  if (tid < 0) return Outcome::kUnattributed;
  const std::uint32_t i =
      field.is_there() || event.vpid < 0 ? threads.find_tid(tid) : threads.find(event.vpid, tid);
  if (i == FlatMap::kNone || threads.thread(i).over) return Outcome::kIgnored;
  thread_is_over(i, event.at);
  return Outcome::kUsed;
}

// The scheduler still speaks of a thread that exits: its place is kept until it has said that it is dead.
void Interpreter::Impl::thread_is_over(std::uint32_t i, TimeNs at) {
  Thread& thread = threads.thread(i);
  const std::uint32_t p = thread.process;
  if (bindings.has_switches()) {
    close(thread, at);
    if (thread.begun) {
      sink.end_thread(thread.id, at);
      ++odd.threads_ended;
    }
    thread.begun = false;
    thread.over = true;
    --threads.process(p).live;
  } else {
    thread.stand_in = false;  // its process is ended below
    end_thread(i, at);
  }
  Process& process = threads.process(p);
  if (process.live > 0) return;
  if (process.entries == 0) {
    end_process(p, at);
  } else if (process.begun) {
    sink.end_process(process.id, at);
    process.begun = false;
  }
}

}  // namespace margay::lttng_rules

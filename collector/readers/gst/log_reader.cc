#include "margay/gst/log_reader.h"

#include <algorithm>
#include <utility>

namespace margay::gst {
namespace {

constexpr std::size_t kMostTasks = 256;
constexpr std::size_t kMostNames = 4096;           // that are looked up here; the sink has a bound of its own
constexpr DurationNs kWriting = milliseconds(20);  // between the taking of a line's time and its writing

std::string_view after(std::string_view text, std::string_view what) {
  const std::size_t at = text.find(what);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + what.size());
}

// Functions whose last line is written before a thread waits: what it does from then on is in no line.
// The main loop dispatches a message and waits for the next one; a queue's task waits for a buffer.
reader::NameKind kind_of(std::string_view function) {
  for (const char* idle : {"gst_bus_source_dispatch", "gst_bus_source_prepare", "gst_bus_source_check",
                           "gst_bus_timed_pop_filtered", "gst_task_func", "gst_poll_wait", "gst_queue_loop",
                           "gst_multi_queue_loop"})
    if (function == idle) return reader::NameKind::kIdle;
  if (function == "gst_queue_chain_buffer_or_list")
    return reader::NameKind::kWait;  // until the queue has room
  return function.find("_wait") != std::string_view::npos ? reader::NameKind::kWait
                                                          : reader::NameKind::kState;
}

}  // namespace

LogReader::LogReader(reader::StateSink& sink, std::function<std::string(std::int64_t)> program)
    : sink_(sink), program_(std::move(program)) {}

LogReader::Process& LogReader::process_of(std::int64_t pid) {
  const auto [it, fresh] = processes_.try_emplace(pid);
  if (fresh) it->second.id = sink_.process(pid, program_(pid));
  return it->second;
}

LogReader::Thread& LogReader::thread_of(Process& process, std::uint64_t number, TimeNs at) {
  const bool first = process.threads.empty();
  const auto [it, fresh] = process.threads.try_emplace(number);
  if (fresh && process.id != reader::kNoProcess)
    it->second.id =
        sink_.begin_thread(process.id, static_cast<std::int64_t>(number), first ? "main" : "", at);
  return it->second;
}

// gst_pad_start_task:<queue0:src> created task 0x55eae7839290
// gst_task_func: Entering task 0x55eae7839290, thread 0x55eae784c000
void LogReader::note_task(Process& process, const LogLine& line) {
  if (line.function == "gst_pad_start_task") {
    const std::string_view task = after(line.text, "created task ");
    if (!task.empty() && process.tasks.size() < kMostTasks)
      process.tasks.insert_or_assign(std::string(task), std::string(line.object));
  } else if (line.function == "gst_task_func") {
    std::string_view task = after(line.text, "Entering task ");
    task = task.substr(0, task.find(','));
    if (const auto it = process.tasks.find(task); it != process.tasks.end()) {
      if (const auto thread = process.threads.find(line.thread); thread != process.threads.end())
        sink_.rename_thread(thread->second.id, it->second);
      process.tasks.erase(it);
    }
  }
}

reader::NameId LogReader::name_of(std::string_view function) {
  std::string key(function);
  if (const auto it = names_.find(key); it != names_.end()) return it->second;
  const reader::NameId id = sink_.name(function, kind_of(function));
  if (names_.size() < kMostNames) names_.emplace(std::move(key), id);
  return id;
}

void LogReader::line(std::string_view text, TimeNs arrival) {
  ++counts_.lines;
  const auto parsed = parse_line_untrusted(text);
  if (!parsed) {
    ++(begins_with_time(text) ? counts_.malformed : counts_.text);
    return;
  }
  Process& process = process_of(parsed->pid);
  const DurationNs offset = arrival - (TimeNs() + parsed->since_start);
  if (!process.offset || offset < *process.offset) process.offset = offset;
  const TimeNs at = TimeNs() + parsed->since_start + *process.offset;
  process.newest = std::max(process.newest, at);
  if (process.lost > 0) tell_lost(process, at);
  Thread& thread = thread_of(process, parsed->thread, at);
  if (thread.id == reader::kNoThread) {
    ++counts_.left_out;
    return;
  }
  ++counts_.taken;
  const reader::NameId state = name_of(parsed->function);
  if (thread.in_state) sink_.leave(thread.id, thread.state, at);
  sink_.enter(thread.id, state, at);
  thread.state = state;
  thread.in_state = true;
  note_task(process, *parsed);
}

void LogReader::lost(std::int64_t pid, std::uint64_t lines) {
  counts_.dropped += lines;
  if (const auto it = processes_.find(pid); it != processes_.end()) it->second.lost += lines;
}

// Nobody knows whose the lines were: all threads of the process are unknown for the time, and the account of
// its first one has the records (each line would have ended one state and begun another).
void LogReader::tell_lost(Process& process, TimeNs at) {
  std::uint64_t records = 2 * std::exchange(process.lost, 0);
  for (auto& [number, thread] : process.threads) {
    if (thread.id == reader::kNoThread) continue;
    sink_.lost(thread.id, std::exchange(records, 0), at);
    thread.in_state = false;
  }
}

void LogReader::feed(std::string_view bytes, TimeNs arrival) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (unfinished_.size() + piece.size() > kLongestLine) {
      too_long_ = true;
      unfinished_.clear();
    } else if (!too_long_ && (end == std::string_view::npos || !unfinished_.empty())) {
      unfinished_ += piece;
    }
    if (end == std::string_view::npos) break;
    if (too_long_) {
      ++counts_.lines;
      ++counts_.malformed;
    } else {
      line(unfinished_.empty() ? piece : std::string_view(unfinished_), arrival);
    }
    too_long_ = false;
    unfinished_.clear();
  }
  // Not beyond what the slowest process has written: its lines are still in the pipe.
  TimeNs least = arrival;
  for (const auto& [pid, process] : processes_)
    least = std::min(least, std::max(process.newest, arrival - seconds(1)));
  sink_.cover(least - kWriting);
}

void LogReader::caught_up(TimeNs now) {
  sink_.cover(now - kWriting);
}

void LogReader::end_process(reader::ProcessId process) {
  for (auto it = processes_.begin(); it != processes_.end(); ++it) {
    if (it->second.id != process) continue;
    if (it->second.lost > 0) tell_lost(it->second, it->second.newest);
    sink_.end_process(process, it->second.newest);
    processes_.erase(it);
    return;
  }
}

}  // namespace margay::gst

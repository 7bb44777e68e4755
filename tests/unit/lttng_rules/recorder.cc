#include "recorder.h"

#include <algorithm>

namespace margay::lttng_rules::test {

void Recorder::write(TimeNs at, const std::string& what) {
  if (!quiet) lines_.push_back((at.value < 0 ? "" : std::to_string(at.value) + " ") + what);
}

reader::ProcessId Recorder::process(std::int64_t pid, std::string_view command) {
  for (const Process& p : processes_) EXPECT_FALSE(p.live && p.pid == pid) << "told twice: " << pid;
  processes_.push_back({pid, true});
  write(TimeNs(-1), "process " + std::to_string(pid) + " '" + std::string(command) + "'");
  return reader::ProcessId(static_cast<std::uint32_t>(processes_.size() - 1));
}

reader::ThreadId Recorder::begin_thread(reader::ProcessId process, std::int64_t tid, std::string_view name,
                                        TimeNs at) {
  EXPECT_TRUE(processes_.at(process.value).live);
  if (threads_.size() >= most_threads) return reader::kNoThread;
  const std::string shown = std::to_string(processes_[process.value].pid) + "/" + std::to_string(tid);
  threads_.push_back({shown, process.value, true, {}});
  write(at, "begin " + shown + " '" + std::string(name) + "'");
  return reader::ThreadId(static_cast<std::uint32_t>(threads_.size() - 1));
}

Recorder::Thread& Recorder::live(reader::ThreadId thread) {
  Thread& t = threads_.at(thread.value);
  EXPECT_TRUE(t.live) << t.shown;
  return t;
}

void Recorder::rename_thread(reader::ThreadId thread, std::string_view name) {
  write(TimeNs(-1), "rename " + live(thread).shown + " '" + std::string(name) + "'");
}

reader::NameId Recorder::name(std::string_view text, reader::NameKind kind) {
  for (std::uint32_t i = 0; i < names_.size(); ++i)
    if (names_[i].text == text) return reader::NameId(i);
  names_.push_back({std::string(text), kind});
  return reader::NameId(static_cast<std::uint32_t>(names_.size() - 1));
}

reader::NameKind Recorder::kind_of(const std::string& name) const {
  for (const Name& n : names_)
    if (n.text == name) return n.kind;
  ADD_FAILURE() << name << " was never named";
  return reader::NameKind::kMark;
}

void Recorder::enter(reader::ThreadId thread, reader::NameId state, TimeNs at) {
  live(thread).open.push_back(state.value);
  write(at, "enter " + live(thread).shown + " " + names_.at(state.value).text);
}

void Recorder::leave(reader::ThreadId thread, reader::NameId state, TimeNs at) {
  Thread& t = live(thread);
  ASSERT_FALSE(t.open.empty()) << t.shown;
  EXPECT_EQ(t.open.back(), state.value) << "not the innermost of " << t.shown;
  t.open.pop_back();
  write(at, "leave " + t.shown + " " + names_.at(state.value).text);
}

void Recorder::mark(reader::ThreadId thread, reader::NameId mark, TimeNs at) {
  write(at, "mark " + live(thread).shown + " " + names_.at(mark.value).text);
}

void Recorder::variable(reader::ThreadId thread, reader::NameId variable, double value, TimeNs at) {
  char number[32];
  std::snprintf(number, sizeof number, "%g", value);
  write(at, "variable " + live(thread).shown + " " + names_.at(variable.value).text + " = " + number);
}

void Recorder::lost(reader::ThreadId thread, std::uint64_t events, TimeNs at) {
  live(thread).open.clear();
  told_lost_ += events;
  write(at, "lost " + live(thread).shown + " " + std::to_string(events));
}

void Recorder::end_thread(reader::ThreadId thread, TimeNs at) {
  if (thread == reader::kNoThread) return;
  Thread& t = live(thread);
  EXPECT_TRUE(t.open.empty()) << t.shown;
  t.live = false;
  write(at, "end " + t.shown);
}

void Recorder::end_process(reader::ProcessId process, TimeNs at) {
  Process& p = processes_.at(process.value);
  EXPECT_TRUE(p.live);
  for (const Thread& t : threads_) EXPECT_FALSE(t.live && t.process == process.value) << t.shown;
  p.live = false;
  write(at, "end " + std::to_string(p.pid));
}

void Recorder::cover(TimeNs until) {
  write(until, "cover");
}

std::vector<std::string> Recorder::take() {
  std::vector<std::string> out;
  out.swap(lines_);
  return out;
}

std::size_t Recorder::open_states() const {
  std::size_t n = 0;
  for (const Thread& t : threads_) n += t.open.size();
  return n;
}

std::size_t Recorder::live_threads() const {
  return static_cast<std::size_t>(
      std::count_if(threads_.begin(), threads_.end(), [](const Thread& t) { return t.live; }));
}

std::string FakeSymbols::find(std::string_view path, std::uint64_t base, std::uint64_t address) {
  ++asked;
  const std::uint64_t n = (address - base) / 16;
  return n < 4 ? std::string(path) + "#" + std::to_string(n) : "";
}

RuleSet rules_of(const std::string& text) {
  auto rules = RuleSet::parse(text, "test.toml");
  EXPECT_TRUE(rules.has_value()) << rules.error().message;
  return rules ? *rules : RuleSet();
}

Trace::Trace(const std::string& rules, Limits limits) : Trace(rules_of(rules), limits) {}
Trace::Trace(RuleSet rules, Limits limits) : interpreter(std::move(rules), sink, symbols, limits) {}

std::uint32_t Trace::cls(const std::string& name, const std::vector<std::string>& fields, bool kernel) {
  lttng::EventClass c{name, kernel, {}};
  for (const std::string& field : fields) {
    const std::size_t colon = field.find(':');
    const char type = colon == std::string::npos ? 's' : field[colon + 1];
    using T = lttng::FieldType;
    c.fields.push_back({field.substr(0, colon), type == 'u'   ? T::kUnsigned
                                                : type == 'r' ? T::kReal
                                                : type == 't' ? T::kText
                                                : type == 'o' ? T::kOther
                                                              : T::kSigned});
  }
  interpreter.on_class(c);
  return classes++;
}

void Trace::event(std::uint32_t c, std::vector<Value> values) {
  const Values v(std::move(values));
  lttng::Event e;
  e.cls = c;
  e.at = TimeNs(++now);
  e.cpu = cpu;
  e.vpid = vpid;
  e.vtid = vtid;
  e.procname = procname;
  e.values = &v;
  ++events;
  interpreter.on_event(e);
}

void Trace::event_of(std::int64_t pid, std::int64_t tid, std::uint32_t c, std::vector<Value> values) {
  std::swap(vpid, pid);
  std::swap(vtid, tid);
  event(c, std::move(values));
  vpid = pid;
  vtid = tid;
}

void Trace::expect_account_adds_up() const {
  const Account a = account();
  EXPECT_EQ(a.seen, events);
  EXPECT_EQ(a.bins(), events);
}

}  // namespace margay::lttng_rules::test

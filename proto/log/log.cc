#include "margay/log/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "margay/log/throttle.h"

namespace margay::log {
namespace {

constexpr std::size_t kMostKinds = 10;  // told in one minute's summary
constexpr DurationNs kSummary = seconds(60);

bool is_journal(int fd) {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat s {};
  if (stream == nullptr || fstat(fd, &s) != 0) return false;
  return std::to_string(s.st_dev) + ":" + std::to_string(s.st_ino) == stream;
}

// The journal's priority of a line.
class PriorityFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& m, const std::tm&, spdlog::memory_buf_t& out) override {
    const char* p = m.level >= spdlog::level::err    ? "<3>"
                    : m.level == spdlog::level::warn ? "<4>"
                    : m.level == spdlog::level::info ? "<6>"
                                                     : "<7>";
    out.append(p, p + 3);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PriorityFlag>(); }
};

// One write a line, so that two processes with the same file do not mix theirs; a file grows to its bound.
class Sink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  Sink(int fd, std::uint64_t most) : fd_(fd), most_(most) {}
  std::uint64_t lines() const { return lines_; }
  std::uint64_t left_out() const { return left_out_; }

 protected:
  void sink_it_(const spdlog::details::log_msg& m) override {
    struct stat s {};
    if (most_ > 0 && fstat(fd_, &s) == 0 && S_ISREG(s.st_mode) &&
        static_cast<std::uint64_t>(s.st_size) >= most_) {
      if (!full_)
        put("The log is as large as it may be: what follows is counted (log_lines_suppressed), not "
            "written.\n");
      full_ = true;
      ++left_out_;
      return;
    }
    full_ = false;
    spdlog::memory_buf_t line;
    formatter_->format(m, line);
    put({line.data(), line.size()});
    ++lines_;
  }
  void flush_() override {}

 private:
  void put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = write(fd_, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // there is nobody to tell
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  int fd_;
  std::uint64_t most_;
  std::atomic<std::uint64_t> lines_{0}, left_out_{0};
  bool full_ = false;
};

struct State {
  std::mutex mutex;
  SystemClock system;
  const Clock* clock = &system;
  Level level = Level::kInfo;
  Throttle throttle{60};
  std::shared_ptr<Sink> sink;
  std::unique_ptr<spdlog::logger> logger;
  TimeNs next_summary{};
  std::uint64_t lines_before = 0, left_out_before = 0;  // of sinks that were replaced
  State() { set({}); }

  void set(const Options& o) {
    if (sink) lines_before += sink->lines(), left_out_before += sink->left_out() + throttle.suppressed();
    clock = o.clock != nullptr ? o.clock : &system;
    level = o.level;
    throttle = Throttle(o.lines_a_minute);
    sink = std::make_shared<Sink>(o.fd, o.file_bytes);
    logger = std::make_unique<spdlog::logger>(o.program.empty() ? "margay" : o.program, sink);
    logger->set_level(spdlog::level::trace);
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<PriorityFlag>('*').set_pattern(is_journal(o.fd) ? "%*%v"
                                                                        : "%Y-%m-%d %H:%M:%S  %-7l  %n: %v");
    logger->set_formatter(std::move(formatter));
    next_summary = clock->monotonic() + kSummary;
  }
};

State& state() {
  static auto* s = new State;  // never destroyed: threads may log to the very end
  return *s;
}

std::string one_line(const std::string& sentence) {
  std::string out = sentence.substr(0, kLongestLine);
  if (out.size() < sentence.size()) out += " ...";
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return out;
}

struct LevelRow {
  Level level;
  std::string_view name;
  spdlog::level::level_enum there;
};
constexpr LevelRow kLevels[] = {{Level::kDebug, "debug", spdlog::level::debug},
                                {Level::kInfo, "info", spdlog::level::info},
                                {Level::kWarning, "warning", spdlog::level::warn},
                                {Level::kError, "error", spdlog::level::err},
                                {Level::kOff, "off", spdlog::level::off}};

void say(Level level, const std::string& sentence, const Place& place) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (level < s.level) return;
  const std::string line = one_line(sentence);
  const std::string key = std::string(place.file) + ':' + std::to_string(place.line);
  if (!s.throttle.admit(key, level == Level::kError, line, s.clock->monotonic())) return;
  s.logger->log(kLevels[static_cast<std::size_t>(level)].there, "{}", line);
}

}  // namespace

std::optional<Level> parse_level(std::string_view text) {
  for (const LevelRow& row : kLevels)
    if (text == row.name) return row.level;
  return std::nullopt;
}

void start(const Options& options) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.set(options);
}

void debug(const std::string& sentence, const Place& place) {
  say(Level::kDebug, sentence, place);
}
void info(const std::string& sentence, const Place& place) {
  say(Level::kInfo, sentence, place);
}
void warning(const std::string& sentence, const Place& place) {
  say(Level::kWarning, sentence, place);
}
void error(const std::string& sentence, const Place& place) {
  say(Level::kError, sentence, place);
}

void tick() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const TimeNs now = s.clock->monotonic();
  if (now < s.next_summary) return;
  s.next_summary = now + kSummary;
  for (const auto& [count, example] : s.throttle.take_suppressed(kMostKinds))
    s.logger->log(spdlog::level::warn, "{} more {}", count,
                  example.empty() ? std::string("of other kinds") : "like it: " + example);
}

Counts counts() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return {s.lines_before + s.sink->lines(), s.left_out_before + s.sink->left_out() + s.throttle.suppressed()};
}

}  // namespace margay::log

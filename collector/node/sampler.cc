#include "margay/node/sampler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

namespace margay::node {
namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  words.reserve(56);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \n", i);
    if (begin == std::string_view::npos) break;
    std::size_t end = text.find_first_of(" \n", begin);
    if (end == std::string_view::npos) end = text.size();
    words.push_back(text.substr(begin, end - begin));
    i = end;
  }
  return words;
}

template <class T>
bool number(std::string_view word, T& to) {
  const auto r = std::from_chars(word.data(), word.data() + word.size(), to);
  return r.ec == std::errc() && r.ptr == word.data() + word.size();
}

constexpr const char* kFileNames[] = {"stat", "schedstat", "io"};

std::string_view read_at_start(int fd, std::array<char, 2048>& room) {
  if (fd < 0) return {};
  const ssize_t n = pread(fd, room.data(), room.size(), 0);
  return n <= 0 ? std::string_view() : std::string_view(room.data(), static_cast<std::size_t>(n));
}

}  // namespace

Result<ProcStat> parse_stat(std::string_view text) {
  // The command may hold blanks and brackets; the last bracket ends it.
  const std::size_t end = text.rfind(')');
  if (end == std::string_view::npos) return fail(ErrorCode::kCorrupt, "stat has no command");
  const auto words = split(text.substr(end + 1));  // words[0] is field 3
  const auto field = [&](std::size_t n) { return words[n - 3]; };
  if (words.size() < 39 - 2)
    return fail(ErrorCode::kCorrupt, "stat ends after field " + std::to_string(words.size() + 2));
  ProcStat s;
  s.state = field(3)[0];
  std::uint64_t user = 0, system = 0;
  if (!number(field(4), s.parent)) return fail(ErrorCode::kCorrupt, "stat field 4 is no number");
  if (!number(field(14), user) || !number(field(15), system))
    return fail(ErrorCode::kCorrupt, "stat field 14 or 15 is no number");
  if (!number(field(20), s.threads)) return fail(ErrorCode::kCorrupt, "stat field 20 is no number");
  if (!number(field(22), s.start_time)) return fail(ErrorCode::kCorrupt, "stat field 22 is no number");
  if (!number(field(39), s.core)) return fail(ErrorCode::kCorrupt, "stat field 39 is no number");
  s.cpu_ticks = user + system;
  if (words.size() >= 50) number(field(52), s.exit_code);
  return s;
}

Result<SchedStat> parse_schedstat(std::string_view text) {
  const auto words = split(text);
  SchedStat s;
  if (words.size() < 2 || !number(words[0], s.cpu_ns) || !number(words[1], s.run_delay_ns))
    return fail(ErrorCode::kCorrupt, "schedstat has no time on the CPU, or no run delay");
  return s;
}

Result<std::uint64_t> parse_storage_bytes(std::string_view text) {
  const auto words = split(text);
  std::uint64_t sum = 0;
  for (const std::string_view name : {"read_bytes:", "write_bytes:"}) {
    const auto at = std::find(words.begin(), words.end(), name);
    std::uint64_t n = 0;
    if (at == words.end() || at + 1 == words.end() || !number(*(at + 1), n) ||
        __builtin_add_overflow(sum, n, &sum))
      return fail(ErrorCode::kCorrupt, "io has no " + std::string(name));
  }
  return sum;
}

Result<std::uint64_t> parse_steal_ticks(std::string_view text) {
  const auto words = split(text.substr(0, text.find('\n')));
  std::uint64_t steal = 0;
  if (words.size() < 9 || words[0] != "cpu" || !number(words[8], steal))
    return fail(ErrorCode::kCorrupt, "/proc/stat has no steal time");
  return steal;
}

std::uint64_t ticks_to_ns(std::uint64_t ticks) {
  static const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return ticks * (1'000'000'000 / per_second);
}

std::uint64_t read_steal_ns() {
  static const int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
  std::array<char, 2048> room;
  const auto ticks = parse_steal_ticks(read_at_start(fd, room));
  return ticks ? ticks_to_ns(*ticks) : 0;
}

Descriptors spare_descriptors() {
  // Sockets, the log, files that are open for a moment; and whoever shares the process with us.
  constexpr std::size_t kOthers = 128;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const std::size_t most = std::min<std::size_t>(limit.rlim_cur, std::size_t{1} << 20);
  return {most > kOthers ? most - kOthers : 0};
}

ProcessProbe::ProcessProbe(std::int64_t pid, std::uint64_t start_time, Descriptors* keep,
                           const std::string& proc)
    : pid_(pid), start_time_(start_time), keep_(keep), place_(proc + "/" + std::to_string(pid) + "/") {
  if (keep_ != nullptr && keep_->left < kFiles) return;
  for (std::uint8_t f = 0; f < kFiles; ++f) {
    kept_[f] = open((place_ + kFileNames[f]).c_str(), O_RDONLY | O_CLOEXEC);
    if (kept_[f] >= 0 && keep_ != nullptr) --keep_->left;
  }
}

ProcessProbe::ProcessProbe(ProcessProbe&& other) noexcept
    : pid_(other.pid_),
      start_time_(other.start_time_),
      keep_(other.keep_),
      place_(std::move(other.place_)),
      kept_(std::exchange(other.kept_, {-1, -1, -1})) {}

ProcessProbe::~ProcessProbe() {
  for (const int fd : kept_)
    if (fd >= 0) {
      close(fd);
      if (keep_ != nullptr) ++keep_->left;
    }
}

// Nothing, and errno says why: where reading fails, or opening it.
std::string_view ProcessProbe::read(File file, std::array<char, 2048>& room) const {
  if (kept_[file] >= 0) return read_at_start(kept_[file], room);
  const int fd = open((place_ + kFileNames[file]).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const std::string_view text = read_at_start(fd, room);
  const int error = errno;
  close(fd);
  errno = error;
  return text;
}

Looked ProcessProbe::look() {
  std::array<char, 2048> room;
  errno = 0;
  const std::string_view text = read(kStat, room);
  const bool ended = errno == ESRCH;
  const auto stat = parse_stat(text);
  if (!stat) {
    // Of a process that is hidden the kernel says that it is not there, but by kill().
    const bool none = kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH;
    return {(kept_[kStat] >= 0 && ended) || none ? Presence::kGone : Presence::kHidden, std::nullopt};
  }
  if ((start_time_ != 0 && stat->start_time != start_time_) || stat->state == 'X')
    return {Presence::kGone, {}};
  // A first thread that has ended is a zombie as well; its process lives while there are others.
  if (stat->state == 'Z' && stat->threads <= 1) return {Presence::kGone, {}};
  return {Presence::kThere, *stat};
}

SchedStat ProcessProbe::scheduled() {
  std::array<char, 2048> room;
  const auto s = parse_schedstat(read(kSchedStat, room));
  return s ? *s : SchedStat();
}

std::uint64_t ProcessProbe::storage_bytes() {
  std::array<char, 2048> room;
  const auto bytes = parse_storage_bytes(read(kIo, room));
  return bytes ? *bytes : 0;
}

}  // namespace margay::node

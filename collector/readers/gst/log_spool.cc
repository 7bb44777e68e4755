#include "margay/gst/log_spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace margay::gst {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::uint64_t kLeastFileLimit = std::uint64_t{1} << 40;

bool give_back(int fd, std::uint64_t from, std::uint64_t to) {
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                   static_cast<off_t>(to - from)) == 0;
}

// How much of `bytes` is whole lines, and how many.
std::pair<std::size_t, std::uint64_t> whole_lines(std::string_view bytes) {
  const std::size_t last = bytes.rfind('\n');
  if (last == std::string_view::npos) return {0, 0};
  return {last + 1, static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.begin() + last + 1, '\n'))};
}

// In shared memory beside a log; zeros to begin with.
struct Position {
  std::atomic<std::uint64_t> next;           // of the first byte that is nobody's yet
  std::atomic<std::uint64_t> dropped_lines;  // since the begin
  std::atomic<std::uint64_t> told_lines;     // of those, that the reader has told
  // What the reader is at: it is lost if the reader dies over it.
  std::atomic<std::uint64_t> taken_lines;
  std::atomic<std::uint64_t> taken_end;  // 0: nothing
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace

struct LogSpool::File {
  std::string path, position_path;
  std::int64_t pid = 0;
  int fd = -1;
  Position* position = nullptr;
  bool fresh = true;
  bool skip = false;  // up to the next line: this one is too long
  bool opened_as_reader = false;

  File(std::string log, std::string beside) : path(std::move(log)), position_path(std::move(beside)) {
    // For reading only: what has it open for writing writes it (over()).
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const int at = ::open(position_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (at < 0) return;
    if (ftruncate(at, sizeof(Position)) == 0) {
      void* const mapped = mmap(nullptr, sizeof(Position), PROT_READ | PROT_WRITE, MAP_SHARED, at, 0);
      if (mapped != MAP_FAILED) position = static_cast<Position*>(mapped);
    }
    close(at);
  }
  ~File() {
    if (position != nullptr) munmap(position, sizeof(Position));
    if (fd >= 0) close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return fd >= 0 && position != nullptr; }
  std::uint64_t size() const {
    struct stat st {};
    return fstat(fd, &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
  }
  std::uint64_t waiting() const {
    const std::uint64_t next = position->next, end = size();
    return end - std::min(end, next);
  }
  // Not waiting: whoever is looking whether it is over has a lease on it, and may be stopped over that.
  void give_back(std::uint64_t from, std::uint64_t to) const {
    char self[32];  // it may have no name any more
    std::snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    const int writable = ::open(self, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (writable < 0) return;
    static_cast<void>(gst::give_back(writable, from, to));
    close(writable);
  }
  // Nobody has it open for writing any more: then, and only then, it can be leased for reading. The lease is
  // broken by nobody but bound(), whose process gets no answer then.
  bool over() const {
    if (fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return false;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return true;
  }
  std::string_view peek(std::uint64_t at, std::vector<char>& into) const {
    const ssize_t n = pread(fd, into.data(), into.size(), static_cast<off_t>(at));
    return {into.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  }
};

LogSpool::LogSpool(std::string directory) : directory_(std::move(directory)), buffer_(kPiece) {}
LogSpool::LogSpool(LogSpool&&) noexcept = default;
LogSpool& LogSpool::operator=(LogSpool&&) noexcept = default;
LogSpool::~LogSpool() = default;

Result<LogSpool> LogSpool::open(const std::string& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(ErrorCode::kIo, directory + ": " + std::strerror(errno));
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < kLeastFileLimit)
    return fail(ErrorCode::kUnavailable, "files may have " + std::to_string(limit.rlim_cur >> 20) +
                                             " MiB at most (ulimit -f), too little for a log");
  const std::string test = directory + "/.test-" + std::to_string(getpid());
  const int fd = ::open(test.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(ErrorCode::kIo, test + ": " + std::strerror(errno));
  const bool can = ftruncate(fd, 2 * 4096) == 0 && give_back(fd, 0, 4096);
  const int error = errno;
  close(fd);
  unlink(test.c_str());
  if (!can)
    return fail(ErrorCode::kUnavailable, directory + ": the file system cannot give back a part of a file (" +
                                             std::strerror(error) + "); set MARGAY_RUNTIME_DIR to /dev/shm");
  return LogSpool(directory);
}

void LogSpool::look() {
  DIR* const dir = opendir(directory_.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || files_.contains(name)) continue;
    auto file = std::make_unique<File>(directory_ + "/" + name, directory_ + "/.at-" + name);
    if (!file->is_open()) continue;
    long pid = 0;
    if (std::sscanf(name.c_str(), "%ld-", &pid) == 1) file->pid = pid;
    file->fresh = file->position->next == 0;
    files_.emplace(name, std::move(file));
  }
  closedir(dir);
}

bool LogSpool::read(const Taker& taker, std::size_t most) {
  look();
  bool all = true;
  for (auto it = files_.begin(); it != files_.end();) {
    File& file = *it->second;
    if (!file.opened_as_reader) {
      // A reader that died over some lines has no other to tell of them.
      file.opened_as_reader = true;
      const std::uint64_t end = file.position->taken_end.exchange(0);
      if (end != 0 && file.position->next >= end) file.position->dropped_lines += file.position->taken_lines;
    }
    const bool empty = read(file, taker, most);
    all = all && empty;
    if (empty && file.over()) {
      if (read(file, taker, most)) {  // what was written between the two looks
        const std::string_view rest = file.peek(file.position->next, buffer_);
        if (!file.skip && !rest.empty()) taker.lines(std::string(rest) + "\n");
        unlink(file.path.c_str());
        unlink(file.position_path.c_str());
        it = files_.erase(it);
        continue;
      }
      all = false;
    }
    ++it;
  }
  return all;
}

void LogSpool::tell_dropped(File& file, const Taker& taker) {
  const std::uint64_t dropped = file.position->dropped_lines, told = file.position->told_lines;
  if (dropped <= told) return;
  taker.lost(file.pid, dropped - told);
  file.position->told_lines = dropped;
}

bool LogSpool::read(File& file, const Taker& taker, std::size_t most) {
  Position& p = *file.position;
  tell_dropped(file, taker);
  for (std::size_t taken = 0; taken < most;) {
    const std::uint64_t at = p.next;
    std::string_view bytes = file.peek(at, buffer_);
    if (bytes.empty()) return true;
    auto [length, lines] = whole_lines(bytes);
    const bool too_long = length == 0 && bytes.size() == buffer_.size();
    if (too_long) {
      length = bytes.size();
      lines = file.skip ? 0 : 1;
    }
    if (length == 0) return true;  // a line that is being written
    p.taken_lines = lines;
    p.taken_end = at + length;
    std::uint64_t expected = at;
    if (!p.next.compare_exchange_strong(expected, at + length)) {
      p.taken_end = 0;  // it was dropped
      continue;
    }
    tell_dropped(file, taker);
    bytes = bytes.substr(0, length);
    if (file.skip && !too_long) bytes.remove_prefix(bytes.find('\n') + 1);
    if (!bytes.empty() && !(file.skip && too_long)) taker.lines(too_long ? std::string(bytes) + "\n" : bytes);
    file.skip = too_long;
    file.fresh = false;
    p.taken_end = 0;
    file.give_back(at, at + length);
    taken += length;
  }
  return false;
}

bool LogSpool::has_fresh() const {
  return std::any_of(files_.begin(), files_.end(), [](const auto& f) { return f.second->fresh; });
}

bool LogSpool::unread() {
  look();
  return std::any_of(files_.begin(), files_.end(),
                     [](const auto& f) { return f.second->position->next == 0 && f.second->size() > 0; });
}

bool LogSpool::drop_some(File& file, std::uint64_t& lines) {
  Position& p = *file.position;
  const std::uint64_t at = p.next;
  const std::string_view bytes = file.peek(at, buffer_);
  auto [length, whole] = whole_lines(bytes);
  if (length == 0 && bytes.size() == buffer_.size()) {
    length = bytes.size();
    whole = 1;
  }
  if (length == 0) return false;
  std::uint64_t expected = at;
  if (!p.next.compare_exchange_strong(expected, at + length)) return true;  // it was read
  p.dropped_lines += whole;
  lines += whole;
  file.give_back(at, at + length);
  return true;
}

std::uint64_t LogSpool::bound(std::uint64_t bytes) {
  look();
  std::uint64_t waiting = 0, dropped = 0;
  for (auto it = files_.begin(); it != files_.end();) {
    // The reader has taken it away.
    if (access(it->second->path.c_str(), F_OK) != 0 && errno == ENOENT) {
      it = files_.erase(it);
      continue;
    }
    waiting += it->second->waiting();
    ++it;
  }
  if (waiting <= bytes) return 0;
  const auto longest = [this] {
    return std::max_element(
               files_.begin(), files_.end(),
               [](const auto& a, const auto& b) { return a.second->waiting() < b.second->waiting(); })
        ->second.get();
  };
  // Half of it, so that it is not at the bound again at once. Bounded: a program may write faster than this.
  for (std::uint64_t pieces = 2 * bytes / kPiece + 16; waiting > bytes / 2 && pieces > 0; --pieces) {
    File& file = *longest();
    if (!drop_some(file, dropped)) break;
    waiting = 0;
    for (const auto& [name, f] : files_) waiting += f->waiting();
  }
  return dropped;
}

}  // namespace margay::gst

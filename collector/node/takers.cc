#include "margay/node/takers.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "margay/node/sampler.h"

namespace margay::node {
namespace {

// CPUs' ticks and processes' are counted in different ways: less than so many says nothing.
constexpr std::uint64_t kLeastUnseenTicks = 3;
constexpr double kLeastUnseen = 0.1;  // of a CPU
constexpr int kMostAncestors = 32;
// Ready and not let for so much of the time, and so much beyond what is usual; which is that of so many
// samples.
constexpr double kStarves = 0.1, kBeyondUsual = 0.08, kMemory = 512;

std::string read_file(const std::string& path, std::size_t most) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  text.resize(most);
  std::size_t have = 0;
  for (ssize_t n = 0; have < most && (n = read(fd, text.data() + have, most - have)) > 0;)
    have += static_cast<std::size_t>(n);
  close(fd);
  text.resize(have);
  return text;
}

std::int64_t pid_named(const char* name) {
  std::int64_t pid = 0;
  const char* const end = name + std::string_view(name).size();
  const auto r = std::from_chars(name, end, pid);
  return r.ec == std::errc() && r.ptr == end ? pid : 0;
}

}  // namespace

Result<std::set<std::uint32_t>> parse_cpu_list(std::string_view text) {
  const auto broken = [&] {
    return fail(ErrorCode::kCorrupt, "'" + std::string(text) + "' is no list of CPUs");
  };
  std::set<std::uint32_t> out;
  const char *at = text.data(), *const end = text.data() + text.size();
  while (at != end) {
    std::uint32_t first = 0;
    auto r = std::from_chars(at, end, first);
    if (r.ec != std::errc()) return broken();
    std::uint32_t last = first;
    if (r.ptr != end && *r.ptr == '-') {
      r = std::from_chars(r.ptr + 1, end, last);
      if (r.ec != std::errc()) return broken();
    }
    if (last < first || last >= kMostCpus) return broken();
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) out.insert(cpu);
    at = r.ptr;
    if (at == end) break;
    if (*at != ',' || ++at == end) return broken();
  }
  if (out.empty()) return broken();
  return out;
}

const TakerScan::Process* TakerScan::find(std::int64_t pid) const {
  Process wanted;
  wanted.pid = pid;
  const auto at = std::lower_bound(seen_.begin(), seen_.end(), wanted);
  return at != seen_.end() && at->pid == pid ? &*at : nullptr;
}

// All there are, and what each has used since it was seen last.
void TakerScan::read_processes() {
  std::vector<Process> now;
  now.reserve(seen_.size() + 16);
  bool all = true;
  DIR* const dir = opendir(proc_.c_str());
  if (dir != nullptr) {
    while (const dirent* const entry = readdir(dir)) {
      const std::int64_t pid = pid_named(entry->d_name);
      if (pid <= 0) continue;
      if (now.size() >= kMostProcesses) {
        all = false;
        break;
      }
      std::array<char, 1024> room;
      const std::string name = std::string(entry->d_name) + "/stat";
      const int fd = openat(dirfd(dir), name.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) continue;  // it has ended, or is hidden
      const ssize_t n = read(fd, room.data(), room.size());
      close(fd);
      const auto stat = parse_stat({room.data(), static_cast<std::size_t>(std::max<ssize_t>(0, n))});
      if (!stat) continue;
      now.push_back({pid, stat->parent, stat->threads, stat->start_time, stat->cpu_ticks, 0, stat->core});
    }
    closedir(dir);
  }
  std::sort(now.begin(), now.end());
  for (Process& p : now) {
    const Process* const before = find(p.pid);
    if (before != nullptr && before->start_time == p.start_time)
      p.used = p.ticks > before->ticks ? p.ticks - before->ticks : 0;
    else if (all_)  // nobody was left out then: it has begun since
      p.used = p.ticks;
  }
  seen_ = std::move(now);
  all_ = all;
}

// Of each CPU, by number.
std::vector<TakerScan::Busy> TakerScan::read_busy() const {
  const std::string text = read_file(proc_ + "/stat", std::size_t{1} << 20);
  std::vector<Busy> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("cpu")) break;
    const char *p = line.data() + 3, *const line_end = line.data() + line.size();
    std::uint32_t cpu = 0;
    auto r = std::from_chars(p, line_end, cpu);
    if (r.ec != std::errc()) continue;  // the sum of all
    if (cpu >= kMostCpus) continue;
    std::array<std::uint64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
    std::size_t n = 0;
    for (p = r.ptr; n < ticks.size() && p != line_end; ++n) {
      while (p != line_end && *p == ' ') ++p;
      r = std::from_chars(p, line_end, ticks[n]);
      if (r.ec != std::errc()) break;
      p = r.ptr;
    }
    if (n < ticks.size()) continue;
    if (out.size() <= cpu) out.resize(cpu + 1);
    out[cpu] = {ticks[0] + ticks[1] + ticks[2], ticks[7]};
  }
  return out;
}

// Empty where it is not told.
const std::set<std::uint32_t>& TakerScan::allowed(std::int64_t pid) {
  const auto [known, fresh] = allowed_.try_emplace(pid);
  std::set<std::uint32_t>& out = known->second;
  if (!fresh) return out;
  const std::string text = read_file(proc_ + "/" + std::to_string(pid) + "/status", 8192);
  constexpr std::string_view kLabel = "\nCpus_allowed_list:";
  const std::size_t at = text.find(kLabel);
  if (at == std::string::npos) return out;
  const std::size_t begin = text.find_first_not_of(" \t", at + kLabel.size());
  const std::size_t end = std::min(text.find('\n', at + 1), text.size());
  if (begin == std::string::npos || begin >= end) return out;
  if (auto cpus = parse_cpu_list(std::string_view(text).substr(begin, end - begin))) out = std::move(*cpus);
  return out;
}

// "" if it is gone by now, or another.
std::string TakerScan::command(std::int64_t pid, std::uint64_t start_time) const {
  const std::string text = read_file(proc_ + "/" + std::to_string(pid) + "/stat", 1024);
  const auto stat = parse_stat(text);
  if (!stat || stat->start_time != start_time) return "";
  const std::size_t begin = text.find('('), end = text.rfind(')');
  return begin < end ? text.substr(begin + 1, std::min<std::size_t>(15, end - begin - 1)) : "";
}

// A rank's descendant, the launcher of one, or what that has started; but not whoever started Margay, nor
// what else that has.
bool TakerScan::of_job(const Process& process, const Job& job) const {
  std::set<std::int64_t> above;  // Margay
  for (std::int64_t pid : job.margay)
    for (int i = 0; i < kMostAncestors && pid > 0 && above.insert(pid).second; ++i) {
      const Process* const p = find(pid);
      pid = p != nullptr ? p->parent : 0;
    }
  std::set<std::int64_t> launchers;
  for (const auto& [pid, source] : job.ranks) {
    const Process* const rank = find(pid);
    if (rank != nullptr && rank->parent > 1 && !above.contains(rank->parent)) launchers.insert(rank->parent);
  }
  std::int64_t pid = process.pid;
  for (int i = 0; i < kMostAncestors && pid > 1; ++i) {
    if (job.ranks.contains(pid) || launchers.contains(pid)) return true;
    const Process* const p = find(pid);
    pid = p != nullptr ? p->parent : 0;
  }
  return false;
}

wire::Taker::Kind TakerScan::kind_of(const Process& process, const std::string& name, const Job& job) const {
  if (job.ranks.contains(process.pid)) return wire::Taker::RANK;
  if (job.margay.contains(process.pid) || name == "margayd" || name == "margay" || name == "margay-node")
    return wire::Taker::MARGAY;
  return of_job(process, job) ? wire::Taker::JOB : wire::Taker::OTHER;
}

std::vector<wire::Taker> TakerScan::takers_of(std::int64_t pid, const std::vector<Busy>& busy,
                                              DurationNs over, const Job& job) {
  const std::set<std::uint32_t>& cpus = allowed(pid);
  if (cpus.empty() || find(pid) == nullptr) return {};
  std::uint64_t told = 0;  // ticks of all who were seen there
  std::vector<const Process*> there;
  for (const Process& p : seen_) {
    if (p.used == 0) continue;
    const bool here = p.core >= 0 && cpus.contains(static_cast<std::uint32_t>(p.core));
    if (!here && p.threads <= 1) continue;
    if (p.threads > 1) {
      const std::set<std::uint32_t>& its = allowed(p.pid);
      const bool may = std::any_of(its.begin(), its.end(), [&](std::uint32_t c) { return cpus.contains(c); });
      if (!may && !(its.empty() && here)) continue;
    }
    told += p.used;
    if (p.pid != pid) there.push_back(&p);
  }
  std::sort(there.begin(), there.end(), [](const Process* a, const Process* b) {
    return a->used != b->used ? a->used > b->used : *a < *b;
  });
  if (there.size() > kMostTold) there.resize(kMostTold);
  const auto over_ns = static_cast<std::uint64_t>(over.value);
  std::vector<wire::Taker> out;
  const auto add = [&](wire::Taker::Kind kind, std::uint64_t ticks) -> wire::Taker& {
    wire::Taker& t = out.emplace_back();
    t.set_kind(kind);
    t.set_cpu(cpus.size() == 1 ? static_cast<std::int32_t>(*cpus.begin()) : -1);
    t.set_cpu_ns(std::min(ticks_to_ns(ticks), over_ns * cpus.size()));
    t.set_over_ns(over_ns);
    return t;
  };
  for (const Process* const p : there) {
    const std::string name = command(p->pid, p->start_time);
    if (name.empty()) {
      told -= std::min(told, p->used);  // it has ended since, and so it is one of those
      continue;
    }
    wire::Taker& t = add(kind_of(*p, name, job), p->used);
    t.set_pid(p->pid);
    t.set_name(name);
    if (t.kind() == wire::Taker::RANK) t.set_source(job.ranks.at(p->pid));
  }
  // The rest of what these CPUs did.
  std::uint64_t all = 0, stolen = 0;
  for (const std::uint32_t cpu : cpus) {
    if (cpu >= busy.size() || cpu >= busy_.size()) continue;
    all += busy[cpu].busy - std::min(busy[cpu].busy, busy_[cpu].busy);
    stolen += busy[cpu].steal - std::min(busy[cpu].steal, busy_[cpu].steal);
  }
  const auto least =
      std::max(kLeastUnseenTicks, static_cast<std::uint64_t>(kLeastUnseen * static_cast<double>(over_ns) /
                                                             static_cast<double>(ticks_to_ns(1))));
  if (stolen >= least) add(wire::Taker::HYPERVISOR, stolen);
  if (all > told && all - told >= least) add(wire::Taker::UNSEEN, all - told);
  std::stable_sort(out.begin(), out.end(),
                   [](const wire::Taker& a, const wire::Taker& b) { return a.cpu_ns() > b.cpu_ns(); });
  return out;
}

std::map<std::int64_t, std::vector<wire::Taker>> TakerScan::scan(TimeNs now,
                                                                 const std::vector<std::int64_t>& starved,
                                                                 const Job& job, DurationNs most_apart) {
  const bool first = seen_.empty() || now <= at_ || now - at_ > most_apart;
  if (first) all_ = false;
  std::vector<Busy> busy = read_busy();
  read_processes();
  allowed_.clear();
  std::map<std::int64_t, std::vector<wire::Taker>> out;
  for (const std::int64_t pid : starved) {
    if (first || out.size() >= kMostStarved) break;
    if (auto takers = takers_of(pid, busy, now - at_, job); !takers.empty())
      out.emplace(pid, std::move(takers));
  }
  busy_ = std::move(busy);
  at_ = now;
  return out;
}

bool Starvation::more_than_usual(DurationNs delay, DurationNs time) {
  if (time.value <= 0) return false;
  const double share = static_cast<double>(delay.value) / static_cast<double>(time.value);
  const bool more = samples_ > 0 && share >= kStarves && share >= usual_ + kBeyondUsual;
  samples_ = std::min(samples_ + 1, kMemory);
  usual_ += (share - usual_) / samples_;
  return more;
}

}  // namespace margay::node

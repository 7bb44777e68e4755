// What /proc tells of a process.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "margay/node/sampler.h"
#include "margay/node/segment_reader.h"
#include "margay/reader/streams.h"

namespace margay::reader {

Origin origin_of(std::int64_t pid) {
  Origin origin;
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  origin.host = node::clean_text(host, sizeof(host));
  std::ifstream("/proc/sys/kernel/random/boot_id") >> origin.boot_id;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (const auto stat = node::parse_stat(text.str())) origin.start_time = stat->start_time;
  return origin;
}

std::optional<ThreadUse> use_of_thread(std::int64_t pid, std::int64_t tid) {
  const std::string place = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/";
  const auto text_of = [&place](const char* name) {
    std::ifstream file(place + name);
    std::ostringstream text;
    if (file) text << file.rdbuf();
    return text.str();
  };
  const auto stat = node::parse_stat(text_of("stat"));
  const auto sched = node::parse_schedstat(text_of("schedstat"));
  if (!stat || !sched) return std::nullopt;
  return ThreadUse{stat->state == 'S' || stat->state == 'D', sched->cpu_ns, stat->state == 'R',
                   sched->run_delay_ns};
}

std::string name_of_thread(std::int64_t pid, std::int64_t tid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace margay::reader

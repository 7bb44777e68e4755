#include "delivery_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

namespace margay::sinks {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& line, const char* name) {
  const auto it = line.find(name);
  return it != line.end() && it->is_string() ? it->get<std::string>() : std::string();
}
std::string dump(const Json& line) {
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}
std::string since_line(const std::string& sink, TimeNs since) {
  return dump({{"sink", sink}, {"since_ns", since.value}});
}

}  // namespace

DeliveryLog::DeliveryLog(const std::string& path) : path_(path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    trouble_ = path + ": is no file";
    return;
  }
  read();
  if (lines_ > 2 * kMostRemembered) write_anew();
  open();
}

void DeliveryLog::open() {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0) trouble_ = path_ + ": cannot be written: " + std::strerror(errno);
}

DeliveryLog::~DeliveryLog() {
  if (fd_ >= 0) ::close(fd_);
}

void DeliveryLog::read() {
  std::ifstream in(path_);
  bool whole = true;
  for (std::string line; std::getline(in, line);) {
    whole = !in.eof();
    ++lines_;
    if (line.size() > kLongestLine) continue;
    const auto j = Json::parse(line, nullptr, false);
    if (!j.is_object()) continue;
    const std::string sink = text_of(j, "sink"), id = text_of(j, "id"), status = text_of(j, "status");
    if (sink.empty()) continue;
    if (!id.empty() && !status.empty()) {
      had_.insert({sink, id, status});
    } else if (const auto since = j.find("since_ns");
               since != j.end() && since->is_number_integer() && since_.size() < kMostSinks) {
      since_.try_emplace(sink, since->get<std::int64_t>());
    }
  }
  cut_ = !whole;
}

// What is remembered, in its order, beside the old file and then in its place.
void DeliveryLog::write_anew() {
  const std::string part = path_ + ".new";
  std::deque<std::string> newest;
  {
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) {
      if (line.size() > kLongestLine || line.find("\"since_ns\"") != std::string::npos) continue;
      newest.push_back(std::move(line));
      if (newest.size() > kMostRemembered) newest.pop_front();
    }
  }
  std::ofstream out(part, std::ios::trunc);
  for (const auto& [sink, since] : since_) out << since_line(sink, since);
  for (const std::string& line : newest) out << line << '\n';
  out.close();
  if (!out || ::chmod(part.c_str(), 0600) != 0 || std::rename(part.c_str(), path_.c_str()) != 0) {
    std::remove(part.c_str());
    return;  // the old one does, too
  }
  lines_ = since_.size() + newest.size();
  cut_ = false;
}

TimeNs DeliveryLog::since(const std::string& sink, TimeNs now) {
  const auto [at, fresh] = since_.try_emplace(sink, now);
  if (fresh) append(since_line(sink, now));
  return at->second;
}

bool DeliveryLog::had(const std::string& sink, const std::string& id, const std::string& status) const {
  return had_.contains({sink, id, status});
}

void DeliveryLog::note(const std::string& sink, const std::string& id, const std::string& status, bool sent) {
  if (!had_.insert({sink, id, status})) return;
  append(dump({{"sink", sink}, {"id", id}, {"status", status}, {"fate", sent ? "sent" : "given_up"}}));
}

void DeliveryLog::append(const std::string& line) {
  if (fd_ < 0) return;
  // A run may last for months.
  if (++lines_ > 2 * kMostRemembered) {
    write_anew();
    ::close(fd_);
    open();
    lines_ = std::min(lines_, kMostRemembered);  // where that failed it is not tried for each line
    if (fd_ < 0) return;
  }
  const std::string whole = (cut_ ? "\n" : "") + line;
  ssize_t n = 0;
  do n = ::write(fd_, whole.data(), whole.size());
  while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(whole.size())) {
    cut_ = false;
    return;
  }
  trouble_ = std::string("what was sent cannot be kept: ") + (n < 0 ? std::strerror(errno) : "no room");
  if (n > 0) cut_ = true;
}

}  // namespace margay::sinks

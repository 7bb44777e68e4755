#include "http_post.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "text.h"

namespace margay::sinks {
namespace {

constexpr std::size_t kLargestHeaders = 8 << 10;
constexpr std::size_t kMostHeaders = 16;
constexpr std::size_t kMostQuoted = 160;  // bytes of an answer in a sentence

bool is_header(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || colon == 0) return false;
  const auto token = [](unsigned char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_';
  };
  if (!std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon), token)) return false;
  const std::string value = line.substr(colon + 1);
  return value.find_first_not_of(' ') != std::string::npos &&
         std::all_of(value.begin(), value.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

// The other side has read this alert and does not want it; anything else may be mended.
bool refuses(long status) {
  return status == 400 || status == 413 || status == 415 || status == 422;
}

}  // namespace

Result<std::vector<std::string>> read_headers(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, path + ": " + std::strerror(errno));
  struct stat info {};
  std::string text(kLargestHeaders + 1, '\0');
  const bool is_file = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t n = is_file ? ::read(fd, text.data(), text.size()) : -1;
  ::close(fd);
  if (!is_file) return fail(ErrorCode::kInvalidArgument, path + ": is no file");
  if (n < 0) return fail(ErrorCode::kIo, path + ": cannot be read");
  if ((info.st_mode & 07) != 0)
    return fail(ErrorCode::kInvalidArgument, path + ": everybody may read it; type: chmod o= " + path);
  if (static_cast<std::size_t>(n) > kLargestHeaders)
    return fail(ErrorCode::kLimit, path + ": is larger than 8 KiB");
  text.resize(static_cast<std::size_t>(n));
  std::vector<std::string> headers;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    if (!is_header(line) || headers.size() == kMostHeaders)
      return fail(ErrorCode::kInvalidArgument,
                  path + ":" + std::to_string(number) +
                      ": expected up to 16 lines such as 'Authorization: Bearer TOKEN'");
    headers.push_back(std::move(line));
  }
  return headers;
}

struct HttpPost::State {
  explicit State(Target t) : target(std::move(t)), multi(curl_multi_init()), easy(curl_easy_init()) {}
  ~State() {
    if (busy) curl_multi_remove_handle(multi, easy);
    if (easy != nullptr) curl_easy_cleanup(easy);
    if (multi != nullptr) curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static std::size_t take(char* data, std::size_t size, std::size_t count, void* self) {
    auto& s = *static_cast<State*>(self);
    const std::size_t n = size * count;
    s.received += n;
    if (s.answer.size() < kMostQuoted) s.answer.append(data, std::min(n, kMostQuoted - s.answer.size()));
    return s.received <= kMostAnswer ? n : 0;  // 0 ends the transfer
  }
  void prepare();
  Outcome outcome(CURLcode code);
  void finish(Outcome o) {
    curl_multi_remove_handle(multi, easy);
    busy = false;
    done = std::move(o);
  }

  Target target;
  CURLM* multi;
  CURL* easy;
  curl_slist* headers = nullptr;
  std::string body, answer;
  std::size_t received = 0;
  char error[CURL_ERROR_SIZE] = "";
  bool busy = false;
  std::optional<Outcome> done;
};

HttpPost::HttpPost(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpPost::HttpPost(HttpPost&&) noexcept = default;
HttpPost::~HttpPost() = default;

Result<HttpPost> HttpPost::make(Target target) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  CURLU* url = curl_url();
  const CURLUcode good = curl_url_set(url, CURLUPART_URL, target.url.c_str(), 0);
  curl_url_cleanup(url);
  if (good != CURLUE_OK)
    return fail(ErrorCode::kInvalidArgument,
                safe_url(target.url) + ": is no URL: " + curl_url_strerror(good));
  if (!target.headers_file.empty())
    if (const auto headers = read_headers(target.headers_file); !headers)
      return fail(ErrorCode::kInvalidArgument, headers.error().message);
  if (!target.ca_file.empty() && ::access(target.ca_file.c_str(), R_OK) != 0)
    return fail(ErrorCode::kInvalidArgument, target.ca_file + ": " + std::strerror(errno));
  auto state = std::make_unique<State>(std::move(target));
  if (state->multi == nullptr || state->easy == nullptr)
    return fail(ErrorCode::kInternal, "libcurl cannot be used");
  return HttpPost(std::move(state));
}

const HttpPost::Target& HttpPost::target() const {
  return state_->target;
}

void HttpPost::State::prepare() {
  curl_easy_reset(easy);  // keeps the connection
  curl_easy_setopt(easy, CURLOPT_URL, target.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a name that is being looked up holds up no end
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(target.time_limit.value / 1'000'000));
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "margay");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &State::take);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  if (!target.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, target.ca_file.c_str());
}

void HttpPost::begin(std::string json, const std::string& header) {
  State& s = *state_;
  s.body = std::move(json);
  s.answer.clear();
  s.received = 0;
  s.error[0] = '\0';
  s.done.reset();
  curl_slist_free_all(std::exchange(s.headers, nullptr));
  std::vector<std::string> lines = {"Content-Type: application/json", "Expect:"};
  if (!header.empty()) lines.push_back(header);
  if (!s.target.headers_file.empty()) {
    auto own = read_headers(s.target.headers_file);
    if (!own) {
      s.done = Outcome{Outcome::Kind::kRetry, own.error().message, {}};
      return;
    }
    lines.insert(lines.end(), own->begin(), own->end());
  }
  for (const std::string& line : lines) s.headers = curl_slist_append(s.headers, line.c_str());
  s.prepare();
  curl_multi_add_handle(s.multi, s.easy);
  s.busy = true;
}

std::optional<Outcome> HttpPost::progress() {
  State& s = *state_;
  if (s.busy) {
    int running = 0;
    if (const CURLMcode bad = curl_multi_perform(s.multi, &running); bad != CURLM_OK) {
      s.finish({Outcome::Kind::kRetry, curl_multi_strerror(bad), {}});
    } else {
      int left = 0;
      while (const CURLMsg* m = curl_multi_info_read(s.multi, &left))
        if (m->msg == CURLMSG_DONE) {
          s.finish(s.outcome(m->data.result));
          break;
        }
    }
  }
  return std::exchange(s.done, std::nullopt);
}

Outcome HttpPost::State::outcome(CURLcode code) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  const bool cut_short = code == CURLE_WRITE_ERROR && received > kMostAnswer;  // by us; the status is known
  if (code != CURLE_OK && !cut_short)
    return {Outcome::Kind::kRetry, fit(error[0] != '\0' ? error : curl_easy_strerror(code), 300), {}};
  if (status >= 200 && status < 300) return {};
  Outcome o;
  o.kind = refuses(status) ? Outcome::Kind::kRefused : Outcome::Kind::kRetry;
  o.why = "HTTP status " + std::to_string(status);
  if (!answer.empty()) o.why += ": " + fit(answer, kMostQuoted);
  curl_off_t after = 0;
  if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &after) == CURLE_OK && after > 0)
    o.pause = seconds(std::min<std::int64_t>(after, 3600));
  return o;
}

void HttpPost::cut() {
  State& s = *state_;
  if (s.busy) s.finish({Outcome::Kind::kRetry, "took too long", {}});
}

}  // namespace margay::sinks

#include "support/fake_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace margay::test_support {
namespace {

// Commands, and what is common to answers.
enum : std::uint32_t {
  kConnect = 1,
  kList,
  kAttach,
  kNextIndex,
  kPacket,
  kMetadata,
  kNewStreams,
  kCreate,
  kDetach
};
enum : std::uint32_t { kOk = 1, kRetry = 2, kHup = 3, kErr = 4, kInactive = 5, kNoStatus = 77 };
enum : std::uint64_t { kSession = 9, kStream = 3, kMetadataStream = 4, kTrace = 5 };
enum : std::uint32_t { kNoneNew = 2, kSessionOver = 4 };  // of kNewStreams
constexpr std::size_t kPathBytes = 4096, kNameBytes = 255, kHostBytes = 64;
constexpr int kPatienceMs = 20;

// Big endian, packed.
class Words {
 public:
  Words& u32(std::uint64_t v) { return put(v, 4); }
  Words& u64(std::uint64_t v) { return put(v, 8); }
  Words& text(std::string v, std::size_t size) {
    v.resize(size, '\0');
    bytes_ += v;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Words& put(std::uint64_t v, int size) {
    for (int i = size - 1; i >= 0; --i) bytes_ += static_cast<char>(v >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

std::uint64_t big(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint64_t v = 0;
  for (std::size_t i = 0; i < size && at + i < bytes.size(); ++i)
    v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}
std::uint64_t little(const std::string& bytes, std::size_t at) {
  std::uint64_t v = 0;
  for (std::size_t i = 8; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}
std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
bool send_all(int fd, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}
bool receive_all(int fd, std::size_t size, std::string& bytes) {
  bytes.resize(size);
  for (std::size_t got = 0; got < size;) {
    const ssize_t n = recv(fd, bytes.data() + got, size - got, 0);
    if (n <= 0) return false;
    got += static_cast<std::size_t>(n);
  }
  return true;
}
Words& put_streams(Words& words) {
  words.u64(kStream).u64(kTrace).u32(0).text("ust/uid/0/64-bit", kPathBytes).text("c_0", kNameBytes);
  return words.u64(kMetadataStream)
      .u64(kTrace)
      .u32(1)
      .text("ust/uid/0/64-bit", kPathBytes)
      .text("metadata", kNameBytes);
}

}  // namespace

FakeRelay::FakeRelay(const std::string& directory, std::vector<Step> steps)
    : metadata_(read_all(directory + "/metadata")), steps_(std::move(steps)) {
  for (const char* name : {"/channel0_0", "/channel_0", "/stream_0", "/c_0"})
    if (stream_.empty()) stream_ = read_all(directory + name);
  // magic, uuid, stream, instance; then begin, end, content, size, sequence, discarded
  constexpr std::size_t kHead = 4 + 16 + 4 + 8;
  for (std::size_t at = 0; at + kHead + 48 <= stream_.size();) {
    Packet p;
    p.at = at;
    p.begin = little(stream_, at + kHead);
    p.end = little(stream_, at + kHead + 8);
    p.content_bits = little(stream_, at + kHead + 16);
    p.bytes = little(stream_, at + kHead + 24) / 8;
    p.discarded = little(stream_, at + kHead + 40);
    if (p.bytes == 0) break;
    packets_.push_back(p);
    at += p.bytes;
  }
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, plain, size) != 0 || listen(listener_, 4) != 0 ||
      getsockname(listener_, plain, &size) != 0)
    return;
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FakeRelay::~FakeRelay() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  if (listener_ >= 0) close(listener_);
}

std::string FakeRelay::url() const {
  return port_ == 0 ? "" : "net://127.0.0.1:" + std::to_string(port_) + "/host/node1/made";
}

void FakeRelay::serve() {
  while (!stop_) {
    pollfd p{listener_, POLLIN, 0};
    if (poll(&p, 1, kPatienceMs) <= 0) continue;
    const int fd = accept(listener_, nullptr, nullptr);
    if (fd < 0) continue;
    for (;;) {
      pollfd c{fd, POLLIN, 0};
      if (stop_) break;
      if (poll(&c, 1, kPatienceMs) <= 0) continue;
      if (!answer(fd)) break;
    }
    close(fd);
  }
}

// False: the connection is over.
bool FakeRelay::answer(int fd) {
  std::string head, request;
  if (!receive_all(fd, 16, head) || !receive_all(fd, big(head, 0, 8), request)) return false;
  Words words;
  switch (big(head, 8, 4)) {
    case kConnect:
      return send_all(fd, words.u64(1).u32(2).u32(12).u32(1).bytes());
    case kList:
      return send_all(fd, words.u32(1)
                              .u64(kSession)
                              .u32(20'000)
                              .u32(0)
                              .u32(2)
                              .text("node1", kHostBytes)
                              .text("made", kNameBytes)
                              .bytes());
    case kCreate:
    case kDetach:
      return send_all(fd, words.u32(kOk).bytes());
    case kAttach:
      return send_all(fd, put_streams(words.u32(kOk).u32(2)).bytes());
    case kNewStreams:
      return send_all(fd, words.u32(step_ >= steps_.size() ? kSessionOver : kNoneNew).u32(0).bytes());
    case kMetadata:
      if (std::exchange(metadata_told_, true)) return send_all(fd, words.u64(0).u32(2).bytes());
      return send_all(fd, words.u64(metadata_.size()).u32(kOk).text(metadata_, metadata_.size()).bytes());
    case kNextIndex:
      return next_index(fd);
    case kPacket:
      return get_packet(fd, request);
    default:
      return false;
  }
}

bool FakeRelay::next_index(int fd) {
  while (step_ < steps_.size() && steps_[step_].kind == Step::Kind::kSkip) {
    ++packet_;
    ++step_;
  }
  Words words;
  const auto plain = [&](std::uint32_t status, std::uint64_t until = 0) {
    return words.u64(0).u64(0).u64(0).u64(0).u64(until).u64(0).u64(0).u32(status).u32(0).bytes();
  };
  if (step_ >= steps_.size()) return send_all(fd, plain(kHup));
  const Step step = steps_[step_++];
  switch (step.kind) {
    case Step::Kind::kRetry:
      return send_all(fd, plain(kRetry));
    case Step::Kind::kInactive:
      return send_all(fd, plain(kInactive, step.value));
    case Step::Kind::kError:
      return send_all(fd, plain(kErr));
    case Step::Kind::kGarbage:
      return send_all(fd, plain(kNoStatus));
    case Step::Kind::kBreak: {
      const std::string whole = plain(kOk);
      send_all(fd, whole.substr(0, whole.size() / 2));
      return false;
    }
    default:
      break;
  }
  if (packet_ >= packets_.size()) return send_all(fd, plain(kHup));
  cut_short_ = step.kind == Step::Kind::kShort;
  const Packet& p = packets_[packet_++];
  return send_all(fd, words.u64(p.at)
                          .u64(p.bytes * 8)
                          .u64(p.content_bits)
                          .u64(p.begin)
                          .u64(p.end)
                          .u64(p.discarded)
                          .u64(0)
                          .u32(kOk)
                          .u32(0)
                          .bytes());
}

bool FakeRelay::get_packet(int fd, const std::string& request) {
  const std::size_t at = big(request, 8, 8), size = big(request, 16, 4);
  if (at > stream_.size() || size > stream_.size() - at)
    return send_all(fd, Words().u32(3).u32(0).u32(0).bytes());
  const std::string head = Words().u32(kOk).u32(size).u32(0).bytes(), data = stream_.substr(at, size);
  if (!cut_short_) return send_all(fd, head + data);
  send_all(fd, head + data.substr(0, size / 2));
  return false;
}

}  // namespace margay::test_support

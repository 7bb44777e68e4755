// The system's part of the gate: addresses, and a pipe of bytes between two sockets.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "margay/base/descriptor.h"
#include "margay/base/result.h"

namespace margay::transport {

struct Listener {
  Descriptor socket;
  std::string address;  // as it was bound
};
// Errors: kInvalidArgument, kIo; a sentence with the address.
Result<Listener> listen_tcp(const std::string& address);
// Errors: kUnavailable (nobody is there, now), kLimit (no descriptor), kTimeout (its queue is full: try
// again).
Result<Descriptor> connect_unix(const std::string& path);
// What counts as one peer: an IPv4 address, or an IPv6 network of 64 bits.
std::string address_key(const sockaddr_storage& address);
// The same for people, without the port.
std::string address_text(const sockaddr_storage& address);
void tune_client(int fd);  // no delay, keepalive
// The peer gets a reset: nothing of the connection stays behind here, no TIME_WAIT either.
void reset_on_close(int fd);

// One direction of a connection. Holds at most `limit` bytes that the reader has not taken; as long as it
// holds any, nothing more is read.
class Pipe {
 public:
  enum class Result { kOpen, kSourceClosed, kBroken };
  // Moves what can be moved, a bounded amount at a time. `scratch` is shared between all pipes of a thread;
  // `seen` is told what was read, before it is passed on, and may refuse it (false: kBroken). At most `most`
  // bytes are read.
  Result pump(int from, int to, std::size_t limit, std::size_t most, char* scratch,
              const std::function<bool(std::string_view)>& seen);
  Result flush(int to);
  // Keeps bytes for the reader that is not there yet. False: no room.
  bool keep(std::string_view bytes, std::size_t limit);
  bool empty() const { return begin_ == end_; }
  std::string_view held() const { return {buffer_.get() + begin_, end_ - begin_}; }
  std::uint64_t moved() const { return moved_; }

 private:
  std::unique_ptr<char[]> buffer_;  // only while it holds something
  std::size_t begin_ = 0, end_ = 0, size_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace margay::transport

// A relay daemon of LTTng's that serves one session from files (of CtfWriter), with what real ones do rarely:
// packets that are missing, answers that wait, connections that break off in the middle of a word.
//
//   FakeRelay relay(directory, {FakeRelay::Step::packet(), FakeRelay::Step::retry(),
//   FakeRelay::Step::packet()}); TraceReader::open_live(relay.url(), sink);
//
// Speaks the viewers' protocol of LTTng 2.4 to 2.13, as far as Babeltrace asks. One thread, one viewer at a
// time, ends with the object. Errors: url() is "" where no port could be had.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace margay::test_support {

class FakeRelay {
 public:
  // What it answers when the stream of CPU 0 is asked for the next packet; at the end of the list: hung up.
  struct Step {
    enum class Kind : std::uint8_t {
      kPacket,    // the next of the file
      kSkip,      // none is told of the next of the file: lost; the step after it counts
      kRetry,     // nothing yet
      kInactive,  // nothing until `value`, a raw time
      kBreak,     // the connection ends after half the answer
      kGarbage,   // a status that does not exist
      kShort,     // a packet of which half the bytes come, and the connection ends
      kError,     // "an error occurred"
    };
    Kind kind = Kind::kPacket;
    std::uint64_t value = 0;
    static Step packet() { return {Kind::kPacket}; }
    static Step skip() { return {Kind::kSkip}; }
    static Step retry() { return {Kind::kRetry}; }
    static Step inactive(std::uint64_t until) { return {Kind::kInactive, until}; }
    static Step broken() { return {Kind::kBreak}; }
    static Step garbage() { return {Kind::kGarbage}; }
    static Step shortened() { return {Kind::kShort}; }
    static Step error() { return {Kind::kError}; }
  };
  // `directory` has a trace with the stream of CPU 0.
  FakeRelay(const std::string& directory, std::vector<Step> steps);
  ~FakeRelay();
  FakeRelay(const FakeRelay&) = delete;
  FakeRelay& operator=(const FakeRelay&) = delete;

  std::string url() const;

 private:
  struct Packet {
    std::size_t at = 0, bytes = 0;
    std::uint64_t content_bits = 0, begin = 0, end = 0, discarded = 0;
  };
  void serve();
  bool answer(int fd);
  bool next_index(int fd);
  bool get_packet(int fd, const std::string& request);

  std::string stream_, metadata_;
  std::vector<Packet> packets_;
  std::vector<Step> steps_;
  std::size_t step_ = 0, packet_ = 0;
  bool metadata_told_ = false, cut_short_ = false;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace margay::test_support

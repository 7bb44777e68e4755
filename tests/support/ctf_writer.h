// Writes small traces in CTF 1.8 as LTTng lays them out (metadata as text, packets without an index), for
// tests that need traces made to measure: kernel-like ones, thousands of threads, losses, other clocks,
// damage.
//
//   CtfTrace trace(directory, {}, {{"app:begin", {{"id", "i32"}, {"what", "text"}}}});
//   trace.event(0, 1'000, 0, CtfBytes().i32(pid).i32(tid).comm("app"), CtfBytes().i32(7).text("x"));
//   trace.finish();
//
// Units: times are raw values of the clock (ns at 1 GHz). Times of one CPU must not go back. Errors: false.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace margay::test_support {

// Bytes of fields, packed, little endian.
class CtfBytes {
 public:
  CtfBytes& i32(std::int32_t v) { return put(static_cast<std::uint32_t>(v), 4); }
  CtfBytes& u32(std::uint32_t v) { return put(v, 4); }
  CtfBytes& i64(std::int64_t v) { return put(static_cast<std::uint64_t>(v), 8); }
  CtfBytes& u64(std::uint64_t v) { return put(v, 8); }
  CtfBytes& f64(double v);
  CtfBytes& text(const std::string& v);  // with its zero
  CtfBytes& comm(const std::string& v);  // 16 bytes
  const std::string& bytes() const { return bytes_; }

 private:
  CtfBytes& put(std::uint64_t value, std::size_t size);
  std::string bytes_;
};

// Types: i32, u32, i64, u64, f64, text, comm, enum (4 bytes, signed: zero, one), u8x4 (an array of 4 bytes).
struct CtfField {
  std::string name;
  std::string type;
};
struct CtfClass {
  std::string name;
  std::vector<CtfField> fields;
};

struct CtfOptions {
  std::string domain = "ust";  // or "kernel"
  std::string host = "node1";
  std::string clock = "monotonic";
  std::string clock_uuid = "11111111-2222-3333-4444-555555555555";  // "": none
  std::uint64_t frequency = 1'000'000'000;
  std::int64_t offset = 1'700'000'000'000'000'000;  // cycles; wall clock minus the raw value
  std::uint8_t uuid = 1;                            // all 16 bytes of the trace's; 0: it has none
  std::string tracer;                               // "": LTTng's of the domain
  std::vector<CtfField> context = {{"vpid", "i32"}, {"vtid", "i32"}, {"procname", "comm"}};
  std::size_t packet_bytes = 64 << 10;  // a packet that has more is closed
};

class CtfTrace {
 public:
  CtfTrace(std::string directory, CtfOptions options, std::vector<CtfClass> classes);

  // Times in front of an open packet's are not checked, so that tests can write what is wrong.
  bool event(std::uint32_t cpu, std::uint64_t time, std::uint32_t cls, const CtfBytes& context,
             const CtfBytes& payload);
  // Events of this CPU are lost from here to the end of its packet; `packets` whole ones before the next.
  void lose(std::uint32_t cpu, std::uint64_t events);
  void lose_packets(std::uint32_t cpu, std::uint64_t packets);
  // Closes the CPU's packet, if one is open.
  bool end_packet(std::uint32_t cpu, std::uint64_t time);
  // Closes what is open and writes the metadata.
  bool finish();
  std::string stream_file(std::uint32_t cpu) const;
  std::string metadata() const;

 private:
  struct Stream {
    std::string events;
    std::uint64_t begin = 0, last = 0;
    std::uint64_t discarded = 0, sequence = 0;
    bool open = false;
  };
  std::string directory_;
  CtfOptions options_;
  std::vector<CtfClass> classes_;
  std::map<std::uint32_t, Stream> streams_;
};

// Changes to files, for damage. False: it cannot be done.
bool cut_file(const std::string& path, std::uint64_t size);
bool flip_bits(const std::string& path, std::uint64_t at, std::uint8_t bits);

}  // namespace margay::test_support

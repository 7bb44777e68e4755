#include "ctf_writer.h"

#include <cstring>
#include <filesystem>
#include <fstream>

namespace margay::test_support {
namespace {

constexpr std::size_t kHead = 64 + 8 + 8 + 4;  // packet header and context

std::string uuid_text(std::uint8_t byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

std::string integer(int bits, bool is_signed) {
  return "integer { size = " + std::to_string(bits) + "; align = 8; signed = " + (is_signed ? "1" : "0") +
         "; }";
}

std::string declaration(const CtfField& f) {
  if (f.type == "i32") return integer(32, true) + " _" + f.name;
  if (f.type == "u32") return integer(32, false) + " _" + f.name;
  if (f.type == "i64") return integer(64, true) + " _" + f.name;
  if (f.type == "u64") return integer(64, false) + " _" + f.name;
  if (f.type == "f64")
    return "floating_point { exp_dig = 11; mant_dig = 53; align = 8; byte_order = le; } _" + f.name;
  if (f.type == "enum") return "enum : " + integer(32, true) + " { \"zero\" = 0, \"one\" = 1 } _" + f.name;
  if (f.type == "u8x4") return integer(8, false) + " _" + f.name + "[4]";
  if (f.type == "comm")
    return "integer { size = 8; align = 8; signed = 0; encoding = UTF8; } _" + f.name + "[16]";
  return "string _" + f.name;
}

std::string structure(const std::vector<CtfField>& fields) {
  std::string out = "struct {\n";
  for (const CtfField& f : fields) out += "    " + declaration(f) + ";\n";
  return out + "  }";
}

}  // namespace

CtfBytes& CtfBytes::put(std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  return *this;
}
CtfBytes& CtfBytes::f64(double v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof bits);
  return put(bits, 8);
}
CtfBytes& CtfBytes::text(const std::string& v) {
  bytes_ += v;
  bytes_ += '\0';
  return *this;
}
CtfBytes& CtfBytes::comm(const std::string& v) {
  std::string cut = v.substr(0, 15);
  cut.resize(16, '\0');
  bytes_ += cut;
  return *this;
}

CtfTrace::CtfTrace(std::string directory, CtfOptions options, std::vector<CtfClass> classes)
    : directory_(std::move(directory)), options_(std::move(options)), classes_(std::move(classes)) {
  std::error_code ec;
  std::filesystem::create_directories(directory_, ec);
}

std::string CtfTrace::stream_file(std::uint32_t cpu) const {
  return directory_ + "/channel0_" + std::to_string(cpu);
}

bool CtfTrace::event(std::uint32_t cpu, std::uint64_t time, std::uint32_t cls, const CtfBytes& context,
                     const CtfBytes& payload) {
  Stream& s = streams_[cpu];
  if (s.open && s.events.size() >= options_.packet_bytes && !end_packet(cpu, s.last)) return false;
  if (!s.open) s.begin = time;
  s.open = true;
  s.last = time;
  s.events += CtfBytes().u32(cls).u64(time).bytes();
  s.events += context.bytes();
  s.events += payload.bytes();
  return true;
}

void CtfTrace::lose(std::uint32_t cpu, std::uint64_t events) {
  streams_[cpu].discarded += events;
}
void CtfTrace::lose_packets(std::uint32_t cpu, std::uint64_t packets) {
  streams_[cpu].sequence += packets;
}

bool CtfTrace::end_packet(std::uint32_t cpu, std::uint64_t time) {
  Stream& s = streams_[cpu];
  if (!s.open) return true;
  const std::size_t content = kHead + s.events.size();
  const std::size_t size = (content + 63) / 64 * 64;
  CtfBytes head;
  head.u32(0xC1FC1FC1);
  std::string out = head.bytes() + std::string(16, static_cast<char>(options_.uuid));
  CtfBytes rest;
  rest.u32(0).u64(cpu).u64(s.begin).u64(time).u64(content * 8).u64(size * 8);
  rest.u64(s.sequence++).u64(s.discarded).u32(cpu);
  out += rest.bytes();
  out += s.events;
  out.resize(size, '\0');
  s.events.clear();
  s.open = false;
  std::ofstream file(stream_file(cpu), std::ios::binary | std::ios::app);
  file << out;
  file.close();
  return static_cast<bool>(file);
}

std::string CtfTrace::metadata() const {
  const std::string u32 = integer(32, false), u64 = integer(64, false);
  const std::string clock64 =
      "integer { size = 64; align = 8; signed = 0; map = clock." + options_.clock + ".value; }";
  const std::string tracer = !options_.tracer.empty()      ? options_.tracer
                             : options_.domain == "kernel" ? "lttng-modules"
                                                           : "lttng-ust";
  std::string out = "/* CTF 1.8 */\n\ntrace {\n  major = 1;\n  minor = 8;\n";
  if (options_.uuid != 0) out += "  uuid = \"" + uuid_text(options_.uuid) + "\";\n";
  out += "  byte_order = le;\n  packet.header := struct {\n    " + u32 + " magic;\n";
  out += "    integer { size = 8; align = 8; signed = 0; } " +
         std::string(options_.uuid != 0 ? "uuid[16];\n" : "ignored[16];\n");
  out += "    " + u32 + " stream_id;\n    " + u64 + " stream_instance_id;\n  };\n};\n\n";
  out += "env {\n  hostname = \"" + options_.host + "\";\n  domain = \"" + options_.domain +
         "\";\n  tracer_name = \"" + tracer + "\";\n  tracer_major = 2;\n  tracer_minor = 13;\n};\n\n";
  out += "clock {\n  name = \"" + options_.clock + "\";\n";
  if (!options_.clock_uuid.empty()) out += "  uuid = \"" + options_.clock_uuid + "\";\n";
  out += "  description = \"Monotonic Clock\";\n  freq = " + std::to_string(options_.frequency) +
         ";\n  offset = " + std::to_string(options_.offset) + ";\n};\n\n";
  out += "stream {\n  id = 0;\n  packet.context := struct {\n    " + clock64 + " timestamp_begin;\n    " +
         clock64 + " timestamp_end;\n    " + u64 + " content_size;\n    " + u64 + " packet_size;\n    " +
         u64 + " packet_seq_num;\n    " + u64 + " events_discarded;\n    " + u32 + " cpu_id;\n  };\n";
  out += "  event.header := struct {\n    " + u32 + " id;\n    " + clock64 + " timestamp;\n  };\n";
  if (!options_.context.empty()) out += "  event.context := " + structure(options_.context) + ";\n";
  out += "};\n";
  for (std::size_t i = 0; i < classes_.size(); ++i)
    out += "\nevent {\n  name = \"" + classes_[i].name + "\";\n  id = " + std::to_string(i) +
           ";\n  stream_id = 0;\n  fields := " + structure(classes_[i].fields) + ";\n};\n";
  return out;
}

bool CtfTrace::finish() {
  for (auto& [cpu, stream] : streams_)
    if (!end_packet(cpu, stream.last)) return false;
  std::ofstream file(directory_ + "/metadata", std::ios::binary);
  file << metadata();
  file.close();
  return static_cast<bool>(file);
}

bool cut_file(const std::string& path, std::uint64_t size) {
  std::error_code ec;
  std::filesystem::resize_file(path, size, ec);
  return !ec;
}

bool flip_bits(const std::string& path, std::uint64_t at, std::uint8_t bits) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  if (byte < 0) return false;
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ bits));
  file.close();
  return static_cast<bool>(file);
}

}  // namespace margay::test_support

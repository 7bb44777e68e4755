// The shared-memory file of a probe as the node agent reads it: header, names, rings with hostile heads and
// tails. The file has its right size (a wrong one is refused at once); the input is laid over a sound
// segment.
//   input: u8 flags (1: zeros below instead of a sound segment)
//          overlays  u8 where (0..7: the control of that ring, 8: the header, 9: names, 10: records), u16
//          offset, piece bytes, until an offset of 0xffff
//          u64 now, then a script of u8: ring, and how many to take
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "margay/node/segment_reader.h"
#include "margay/probe/sums.h"

namespace {

using namespace margay;
using probe::SegmentHeader;

SegmentHeader* make(const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  FUZZ_CHECK(fd >= 0 && ftruncate(fd, static_cast<off_t>(probe::kFileBytes)) == 0, "room in /dev/shm");
  void* memory = mmap(nullptr, probe::kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  FUZZ_CHECK(memory != MAP_FAILED, "a mapping");
  return static_cast<SegmentHeader*>(memory);
}

void sound(SegmentHeader& h) {
  h.layout = probe::kLayoutVersion;
  h.header_bytes = sizeof(SegmentHeader);
  h.file_bytes = probe::kFileBytes;
  h.pid = 100;
  h.start_time = 7;
  std::strcpy(h.boot_id, "boot");
  std::strcpy(h.host, "node7");
  std::strcpy(h.names[0], "Compute");
  h.names_used = 1;
  for (std::uint32_t r = 0; r < probe::kRings; ++r) {
    h.rings[r].control.offset = probe::ring_offset(r);
    h.rings[r].control.capacity = probe::ring_capacity(r);
    h.rings[r].control.state = probe::kLive;
  }
  h.magic = probe::kMagic;
}

void overlay(char* base, std::size_t where, std::size_t offset, std::string_view bytes) {
  std::size_t begin = 0, room = sizeof(SegmentHeader);
  if (where < probe::kRings) {
    begin = offsetof(SegmentHeader, rings) + where * sizeof(probe::RingControl);
    room = sizeof(probe::RingControl);
  } else if (where == 9) {
    begin = offsetof(SegmentHeader, names);
    room = sizeof(SegmentHeader::names);
  } else if (where == 10) {
    begin = probe::ring_offset(0);
    room = 65536;
  }
  offset %= room;
  std::memcpy(base + begin + offset, bytes.data(), std::min(bytes.size(), room - offset));
}

bool is_clean(const std::string& text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  return node::clean_text(text.data(), text.size()) == text;
}

void read(const std::string& path, std::int64_t now, fuzz::Input& in, SegmentHeader& shared) {
  auto opened = node::SegmentReader::open_untrusted(path);
  unlink(path.c_str());
  if (!opened) return;
  node::SegmentReader& segment = *opened;
  const auto& who = segment.identity();
  FUZZ_CHECK(who.pid > 0 && is_clean(who.host) && is_clean(who.command) && is_clean(who.boot_id),
             "clean text");
  for (const auto& [key, value] : who.environment) FUZZ_CHECK(is_clean(value), "clean text");
  static_cast<void>(segment.source_id());
  static_cast<void>(segment.next_epoch());
  FUZZ_CHECK(segment.rank() >= -1 && segment.world_size() >= 0, "a rank or -1");
  const auto names = segment.names();
  FUZZ_CHECK(names.size() <= probe::kNames, "a bounded name table");
  for (const auto& n : names)
    FUZZ_CHECK(is_clean(n.name) && n.name.size() < probe::kNameBytes + 1, "clean names");
  FUZZ_CHECK(segment.intact(), "the file is whole");

  std::vector<EventRecord> out;
  std::int64_t promised[probe::kRings];
  std::fill(std::begin(promised), std::end(promised), INT64_MIN);
  for (int steps = 0; !in.empty() && steps < 64; ++steps) {
    const unsigned step = in.u8();
    const std::uint32_t r = step % probe::kRings;
    if (step & 0x80u)
      shared.rings[r].control.head = in.integer<std::uint64_t>();  // the producer goes on, or lies
    if (!segment.ring_used(r)) continue;
    node::RingReader& ring = segment.ring(r);
    const auto look = ring.look(TimeNs(now));
    if (!look) continue;
    const std::uint64_t tail = ring.tail();
    const std::size_t most = (step & 0x40u) != 0 ? 5'000 : (step >> 3 & 7u);
    out.clear();
    const std::size_t n = ring.take(*look, most, out);
    FUZZ_CHECK(n == out.size() && n <= most && n <= probe::ring_capacity(r), "no more than the ring holds");
    FUZZ_CHECK(ring.tail() == tail + n, "the tail moves by what was taken");
    const TimeNs covered = ring.covered_until(*look);
    FUZZ_CHECK(covered.value >= promised[r], "a promise is not taken back");
    FUZZ_CHECK(covered.value <= std::max<std::int64_t>(now, 0), "nor does it reach beyond now");
    promised[r] = covered.value;
    if (look->holds && ring.tail() == look->head) {
      out.clear();
      const std::size_t sums = ring.take_sums(*look, (step & 0x20u) != 0, out);
      FUZZ_CHECK(sums == out.size() && sums <= probe::kMostPieceRecords, "no more than a piece");
    }
    now += 1000;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = "/dev/shm/margay-fuzz-segment-" + std::to_string(getpid());
  fuzz::Input in(data, size);
  const unsigned flags = in.u8();
  SegmentHeader* header = make(path);
  if ((flags & 1u) == 0) sound(*header);
  for (int i = 0; i < 32 && !in.empty(); ++i) {
    const std::size_t where = in.u8();
    const std::size_t offset = in.u16();
    if (offset == 0xffff) break;
    overlay(reinterpret_cast<char*>(header), where, offset, in.piece());
  }
  const auto now = static_cast<std::int64_t>(in.integer<std::uint64_t>() >> 2);
  read(path, now, in, *header);
  unlink(path.c_str());
  munmap(header, probe::kFileBytes);
  return 0;
}

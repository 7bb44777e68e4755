#include "packets.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <span>
#include <string_view>

namespace margay::lttng {
namespace {

constexpr std::uint32_t kMagic = 0xC1FC1FC1;
constexpr std::uint32_t kIndexMagic = 0xC1F1DCC1;
constexpr std::size_t kIndexHead = 16;
constexpr std::size_t kIndexEntry = 56;             // version 1.0
constexpr std::size_t kMostIndexEntry = 4096;       // of later versions
constexpr std::uint64_t kMostPacket = 1ULL << 40U;  // bytes

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return fd_ >= 0; }
  std::uint64_t size() const {
    struct stat s {};
    return fstat(fd_, &s) == 0 && s.st_size > 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
  }
  bool read_at(std::uint64_t offset, std::span<std::uint8_t> out) const {
    std::size_t got = 0;
    while (got < out.size()) {
      const ssize_t n = pread(fd_, out.data() + got, out.size() - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      got += static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int fd_;
};

std::uint64_t value_at(const std::uint8_t* bytes, std::size_t size, bool big) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t shift = 8 * (big ? size - 1 - i : i);
    value |= static_cast<std::uint64_t>(bytes[i]) << shift;
  }
  return value;
}

// magic, uuid[16], stream_id, (stream_instance_id,) timestamp_begin, timestamp_end, content_size, packet_size
struct Header {
  bool magic = false;
  std::array<std::uint8_t, 16> uuid{};
  std::uint64_t stream_class = 0, instance = 0, begin = 0, end = 0, content_bits = 0, packet_bits = 0;
};

Header header_of(std::span<const std::uint8_t> bytes, bool instances) {
  Header h;
  const bool big = value_at(bytes.data(), 4, true) == kMagic;
  h.magic = big || value_at(bytes.data(), 4, false) == kMagic;
  std::copy_n(bytes.data() + 4, h.uuid.size(), h.uuid.begin());
  h.stream_class = value_at(bytes.data() + 20, 4, big);
  if (instances) h.instance = value_at(bytes.data() + 24, 8, big);
  const std::uint8_t* context = bytes.data() + (instances ? 32 : 24);
  h.begin = value_at(context, 8, big);
  h.end = value_at(context + 8, 8, big);
  h.content_bits = value_at(context + 16, 8, big);
  h.packet_bits = value_at(context + 24, 8, big);
  return h;
}

bool is_sound(const Header& h, std::size_t head) {
  return h.magic && h.packet_bits % 8 == 0 && h.packet_bits / 8 <= kMostPacket &&
         h.content_bits <= h.packet_bits && h.content_bits >= head * 8 && (h.end == 0 || h.begin <= h.end) &&
         h.begin <= INT64_MAX && h.end <= INT64_MAX;
}

std::array<std::uint8_t, 16> uuid_of(const std::string& digits) {
  std::array<std::uint8_t, 16> out{};
  for (std::size_t i = 0; i < out.size() && digits.size() == 2 * out.size(); ++i)
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, out[i], 16);
  return out;
}

std::string at_byte(std::string_view what, std::uint64_t offset) {
  return std::string(what) + std::to_string(offset);
}

}  // namespace

Result<PacketScan> scan_packets_untrusted(const std::string& path, bool instances, const std::string& uuid) {
  const File file(path);
  if (!file.is_open()) return fail(ErrorCode::kIo, path + ": cannot be opened: " + strerror(errno));
  PacketScan scan;
  scan.file_size = file.size();
  const std::size_t head = instances ? 64 : 56;
  std::array<std::uint8_t, 64> bytes{};
  Header first;
  const auto expected = uuid_of(uuid);
  std::uint64_t offset = 0;
  while (offset < scan.file_size) {
    if (scan.file_size - offset < head) {
      scan.damage = at_byte("it ends within the head of the packet at byte ", offset);
      break;
    }
    if (!file.read_at(offset, std::span(bytes.data(), head)))
      return fail(ErrorCode::kIo, path + ": cannot be read at byte " + std::to_string(offset));
    const Header h = header_of(bytes, instances);
    if (offset == 0) {
      first = h;
      scan.stream_class = h.stream_class;
      scan.instance = h.instance;
    }
    const bool same = (uuid.empty() || h.uuid == expected) && h.stream_class == first.stream_class &&
                      h.instance == first.instance &&
                      (scan.packets.empty() || h.begin >= scan.packets.back().begin);
    if (!is_sound(h, head) || !same) {
      scan.damage = at_byte("no packet begins at byte ", offset);
      break;
    }
    const std::uint64_t rest = scan.file_size - offset;
    scan.packets.push_back({offset, std::min(h.packet_bits / 8, rest), h.begin, h.end});
    if (h.packet_bits / 8 > rest) {
      scan.damage = at_byte("it ends within the packet at byte ", offset);
      break;
    }
    offset += h.packet_bits / 8;
  }
  return scan;
}

bool index_fits_untrusted(const std::string& path, const PacketScan& scan) {
  const File file(path);
  std::array<std::uint8_t, kIndexHead> head{};
  if (!file.is_open() || !file.read_at(0, head)) return false;
  const std::uint64_t entry = value_at(head.data() + 12, 4, true);
  if (value_at(head.data(), 4, true) != kIndexMagic || value_at(head.data() + 4, 4, true) != 1 ||
      entry < kIndexEntry || entry > kMostIndexEntry)
    return false;
  if (file.size() != kIndexHead + entry * scan.packets.size()) return false;
  std::vector<std::uint8_t> bytes(entry);
  std::uint64_t offset = kIndexHead;
  for (const Packet& p : scan.packets) {
    if (!file.read_at(offset, bytes) || value_at(bytes.data(), 8, true) != p.offset ||
        value_at(bytes.data() + 8, 8, true) != p.size * 8 ||
        value_at(bytes.data() + 24, 8, true) != p.begin || value_at(bytes.data() + 32, 8, true) != p.end)
      return false;
    offset += entry;
  }
  return true;
}

Status write_index(const std::string& path, const PacketScan& scan) {
  std::string out;
  const auto put = [&out](std::uint64_t value, std::size_t size) {
    for (std::size_t i = size; i-- > 0;) out += static_cast<char>(value >> (8 * i));
  };
  put(kIndexMagic, 4);
  put(1, 4);
  put(0, 4);
  put(kIndexEntry, 4);
  for (const Packet& p : scan.packets) {
    // The sizes must add up to the file's: what is unsound behind the last packet is counted with it.
    const std::uint64_t size = &p == &scan.packets.back() ? scan.file_size - p.offset : p.size;
    put(p.offset, 8);
    put(size * 8, 8);
    put(size * 8, 8);
    put(p.begin, 8);
    put(std::max(p.begin, p.end), 8);
    put(0, 8);
    put(scan.stream_class, 8);
  }
  std::ofstream file(path, std::ios::binary);
  file << out;
  file.close();
  if (!file) return fail(ErrorCode::kIo, path + ": cannot be written");
  return {};
}

}  // namespace margay::lttng

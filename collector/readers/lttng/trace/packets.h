// The packets of one stream file of LTTng, by their headers alone, and the index that LTTng keeps beside it.
//
// Babeltrace refuses a whole trace of which one file has a bad packet, and aborts on some headers and indexes
// that make no sense. So each file is looked through first: what is sound of it gets an index of our own,
// which Babeltrace then follows. All bytes are untrusted.
//
// Units: bytes, and raw values of the trace's clock. Thread safety: yes (no state). Cost: one small read a
// packet. Memory: 32 bytes a packet.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "margay/base/result.h"

namespace margay::lttng {

struct Packet {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // 0: not known (a trace that was got out of a crashed machine)
};

struct PacketScan {
  std::vector<Packet> packets;  // sound ones, one behind the other; the last may be cut by the file's end
  std::uint64_t file_size = 0;
  std::uint64_t stream_class = 0;
  std::uint64_t instance = 0;  // of its class; 0 where the layout has none
  std::string damage;          // what is wrong behind them; "" nothing
};

// Packets as LTTng 2.x lays them out; `instances`: their headers have a stream_instance_id (since 2.8);
// `uuid`: 32 hexadecimal digits that each of them has, or "". Errors: kIo.
Result<PacketScan> scan_packets_untrusted(const std::string& path, bool instances, const std::string& uuid);

// Whether the index at `path` is of exactly these packets. No index: false.
bool index_fits_untrusted(const std::string& path, const PacketScan& scan);
// Writes an index of the scanned packets. REQUIRES: there is one. Errors: kIo.
Status write_index(const std::string& path, const PacketScan& scan);

}  // namespace margay::lttng

// Whether what was acknowledged is on the disk, and what the archive says of that to the next daemon.
//
// With store.sync each cut is on the disk before it is acknowledged. Without, a loss of power may take what
// was acknowledged last; so the archive then holds, on the disk, a note with the id of the machine's boot. It
// is taken back by an end in order. A daemon that finds a note of another boot knows that cuts may be
// missing.
//
// Pure, but for this_boot(). Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "margay/store/records.h"

namespace margay::daemon {

class Durability {
 public:
  // In the archive. A cut that has it is to be synced, whatever store.sync says.
  static constexpr const char* kBlob = "margayd.unsynced";

  Durability(bool sync, std::string boot, const store::Resume& resume);

  // Of this archive: starts that found a note of another boot, this one among them.
  std::uint64_t losses() const { return losses_; }
  // This start did. A sentence for the log.
  std::optional<std::string> said() const;
  // For the daemon's first cut, and the last one of an end in order; nothing where the archive says so
  // already.
  std::optional<store::Blob> first() const { return note(!sync_); }
  std::optional<store::Blob> last() const;

 private:
  std::optional<store::Blob> note(bool outstanding) const;

  bool sync_;
  std::string boot_;
  std::string found_;  // the blob, as the archive had it
  std::uint64_t losses_ = 0;
  bool lost_ = false;
  std::uint64_t cut_ = 0;
};

// /proc/sys/kernel/random/boot_id; "" where there is none.
std::string this_boot();

}  // namespace margay::daemon

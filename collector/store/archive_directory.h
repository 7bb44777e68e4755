// The directory of an archive: its marker, and who is writing it. The store's own.
//
// Thread safety: any.
#pragma once

#include <cstdint>
#include <string>

#include "margay/base/result.h"

namespace margay::store {

std::string database_of(const std::string& path);

tl::unexpected<Error> system_error(const std::string& path, int error);
tl::unexpected<Error> cut_short(const std::string& path, const char* lacks);

bool has_marker(const std::string& path);
// The marker goes to the disk before RocksDB begins: a directory with a database and no marker is not ours.
Status write_marker(const std::string& path);
// The format of the archive in `path`.
Result<std::uint32_t> check_marker(const std::string& path);

// Makes the directory of an archive to be, or takes one in which an earlier call was cut short, with its
// marker.
Status make_directory(const std::string& path);
// The entries of a directory, to the disk.
void sync_directory(const std::string& path);

// Archives that this process writes. Returned is the name to forget it by. Errors: kUnavailable.
Result<std::string> register_writer(const std::string& path);
void forget_writer(const std::string& registered);
// kUnavailable if some process, which is told, has this archive open for writing.
Status refuse_written(const std::string& path);
// The same, not for archives that this process writes.
Status refuse_locked(const std::string& path);

}  // namespace margay::store

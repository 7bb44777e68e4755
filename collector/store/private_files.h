// RocksDB's environment for archives: what it makes is for its owner alone, whatever the umask of the process
// is (files 0600, directories 0700). RocksDB has an option for that (Env::SetAllowNonOwnerAccess) that it
// does not heed. Thread safety: as rocksdb::Env. Cost: a chmod for each file that is made.
#pragma once

#include <rocksdb/env.h>

#include <memory>
#include <string>

#include "margay/base/result.h"

namespace margay::store {

rocksdb::Env* private_files();  // of the machine; one for the process, never destroyed
std::unique_ptr<rocksdb::Env> private_files(std::shared_ptr<rocksdb::FileSystem> below);
// Makes `path`, 0700, and what is missing above it as usual. A directory that is there stays as it is: its
// owner chose its mode.
Status make_private_directory(const std::string& path);

}  // namespace margay::store

// The machine's file system as RocksDB sees it, with faults on command: calls that fail, a process that is
// killed amid its calls, a loss of power. Not broken are directories: what was renamed or deleted is so at
// once.
//
// Thread safety: all of it (RocksDB has threads of its own), but lose_power() wants all files closed.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

namespace margay::simulation {

class FaultyFiles final : public rocksdb::FileSystemWrapper {
 public:
  FaultyFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "margay-faulty"; }

  // The process that writes dies at the n-th call from now that changes something (1: the next): neither that
  // one nor any behind it does anything. Until revive().
  void kill_at(std::uint64_t call);
  bool killed() const;
  void revive();
  // So many calls that change something fail from now on, or of them those that make or write files with this
  // in their name: "log", "sst", "MANIFEST". (Of a file that cannot be deleted RocksDB tells nobody.)
  void fail(std::uint64_t calls, const std::string& of = "");
  std::uint64_t failing() const;  // calls that are still to fail
  // What no sync has confirmed is gone, but for a random part of it.
  void lose_power(std::mt19937_64& random);
  std::uint64_t calls() const;  // that changed something, or would have

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;

  enum class Change { kWrite, kDelete };
  // For its files. Not ok: the call is not to be made.
  rocksdb::IOStatus change(const std::string& path, Change what = Change::kWrite);
  void written(const std::string& path, std::uint64_t bytes);
  void synced(const std::string& path);

 private:
  struct File {
    std::uint64_t size = 0, confirmed = 0;
  };
  void made(const std::string& path, std::uint64_t size);

  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  std::uint64_t calls_ = 0, kill_at_ = 0, failing_ = 0;
  std::string failing_of_;
  bool killed_ = false;
};

}  // namespace margay::simulation

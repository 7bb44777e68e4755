#include "faulty_files.h"

#include <filesystem>
#include <utility>

namespace margay::simulation {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class FaultyFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyFile(FaultyFiles& files, std::string path, std::unique_ptr<rocksdb::FSWritableFile>&& file)
      : FSWritableFileOwnerWrapper(std::move(file)), files_(files), path_(std::move(path)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    if (IOStatus s = files_.change(path_); !s.ok()) return s;
    return note(data.size(), target()->Append(data, options, debug));
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    if (IOStatus s = files_.change(path_); !s.ok()) return s;
    return confirm(target()->Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    if (IOStatus s = files_.change(path_); !s.ok()) return s;
    return confirm(target()->Fsync(options, debug));
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    if (files_.killed()) return IOStatus::IOError("killed");
    return target()->Truncate(size, options, debug);
  }

 private:
  IOStatus note(std::uint64_t bytes, IOStatus s) {
    if (s.ok()) files_.written(path_, bytes);
    return s;
  }
  IOStatus confirm(IOStatus s) {
    if (s.ok()) files_.synced(path_);
    return s;
  }
  FaultyFiles& files_;
  const std::string path_;
};

}  // namespace

void FaultyFiles::kill_at(std::uint64_t call) {
  const std::lock_guard lock(mutex_);
  kill_at_ = call;
}

bool FaultyFiles::killed() const {
  const std::lock_guard lock(mutex_);
  return killed_;
}

void FaultyFiles::revive() {
  const std::lock_guard lock(mutex_);
  killed_ = false;
  kill_at_ = failing_ = 0;
}

void FaultyFiles::fail(std::uint64_t calls, const std::string& of) {
  const std::lock_guard lock(mutex_);
  failing_ = calls;
  failing_of_ = of;
}

std::uint64_t FaultyFiles::failing() const {
  const std::lock_guard lock(mutex_);
  return failing_;
}

std::uint64_t FaultyFiles::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

IOStatus FaultyFiles::change(const std::string& path, Change what) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  if (kill_at_ > 0 && --kill_at_ == 0) killed_ = true;
  if (killed_) return IOStatus::IOError("killed");
  const std::string name = std::filesystem::path(path).filename();
  const bool meant =
      failing_of_.empty() || (what != Change::kDelete && name.find(failing_of_) != std::string::npos);
  if (failing_ > 0 && meant) {
    --failing_;
    return IOStatus::IOError("No space left on device");
  }
  return IOStatus::OK();
}

void FaultyFiles::written(const std::string& path, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  files_[path].size += bytes;
}

void FaultyFiles::synced(const std::string& path) {
  const std::lock_guard lock(mutex_);
  File& file = files_[path];
  file.confirmed = file.size;
}

void FaultyFiles::made(const std::string& path, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  files_[path] = {size, size};
}

void FaultyFiles::lose_power(std::mt19937_64& random) {
  const std::lock_guard lock(mutex_);
  for (auto& [path, file] : files_) {
    if (file.size == file.confirmed) continue;
    file.size = file.confirmed + random() % (file.size - file.confirmed + 1);
    file.confirmed = file.size;
    std::error_code gone;
    std::filesystem::resize_file(path, file.size, gone);
  }
}

IOStatus FaultyFiles::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) {
  if (IOStatus s = change(path); !s.ok()) return s;
  IOStatus s = target()->NewWritableFile(path, options, file, debug);
  if (!s.ok()) return s;
  made(path, 0);
  *file = std::make_unique<FaultyFile>(*this, path, std::move(*file));
  return s;
}

IOStatus FaultyFiles::ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* file,
                                         IODebugContext* debug) {
  if (IOStatus s = change(path); !s.ok()) return s;
  IOStatus s = target()->ReopenWritableFile(path, options, file, debug);
  if (!s.ok()) return s;
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  made(path, none ? 0 : size);
  *file = std::make_unique<FaultyFile>(*this, path, std::move(*file));
  return s;
}

IOStatus FaultyFiles::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                 IODebugContext* debug) {
  if (IOStatus s = change(from); !s.ok()) return s;
  IOStatus s = target()->RenameFile(from, to, options, debug);
  const std::lock_guard lock(mutex_);
  if (auto node = files_.extract(from); s.ok() && node) {
    node.key() = to;
    files_.erase(to);
    files_.insert(std::move(node));
  }
  return s;
}

IOStatus FaultyFiles::DeleteFile(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  if (IOStatus s = change(path, Change::kDelete); !s.ok()) return s;
  const std::lock_guard lock(mutex_);
  files_.erase(path);
  return target()->DeleteFile(path, options, debug);
}

IOStatus FaultyFiles::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                         IODebugContext* debug) {
  if (IOStatus s = change(path); !s.ok()) return s;
  return target()->CreateDirIfMissing(path, options, debug);
}

}  // namespace margay::simulation

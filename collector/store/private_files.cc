#include "private_files.h"

#include <rocksdb/file_system.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

namespace margay::store {
namespace {

namespace r = rocksdb;

class PrivateFiles final : public r::FileSystemWrapper {
 public:
  using r::FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "margay-private"; }

  r::IOStatus NewWritableFile(const std::string& path, const r::FileOptions& options,
                              std::unique_ptr<r::FSWritableFile>* file, r::IODebugContext* debug) override {
    return keep(path, 0600, target()->NewWritableFile(path, options, file, debug));
  }
  r::IOStatus ReopenWritableFile(const std::string& path, const r::FileOptions& options,
                                 std::unique_ptr<r::FSWritableFile>* file,
                                 r::IODebugContext* debug) override {
    return keep(path, 0600, target()->ReopenWritableFile(path, options, file, debug));
  }
  r::IOStatus ReuseWritableFile(const std::string& path, const std::string& old,
                                const r::FileOptions& options, std::unique_ptr<r::FSWritableFile>* file,
                                r::IODebugContext* debug) override {
    return keep(path, 0600, target()->ReuseWritableFile(path, old, options, file, debug));
  }
  r::IOStatus NewRandomRWFile(const std::string& path, const r::FileOptions& options,
                              std::unique_ptr<r::FSRandomRWFile>* file, r::IODebugContext* debug) override {
    return keep(path, 0600, target()->NewRandomRWFile(path, options, file, debug));
  }
  r::IOStatus LockFile(const std::string& path, const r::IOOptions& options, r::FileLock** lock,
                       r::IODebugContext* debug) override {
    return keep(path, 0600, target()->LockFile(path, options, lock, debug));
  }
  r::IOStatus CreateDir(const std::string& path, const r::IOOptions& options,
                        r::IODebugContext* debug) override {
    return keep(path, 0700, target()->CreateDir(path, options, debug));
  }
  r::IOStatus CreateDirIfMissing(const std::string& path, const r::IOOptions& options,
                                 r::IODebugContext* debug) override {
    const bool there = std::filesystem::exists(path);
    r::IOStatus made = target()->CreateDirIfMissing(path, options, debug);
    return there ? made : keep(path, 0700, std::move(made));
  }

 private:
  // Where the mode cannot be set (a file system without modes, or somebody else's file) the directory above
  // keeps others out, or nothing can.
  static r::IOStatus keep(const std::string& path, mode_t mode, r::IOStatus done) {
    if (done.ok()) static_cast<void>(!::chmod(path.c_str(), mode));
    return done;
  }
};

}  // namespace

std::unique_ptr<rocksdb::Env> private_files(std::shared_ptr<rocksdb::FileSystem> below) {
  return rocksdb::NewCompositeEnv(std::make_shared<PrivateFiles>(std::move(below)));
}

rocksdb::Env* private_files() {
  static rocksdb::Env* const env = private_files(rocksdb::FileSystem::Default()).release();
  return env;
}

Status make_private_directory(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  fs::path p(path);
  if (!p.has_filename()) p = p.parent_path();  // "night/"
  if (p.has_parent_path()) fs::create_directories(p.parent_path(), ec);
  if (ec) return fail(ErrorCode::kIo, path + ": " + ec.message());
  if (::mkdir(p.c_str(), 0700) == 0) return {};
  const int error = errno;
  if (error == EEXIST && fs::is_directory(p, ec)) return {};
  return fail(ErrorCode::kIo, path + ": " + std::strerror(error));
}

}  // namespace margay::store

// How a job's processes are told to load the probe: the value of LD_PRELOAD.
#pragma once

#include <string>
#include <vector>

#include "margay/base/result.h"

namespace margay::daemon {

// The probe by a path that LD_PRELOAD can hold, made where there is none; what was made goes with the object.
//
// - LD_PRELOAD ends a path at a blank or a colon, and replaces $TOKENS: where the probe lies at such a path,
// it is
//   named by a link in `run_directory`, or where that is no better, in a folder of its own below /tmp.
// - A program that was built with -fsanitize=address and the shared runtime ends at once unless the first
// library
//   that was loaded is that runtime, which it tells by a path that has "libasan.so" in it. A preloaded
//   library always comes before it. Ours does the runtime no harm, so it is named by a path that has. (The
//   runtime that is linked into the program ends it if a *file* of that name is mapped: hence a link.)
class Preload {
 public:
  // `probe`: absolute path of libmargay-probe.so. An error where no such path can be made.
  static Result<Preload> prepare(const std::string& probe, const std::string& run_directory);
  Preload() = default;
  Preload(Preload&& other) noexcept;
  Preload& operator=(Preload&& other) noexcept;
  ~Preload();

  const std::string& path() const { return path_; }
  // The path stays when this object goes: for whoever is told it and lives on.
  void keep() { made_.clear(); }

 private:
  std::string path_;
  std::vector<std::string> made_;  // outermost first
};

// LD_PRELOAD of the job: what is there already keeps its place in front of the probe, for there are
// runtimes and tools that have to be first. Only what Margay has for programs that are traced by others
// (libmargay-annotate-lttng.so) comes after it. `after` is what readers want.
std::string preload_list(const char* before, const std::string& probe, const std::vector<std::string>& after);

}  // namespace margay::daemon

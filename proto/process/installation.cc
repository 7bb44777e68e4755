// Where the parts of Margay lie.
#include <filesystem>

#include "margay/process/installation.h"

namespace margay::app {

namespace fs = std::filesystem;

Result<Installation> find_installation() {
  std::error_code ec;
  const fs::path self = fs::read_symlink("/proc/self/exe", ec);
  if (ec) return fail(ErrorCode::kIo, "/proc/self/exe: " + ec.message());
  const fs::path prefix = self.parent_path().parent_path();
  Installation found;
  const auto first = [&](std::initializer_list<fs::path> candidates, std::string& out) {
    for (const auto& c : candidates)
      if (fs::exists(c, ec)) {
        out = c.string();
        return true;
      }
    return false;
  };
  if (!first({prefix / "bin/margayd", prefix / "sbin/margayd"}, found.daemon))
    return fail(ErrorCode::kNotFound, "margayd was not found beside " + self.string());
  if (!first({prefix / MARGAY_LIBEXECDIR / "margay/margay-node"}, found.node))
    return fail(ErrorCode::kNotFound, "margay-node was not found below " + prefix.string());
  if (!first({prefix / MARGAY_LIBDIR / "margay/libmargay-probe.so"}, found.probe))
    return fail(ErrorCode::kNotFound, "libmargay-probe.so was not found below " + prefix.string());
  first({prefix / MARGAY_LIBEXECDIR / "margay/margay-gst"}, found.gst);
  first({prefix / MARGAY_LIBEXECDIR / "margay/margay-lttng"}, found.lttng);
  return found;
}

}  // namespace margay::app

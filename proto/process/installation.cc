// Where the parts of Margay lie.
#include <filesystem>

#include "margay/process/installation.h"

namespace margay::process {

namespace fs = std::filesystem;

namespace {

// The folder that has bin/ and, below libexec/, this program.
Result<fs::path> prefix_of(const fs::path& self) {
  std::error_code ec;
  for (fs::path folder = self.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::exists(folder / "bin/margay", ec) || fs::exists(folder / "bin/margayd", ec)) return folder;
  return fail(ErrorCode::kNotFound, "bin/margay was not found above " + self.string());
}

Result<fs::path> own_path() {
  std::error_code ec;
  fs::path self = fs::read_symlink("/proc/self/exe", ec);
  if (ec) return fail(ErrorCode::kIo, "/proc/self/exe: " + ec.message());
  return self;
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  const auto self = own_path();
  if (!self) return tl::unexpected(self.error());
  const auto prefix = prefix_of(*self);
  if (!prefix) return tl::unexpected(prefix.error());
  std::error_code ec;
  const fs::path path = *prefix / name;
  if (!fs::exists(path, ec)) return fail(ErrorCode::kNotFound, path.string() + " is not there");
  return path.string();
}

Result<std::string> find_helper(const std::string& name) {
  return find_program(std::string(MARGAY_LIBEXECDIR) + "/margay/" + name);
}

Result<Installation> find_installation() {
  const auto self = own_path();
  if (!self) return tl::unexpected(self.error());
  const auto root = prefix_of(*self);
  if (!root) return tl::unexpected(root.error());
  const fs::path& prefix = *root;
  std::error_code ec;
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
    return fail(ErrorCode::kNotFound, "margayd was not found below " + prefix.string());
  if (!first({prefix / MARGAY_LIBEXECDIR / "margay/margay-node"}, found.node))
    return fail(ErrorCode::kNotFound, "margay-node was not found below " + prefix.string());
  if (!first({prefix / MARGAY_LIBDIR / "margay/libmargay-probe.so"}, found.probe))
    return fail(ErrorCode::kNotFound, "libmargay-probe.so was not found below " + prefix.string());
  first({prefix / MARGAY_LIBEXECDIR / "margay/margay-gst"}, found.gst);
  first({prefix / MARGAY_LIBEXECDIR / "margay/margay-lttng"}, found.lttng);
  return found;
}

}  // namespace margay::process

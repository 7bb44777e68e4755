#include "margay/lttng_session/program.h"

#include <dlfcn.h>
#include <lttng/lttng.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace margay::lttng {
namespace {

struct Helper {
  std::string_view name, file, events;
};
constexpr Helper kHelpers[] = {
    {"pthread", "liblttng-ust-pthread-wrapper.so.1", "lttng_ust_pthread:*"},
    {"libc", "liblttng-ust-libc-wrapper.so.1", "lttng_ust_libc:*"},
    {"functions", "liblttng-ust-cyg-profile-fast.so.1", "lttng_ust_cyg_profile_fast:*"},
    {"dl", "liblttng-ust-dl.so.1", "lttng_ust_dl:*"},
    {"fork", "liblttng-ust-fork.so.1", ""},
    {"fd", "liblttng-ust-fd.so.1", ""},
};

const Helper* helper_of(std::string_view name) {
  for (const Helper& h : kHelpers)
    if (h.name == name) return &h;
  return nullptr;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Where LTTng's libraries may be: first those of LD_LIBRARY_PATH, as the loader would; then beside
// liblttng-ctl.
std::vector<std::string> folders() {
  std::vector<std::string> out;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) out = split(path, ":;");
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&lttng_session_daemon_alive), &info) != 0 &&
      info.dli_fname != nullptr) {
    const std::string file = info.dli_fname;
    if (const auto slash = file.rfind('/'); slash != std::string::npos) out.push_back(file.substr(0, slash));
  }
  for (const char* folder : {"/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib"}) out.emplace_back(folder);
  return out;
}

}  // namespace

std::string ProgramEnvironment::ld_preload(std::string_view present) const {
  std::vector<std::string> all = split(present, ": ");
  for (const std::string& p : preload)
    if (std::find(all.begin(), all.end(), p) == all.end()) all.push_back(p);
  std::string out;
  for (const std::string& a : all) out += (out.empty() ? "" : ":") + a;
  return out;
}

Result<ProgramEnvironment> program_environment(const Daemons& daemons,
                                               const std::vector<std::string>& helpers,
                                               DurationNs register_timeout) {
  ProgramEnvironment out;
  if (!daemons.home.empty()) out.variables.emplace_back("LTTNG_HOME", daemons.home);
  out.variables.emplace_back("LTTNG_UST_REGISTER_TIMEOUT",
                             std::to_string(register_timeout.value / 1'000'000));
  for (const std::string& name : helpers) {
    const Helper* helper = helper_of(name);
    if (helper == nullptr)
      return fail(ErrorCode::kInvalidArgument,
                  "'" + name + "' is no helper of LTTng: pthread, libc, functions, dl, fork, fd");
    std::string found;
    for (const std::string& folder : folders())
      if (const std::string file = folder + "/" + std::string(helper->file);
          ::access(file.c_str(), R_OK) == 0) {
        found = file;
        break;
      }
    if (found.empty())
      return fail(ErrorCode::kNotFound,
                  std::string(helper->file) + " (" + name +
                      "): not installed; it is in the package liblttng-ust-dev or liblttng-ust1");
    if (std::find(out.preload.begin(), out.preload.end(), found) == out.preload.end())
      out.preload.push_back(found);
  }
  return out;
}

std::string_view events_of_helper(std::string_view helper) {
  const Helper* h = helper_of(helper);
  return h != nullptr ? h->events : std::string_view();
}

}  // namespace margay::lttng

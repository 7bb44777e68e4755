#include "rules.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace margay::layering {
namespace {

// Which folders a folder may use. The longest entry that a file is below counts; itself is always allowed.
struct Uses {
  std::string_view folder;
  std::vector<std::string_view> may_use;
};
const std::vector<Uses>& uses() {
  static const std::vector<Uses> table = {
      {"proto", {"proto"}},
      {"proto/base", {}},
      {"proto/text", {"proto/base"}},
      {"proto/process", {"proto/base"}},
      {"collector", {"proto", "collector"}},
      {"collector/model", {"proto/base"}},
      {"collector/slicer", {"proto/base", "collector/model"}},
      {"collector/readers/common", {"proto", "collector/node"}},
      {"collector/readers/lttng/rules",
       {"proto/base", "collector/readers/common", "collector/readers/lttng"}},
      {"collector/probe", {"proto/base"}},
      {"collector/readers/lttng/session", {"proto/base"}},
      {"daemon", {"proto", "collector/model", "daemon"}},
      {"daemon/partition", {"proto/base", "collector/model"}},
      {"daemon/statistics", {"proto/base"}},
      {"daemon/detect",
       {"proto/base", "collector/model", "daemon/statistics", "daemon/partition", "daemon/alert"}},
      {"daemon/alert", {"proto/base", "proto/wire"}},
      {"daemon/alert/sinks", {"proto/base", "daemon/alert"}},
      {"daemon/observe", {"proto"}},
      {"daemon/settings", {"proto", "collector", "daemon/detect", "daemon/alert"}},
      {"daemon/query", {"proto", "collector", "daemon/partition", "daemon/settings"}},
      {"daemon/compare", {"proto", "collector", "daemon/statistics", "daemon/settings", "daemon/query"}},
      {"daemon/analysis",
       {"proto", "collector", "daemon/partition", "daemon/detect", "daemon/alert", "daemon/settings",
        "daemon/observe"}},
      {"daemon/serve",
       {"proto", "collector", "daemon/partition", "daemon/alert", "daemon/settings", "daemon/query",
        "daemon/analysis"}},
      {"daemon/replay",
       {"proto", "collector", "daemon/partition", "daemon/detect", "daemon/alert", "daemon/settings",
        "daemon/observe", "daemon/query", "daemon/analysis", "daemon/serve"}},
      {"daemon/live",
       {"proto", "collector", "daemon/partition", "daemon/detect", "daemon/alert", "daemon/settings",
        "daemon/observe", "daemon/query", "daemon/analysis", "daemon/serve"}},
      {"daemon/cli", {"proto", "collector", "daemon", "viewer"}},
      {"viewer", {"proto", "viewer"}},
      {"viewer/feed", {"proto"}},
      {"viewer/scene", {"proto/base", "proto/wire"}},
      {"tests", {"proto", "collector", "daemon", "viewer", "tests"}},
  };
  return table;
}
// daemon/ as a whole may be used by nobody but itself, and the programs by nobody at all: tests only.
constexpr std::string_view kPrograms[] = {"daemon/live", "daemon/cli"};

// Same input, same output: no file, socket, thread, wall clock, environment or log.
constexpr std::string_view kPure[] = {"collector/model",  "collector/slicer", "daemon/statistics",
                                      "daemon/partition", "daemon/detect",    "viewer/scene"};
constexpr std::string_view kImpureHeaders[] = {"atomic",       "chrono",    "condition_variable",
                                               "ctime",        "dirent.h",  "fcntl.h",
                                               "filesystem",   "fstream",   "future",
                                               "iostream",     "mutex",     "netdb.h",
                                               "poll.h",       "pthread.h", "semaphore",
                                               "shared_mutex", "signal.h",  "csignal",
                                               "stop_token",   "syslog.h",  "thread",
                                               "time.h",       "unistd.h",  "zmq.h",
                                               "zmq.hpp"};
constexpr std::string_view kImpureFolders[] = {"sys",    "net",     "netinet", "arpa",
                                               "spdlog", "rocksdb", "google",  "linux"};
constexpr std::string_view kImpureOwn[] = {"margay/alert/jsonl_sink.h", "margay/sinks/dispatcher.h",
                                           "margay/sinks/settings.h", "margay/sinks/sink.h"};
constexpr std::string_view kImpureWords[] = {
    "SystemClock",  "clock_gettime", "fopen",  "fprintf",     "fputs",         "getenv",
    "gettimeofday", "localtime_r",   "printf", "puts",        "random_device", "setenv",
    "steady_clock", "system_clock",  "system", "thread_local"};

// What may go into a stranger's process: libc, MPI, and the parts of the C++ library that are headers only.
constexpr std::string_view kProbe = "collector/probe";
constexpr std::string_view kProbeHeaders[] = {
    "atomic",     "cpuid.h",        "cstddef",    "cstdint",       "dlfcn.h",       "errno.h",
    "fcntl.h",    "link.h",         "mpi.h",      "pthread.h",     "signal.h",      "stdarg.h",
    "stddef.h",   "stdint.h",       "stdio.h",    "stdlib.h",      "string.h",      "sys/file.h",
    "sys/mman.h", "sys/resource.h", "sys/stat.h", "sys/statvfs.h", "sys/syscall.h", "sys/types.h",
    "sys/uio.h",  "time.h",         "unistd.h"};
constexpr std::string_view kProbeOwn[] = {"margay/base/record.h"};

template <typename List>
bool contains(const List& list, std::string_view what) {
  return std::find(std::begin(list), std::end(list), what) != std::end(list);
}

bool is_identifier(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool ends_with_any(std::string_view path, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view e) { return path.ends_with(e); });
}

bool may_use(std::string_view path, std::string_view other) {
  const Uses* rule = nullptr;
  for (const Uses& u : uses())
    if (is_below(path, u.folder) && (rule == nullptr || u.folder.size() > rule->folder.size())) rule = &u;
  if (rule == nullptr || is_below(other, rule->folder)) return true;
  if (!is_below(path, "tests") && std::any_of(std::begin(kPrograms), std::end(kPrograms),
                                              [&](std::string_view f) { return is_below(other, f); }))
    return false;
  return std::any_of(rule->may_use.begin(), rule->may_use.end(),
                     [&](std::string_view folder) { return is_below(other, folder); });
}

class Check {
 public:
  explicit Check(const Tree& tree) : tree_(tree) {
    for (const auto& [path, text] : tree_) {
      // <folder>/include/margay/<module>/<header>
      if (const std::size_t at = path.find("/include/margay/"); at != std::string::npos)
        modules_[module_of(std::string_view(path).substr(at + 9))] = path.substr(0, at);
      if (!path.ends_with("CMakeLists.txt")) continue;
      for (const Command& c : commands_of(text))
        if (c.words.size() > 1 && contains(kDeclaring, c.words[0])) targets_[c.words[1]] = folder_of(path);
    }
  }

  std::vector<std::string> operator()() {
    for (const auto& [path, text] : tree_) {
      path_ = path;
      if (path.ends_with("CMakeLists.txt")) {
        check_links(text);
        continue;
      }
      if (const auto lines = std::count(text.begin(), text.end(), '\n'); lines > kMostLines)
        complain(kMostLines + 1, std::to_string(lines) + " lines; at most " + std::to_string(kMostLines));
      if (!ends_with_any(path, {".h", ".cc", ".c", ".def"})) continue;
      check_includes(text);
      if (is_pure()) check_words(code_only(text));
    }
    return std::move(found_);
  }

 private:
  static constexpr std::string_view kDeclaring[] = {"margay_library", "margay_test", "add_library",
                                                    "add_executable"};
  static constexpr std::string_view kLinking[] = {"margay_library", "margay_test", "target_link_libraries",
                                                  "add_dependencies"};

  // "margay/wire/ingest.pb.h" -> "wire"
  static std::string module_of(std::string_view header) {
    header.remove_prefix(7);
    return std::string(header.substr(0, header.find('/')));
  }

  void complain(int line, const std::string& what) {
    found_.push_back(path_ + ":" + std::to_string(line) + ": " + what);
  }
  bool is_pure() const {
    return std::any_of(std::begin(kPure), std::end(kPure),
                       [&](std::string_view f) { return is_below(path_, f); });
  }

  void check_use(int line, const std::string& what, const std::string& folder) {
    if (!may_use(path_, folder)) complain(line, folder_of(path_) + " may not use " + what + " of " + folder);
  }

  void check_includes(const std::string& text) {
    const bool pure = is_pure();
    const bool probe = is_below(path_, kProbe);
    for (const Include& i : includes_of(text)) {
      if (i.name.starts_with("margay/")) {
        check_own(i, pure, probe);
      } else if (!i.angled) {
        check_neighbour(i);
      } else if (probe && !contains(kProbeHeaders, i.name)) {
        complain(i.line, "the probe may not use <" + i.name + ">");
      } else if (pure && (contains(kImpureHeaders, i.name) ||
                          (i.name.find('/') != std::string::npos &&
                           contains(kImpureFolders, i.name.substr(0, i.name.find('/')))))) {
        complain(i.line, "a pure module may not use <" + i.name + ">");
      }
    }
  }

  void check_own(const Include& i, bool pure, bool probe) {
    const auto module = modules_.find(module_of(i.name));
    if (module == modules_.end()) {
      complain(i.line, "no folder has include/" + i.name);
      return;
    }
    check_use(i.line, i.name, module->second);
    if (pure && contains(kImpureOwn, i.name)) complain(i.line, "a pure module may not use " + i.name);
    if (probe && !is_below(module->second, kProbe) && !contains(kProbeOwn, i.name))
      complain(i.line, "the probe may not use " + i.name);
  }

  // "name.h": beside the file, or in a folder above it; then that folder is what is used.
  void check_neighbour(const Include& i) {
    for (std::string folder = folder_of(path_);; folder = folder_of(folder)) {
      const std::string at = std::filesystem::path(folder.empty() ? i.name : folder + "/" + i.name)
                                 .lexically_normal()
                                 .generic_string();
      if (tree_.contains(at)) {
        check_use(i.line, i.name, folder_of(at));
        return;
      }
      if (folder.empty()) return;  // generated, or of the tests' include folders
    }
  }

  void check_links(const std::string& text) {
    for (const Command& c : commands_of(text)) {
      if (!contains(kLinking, c.words[0])) continue;
      for (std::size_t w = 2; w < c.words.size(); ++w) {
        const auto target = targets_.find(c.words[w]);
        if (target != targets_.end()) check_use(c.line, "target " + c.words[w], target->second);
      }
    }
  }

  void check_words(const std::string& code) {
    int line = 1;
    for (std::size_t i = 0; i < code.size();) {
      if (!is_identifier(code[i])) {
        line += code[i++] == '\n' ? 1 : 0;
        continue;
      }
      std::size_t end = i;
      while (end < code.size() && is_identifier(code[end])) ++end;
      const std::string word = code.substr(i, end - i);
      if (contains(kImpureWords, word)) complain(line, "a pure module may not use " + word);
      i = end;
    }
  }

  const Tree& tree_;
  std::map<std::string, std::string> modules_;  // folder by name
  std::map<std::string, std::string> targets_;  // folder that declares it, by name
  std::string path_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> violations(const Tree& tree) {
  return Check(tree)();
}

}  // namespace margay::layering

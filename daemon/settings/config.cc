#include "margay/settings/config.h"

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "keys.h"
#include "margay/base/text.h"
#include "suggest.h"

namespace margay::config {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

std::string place(const std::string& file, const toml::source_region& at) {
  return file + ":" + std::to_string(at.begin.line);
}

// What is wrong with a file, as it is found. Sentences carry what the file says: no byte of it is obeyed by a
// terminal.
class Problems {
 public:
  explicit Problems(const std::string& file) : file_(file) {}
  void add(const toml::source_region& at, const std::string& sentence) {
    list_.push_back({at.begin.line, place(file_, at) + ": " + clean_utf8(sentence)});
  }
  // Of a key that the file does not have.
  void add(const std::string& sentence) { list_.push_back({0, file_ + ": " + sentence}); }
  bool any() const { return !list_.empty(); }
  // By line.
  std::vector<std::string> take() {
    std::stable_sort(list_.begin(), list_.end(), [](const One& a, const One& b) { return a.line < b.line; });
    std::vector<std::string> out;
    for (One& one : list_) out.push_back(std::move(one.sentence));
    return out;
  }

 private:
  struct One {
    std::uint32_t line;
    std::string sentence;
  };
  const std::string& file_;
  std::vector<One> list_;
};

std::string shown(const toml::node& node) {
  std::ostringstream out;
  if (const auto* s = node.as_string())
    out << '"' << s->get() << '"';
  else if (const auto* i = node.as_integer())
    out << i->get();
  else if (const auto* d = node.as_floating_point())
    out << d->get();
  else if (const auto* b = node.as_boolean())
    out << (b->get() ? "true" : "false");
  else if (const auto* list = node.as_array())
    out << (list->empty() ? "[]" : "[" + shown((*list)[0]) + (list->size() > 1 ? ", ...]" : "]"));
  else
    out << "a " << node.type();
  std::string text = out.str();
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

std::optional<Value> value_of(const toml::node& node) {
  if (const auto* s = node.as_string()) return Value(s->get());
  if (const auto* i = node.as_integer()) return Value(i->get());
  if (const auto* d = node.as_floating_point()) return Value(d->get());
  if (const auto* b = node.as_boolean()) return Value(b->get());
  const auto* list = node.as_array();
  if (!list) return std::nullopt;
  Texts texts;
  for (const toml::node& entry : *list) {
    const auto* s = entry.as_string();
    if (!s) return std::nullopt;
    texts.push_back(s->get());
  }
  return Value(std::move(texts));
}

void read_section(const std::string& section, const toml::table& table, Config& config, Problems& problems) {
  std::vector<std::string> names;
  for (const Key& k : keys())
    if (k.section == section) names.push_back(k.name);
  for (const auto& [written, node] : table) {
    const std::string name(written.str());
    const auto key = std::find_if(keys().begin(), keys().end(),
                                  [&](const Key& k) { return k.section == section && k.name == name; });
    if (key == keys().end()) {
      std::string hint = suggest(name, names);
      // The right key in the wrong section?
      for (const Key& k : keys())
        if (hint.empty() && k.name == name) hint = "; it belongs in [" + k.section + "]";
      hint.insert(0, "unknown key '" + section + "." + name.substr(0, 64) + "'");
      problems.add(written.source(), hint);
      continue;
    }
    const auto value = value_of(node);
    if (!value || !key->set(*value, config))
      problems.add(node.source(), key->full() + ": expected " + key->expected + ", got " + shown(node));
  }
}

void read_table(const toml::table& root, Config& config, Problems& problems) {
  std::vector<std::string> names;
  for (const Section& s : sections()) names.push_back(s.name);
  for (const auto& [written, node] : root) {
    const std::string name(written.str());
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    const auto* table = node.as_table();
    if (known && table) {
      read_section(name, *table, config, problems);
      continue;
    }
    std::string hint = suggest(name, names);
    if (known) hint = "; it is a section: [" + name + "]";
    for (const Key& k : keys())
      if (k.name == name) hint = "; it belongs in [" + k.section + "]";
    problems.add(written.source(),
                 "unknown " +
                     (table ? "section [" + name.substr(0, 64) + "]" : "key '" + name.substr(0, 64) + "'") +
                     hint);
  }
  // Of values that are wrong by themselves nothing can be said together.
  if (problems.any()) return;
  for (const Conflict& c : find_conflicts(config)) {
    // The line of the key that conflicts, or none when it has its default.
    const auto at = root.at_path(c.key);
    if (at)
      problems.add(at.node()->source(), c.key + ": " + c.message);
    else
      problems.add(c.key + ": " + c.message);
  }
}

// Errors: kLimit, kInternal. What is wrong with the text goes to `problems`.
Status read_text(std::string_view text, const std::string& name, Config& config, Problems& problems) {
  if (text.size() > kLargestFile) return fail(ErrorCode::kLimit, name + ": is larger than 1 MiB");
  try {
    read_table(toml::parse(text, std::string_view(name)), config, problems);
  } catch (const toml::parse_error& e) {
    problems.add(e.source(), std::string(e.description()));
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInternal, name + ": " + e.what());
  }
  return {};
}

// At most one byte more than may be.
Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, path + ": " + std::strerror(errno));
  std::string text(kLargestFile + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof())) return fail(ErrorCode::kIo, path + ": cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

// A paragraph as comment lines.
void comment(const std::string& text, std::string& out) {
  constexpr std::size_t kWidth = 100;
  std::istringstream words(text);
  std::string line = "#";
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = "#";
    }
    line += " " + word;
  }
  out += line + "\n";
}

}  // namespace

std::vector<DurationNs> Config::level_durations() const {
  std::vector<DurationNs> all = {slice.duration};
  all.insert(all.end(), slice.levels.begin(), slice.levels.end());
  return all;
}

std::vector<std::optional<DurationNs>> Config::level_ages(const std::vector<DurationNs>& levels) const {
  const std::vector<DurationNs> own = level_durations();
  std::vector<std::optional<DurationNs>> ages;
  for (const DurationNs level : levels) {
    std::size_t at = 0;
    while (at + 1 < own.size() && own[at + 1] <= level) ++at;
    ages.push_back(at < store.keep_levels.size() ? store.keep_levels[at] : std::nullopt);
  }
  return ages;
}

Result<Config> parse(std::string_view text, const std::string& name) {
  Config config;
  Problems problems(name);
  if (Status s = read_text(text, name, config, problems); !s) return tl::unexpected(s.error());
  if (problems.any()) return fail(ErrorCode::kInvalidArgument, problems.take().front());
  return config;
}

Result<Config> load(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path);
}

std::vector<std::string> problems_of(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return {text.error().message};
  Config config;
  Problems problems(path);
  if (Status s = read_text(*text, path, config, problems); !s) return {s.error().message};
  return problems.take();
}

std::string place_of(const std::string& path, std::string_view key) {
  const auto text = read_file(path);
  if (!text) return path;
  try {
    const toml::table root = toml::parse(*text);
    if (const auto at = root.at_path(key)) return place(path, at.node()->source());
  } catch (const std::exception&) {
    // load() says what is wrong with it.
  }
  return path;
}

std::string to_text(const Config& config) {
  std::string out;
  comment("Margay's configuration: every key, with its default value. A file needs only what differs.", out);
  comment(
      "Durations: ns us ms s min h d. Sizes: B KiB MiB GiB. An unknown key or a value out of range is an "
      "error.",
      out);
  for (const Section& s : sections()) {
    out += "\n";
    comment(s.help, out);
    out += "[" + s.name + "]\n";
    bool first = true;
    for (const Key& k : keys()) {
      if (k.section != s.name) continue;
      if (!first) out += "\n";
      first = false;
      comment(k.help, out);
      comment("Expected: " + k.expected + ".", out);
      out += k.name + " = " + k.show(config) + "\n";
    }
  }
  return out;
}

std::vector<std::string> key_names() {
  std::vector<std::string> out;
  for (const Key& k : keys()) out.push_back(k.full());
  return out;
}

}  // namespace margay::config

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

// As a file has it, alone; nothing where it does not parse.
std::optional<Value> toml_value(const std::string& text) {
  try {
    const toml::table table = toml::parse("value = " + text);
    return table.size() == 1 ? value_of(*table.get("value")) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

const Key* find_key(std::string_view full) {
  for (const Key& k : keys())
    if (k.full() == full) return &k;
  return nullptr;
}

std::string unknown_key(const std::string& section, const std::string& name) {
  std::vector<std::string> names;
  for (const Key& k : keys())
    if (k.section == section) names.push_back(k.name);
  std::string hint = suggest(name, names);
  // The right key in the wrong section?
  for (const Key& k : keys())
    if (hint.empty() && k.name == name) hint = "; it belongs in [" + k.section + "]";
  return "unknown key '" + section + "." + name.substr(0, 64) + "'" + hint;
}

void read_section(const std::string& section, const toml::table& table, Options& options,
                  Problems& problems) {
  for (const auto& [written, node] : table) {
    const std::string name(written.str());
    const Key* key = find_key(section + "." + name);
    if (key == nullptr) {
      problems.add(written.source(), unknown_key(section, name));
      continue;
    }
    const auto value = value_of(node);
    if (!value || !key->set(*value, options))
      problems.add(node.source(), key->full() + ": expected " + key->expected + ", got " + shown(node));
  }
}

void read_table(const toml::table& root, Options& options, Problems& problems) {
  std::vector<std::string> names;
  for (const Section& s : sections()) names.push_back(s.name);
  for (const auto& [written, node] : root) {
    const std::string name(written.str());
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    const auto* table = node.as_table();
    if (known && table) {
      read_section(name, *table, options, problems);
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
  for (const Conflict& c : find_conflicts(options)) {
    // The line of the key that conflicts, or none when it has its default.
    const auto at = root.at_path(c.key);
    if (at)
      problems.add(at.node()->source(), c.key + ": " + c.message);
    else
      problems.add(c.key + ": " + c.message);
  }
}

// Errors: kLimit, kInternal. What is wrong with the text goes to `problems`.
Status read_text(std::string_view text, const std::string& name, Options& options, Problems& problems) {
  if (text.size() > kLargestFile) return fail(ErrorCode::kLimit, name + ": is larger than 1 MiB");
  try {
    read_table(toml::parse(text, std::string_view(name)), options, problems);
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

Status parse(std::string_view text, const std::string& name, Options& options) {
  Problems problems(name);
  if (Status s = read_text(text, name, options, problems); !s) return s;
  if (problems.any()) return fail(ErrorCode::kInvalidArgument, problems.take().front());
  return {};
}

Status load(const std::string& path, Options& options) {
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path, options);
}

Status set(std::string_view name, const std::string& value, Options& options) {
  const Key* key = find_key(name);
  if (key == nullptr) {
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument, "a key has a section: 'slice.window'");
    return fail(ErrorCode::kInvalidArgument,
                clean_utf8(unknown_key(std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)))));
  }
  const auto as_written = toml_value(value);
  if ((as_written && key->set(*as_written, options)) || key->set(Value(value), options)) return {};
  return fail(ErrorCode::kInvalidArgument, "expected " + key->expected);
}

Status check(const Options& options) {
  for (const Conflict& c : find_conflicts(options))
    return fail(ErrorCode::kInvalidArgument, c.key + ": " + c.message);
  return {};
}

std::vector<std::string> problems_of(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return {text.error().message};
  Options options;
  Problems problems(path);
  if (Status s = read_text(*text, path, options, problems); !s) return {s.error().message};
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

std::string to_text(const Options& options) {
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
    for (const Key& k : s.keys) {
      if (!first) out += "\n";
      first = false;
      comment(k.help, out);
      comment("Expected: " + k.expected + ".", out);
      out += k.name + " = " + k.show(options) + "\n";
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

#include "tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace margay::layering {
namespace fs = std::filesystem;

Tree load_tree(const std::string& root, const std::vector<std::string>& folders) {
  static constexpr std::array<std::string_view, 6> kSources = {".h", ".cc", ".c", ".def", ".py", ".proto"};
  Tree tree;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(fs::path(root) / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
      const fs::path& path = entry.path();
      const bool wanted =
          path.filename() == "CMakeLists.txt" ||
          std::find(kSources.begin(), kSources.end(), path.extension().string()) != kSources.end();
      if (!wanted || !entry.is_regular_file()) continue;
      std::ifstream in(path, std::ios::binary);
      tree[fs::relative(path, root).generic_string()] = std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  return tree;
}

std::string code_only(std::string_view text) {
  enum { kCode, kLine, kBlock, kString, kChar } state = kCode;
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\n') {
      if (state != kBlock) state = kCode;  // literals end with their line here
      continue;
    }
    switch (state) {
      case kCode:
        if (c == '/' && next == '/') state = kLine;
        if (c == '/' && next == '*') state = kBlock;
        if (state != kCode) {
          out[i] = ' ';
        } else if (c == '"') {
          state = kString;
        } else if (c == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0)) {
          state = kChar;  // after a digit it parts the digits of a number
        }
        break;
      case kBlock:
        out[i] = ' ';
        if (c == '*' && next == '/') {
          out[++i] = ' ';
          state = kCode;
        }
        break;
      case kLine:
        out[i] = ' ';
        break;
      case kString:
      case kChar:
        if (c == (state == kString ? '"' : '\'')) {
          state = kCode;
          break;
        }
        out[i] = ' ';
        if (c == '\\' && next != '\n' && next != '\0') out[++i] = ' ';
        break;
    }
  }
  return out;
}

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> found;
  int line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto skip_blanks = [&rest] {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    };
    skip_blanks();
    if (!rest.starts_with('#')) continue;
    rest.remove_prefix(1);
    skip_blanks();
    if (!rest.starts_with("include")) continue;
    rest.remove_prefix(7);
    skip_blanks();
    if (rest.empty() || (rest.front() != '<' && rest.front() != '"')) continue;
    const bool angled = rest.front() == '<';
    rest.remove_prefix(1);
    const std::size_t close = rest.find(angled ? '>' : '"');
    if (close != std::string_view::npos) found.push_back({std::string(rest.substr(0, close)), angled, line});
  }
  return found;
}

std::vector<Command> commands_of(std::string_view cmake) {
  std::vector<Command> commands;
  std::string word;
  bool inside = false;
  int line = 1;
  std::string name;
  const auto end_word = [&] {
    if (word.empty()) return;
    if (inside)
      commands.back().words.push_back(word);
    else
      name = word;
    word.clear();
  };
  for (std::size_t i = 0; i < cmake.size(); ++i) {
    const char c = cmake[i];
    if (c == '#') {
      while (i + 1 < cmake.size() && cmake[i + 1] != '\n') ++i;
    } else if (c == '(' && !inside) {
      end_word();
      inside = true;
      commands.push_back({{name}, line});
    } else if (c == ')' && inside) {
      end_word();
      inside = false;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      end_word();
      line += c == '\n' ? 1 : 0;
    } else {
      word += c;
    }
  }
  return commands;
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

bool is_below(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

}  // namespace margay::layering

#include "power_image.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

namespace margay::test {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kDirectory = 0;

struct Book {
  std::map<std::string, std::uint64_t> now, disk;  // name -> inode
  std::map<std::uint64_t, std::uint64_t> bytes;    // inode -> confirmed

  void take(const std::vector<std::string>& f) {
    const auto number = [&](std::size_t i) { return std::strtoull(f.at(i).c_str(), nullptr, 10); };
    switch (f.at(0).at(0)) {
      case 'P':
        now[f[1]] = disk[f[1]] = f.at(3) == "-1" ? kDirectory : number(2);
        if (f[3] != "-1") bytes[number(2)] = number(3);
        break;
      case 'C':
        bytes[number(2)] = 0;
        now[f[1]] = number(2);
        break;
      case 'L':
        now[f[1]] = number(2);
        break;
      case 'M':
        now[f[1]] = kDirectory;
        break;
      case 'R':
        now[f.at(2)] = now[f[1]];
        now.erase(f[1]);
        break;
      case 'U':
        now.erase(f[1]);
        disk.erase(f[1]);
        break;
      case 'S':
        bytes[number(1)] = std::max<std::uint64_t>(bytes[number(1)], number(2));
        break;
      case 'T':
        bytes[number(1)] = std::min<std::uint64_t>(bytes[number(1)], number(2));
        break;
      case 'D': {
        const auto inside = [&](const std::string& name) {
          return fs::path(name).parent_path().string() == f[1];
        };
        std::erase_if(disk, [&](const auto& e) { return inside(e.first); });
        for (const auto& [name, inode] : now)
          if (inside(name)) disk[name] = inode;
        break;
      }
      default:
        break;
    }
  }
};

std::string read_whole(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::string make_power_image(const std::string& book_path, const std::string& root, const std::string& to,
                             std::mt19937_64* unconfirmed) {
  Book book;
  std::ifstream in(book_path);
  if (!in) return book_path + ": no such book";
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find('\t', at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    book.take(fields);
  }
  std::map<std::uint64_t, std::string> place;  // where a file's bytes are now
  for (const auto& [name, inode] : book.now)
    if (inode != kDirectory) place[inode] = name;
  std::error_code ec;
  fs::create_directories(to, ec);
  for (const auto& [name, inode] : book.disk) {  // directories before what is in them
    if (name == root) continue;
    const fs::path target = fs::path(to) / fs::path(name).lexically_relative(root);
    if (!fs::is_directory(target.parent_path(), ec)) continue;  // it is not on the disk
    if (inode == kDirectory) {
      fs::create_directory(target, ec);
      continue;
    }
    const auto found = place.find(inode);
    const std::string content =
        read_whole(found != place.end() ? found->second : root + ".kept/" + std::to_string(inode));
    const std::size_t confirmed = std::min<std::size_t>(content.size(), book.bytes[inode]);
    if (confirmed < book.bytes[inode]) return name + ": has fewer bytes than were confirmed";
    std::string image = content.substr(0, confirmed);
    if (unconfirmed != nullptr && content.size() > confirmed && (*unconfirmed)() % 2 == 0) {
      const std::size_t more = (*unconfirmed)() % (content.size() - confirmed + 1);
      image += (*unconfirmed)() % 2 == 0 ? content.substr(confirmed, more) : std::string(more, '\0');
    }
    std::ofstream out(target, std::ios::binary);
    out << image;
    if (!out) return target.string() + ": cannot be written";
  }
  return "";
}

}  // namespace margay::test

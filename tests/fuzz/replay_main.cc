// Runs a fuzz target once on each file of the folders (or files) that are named: the ordinary build's main.
// Exit code: 0; 1 when a folder is missing or empty, so that a corpus cannot go away unseen. An input that
// breaks the target ends the process; its name is the last line.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

#include "fuzz.h"

// Of libFuzzer; the mutators that call it only run there.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) {
  return size;
}

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::set<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    std::error_code ec;
    const std::size_t before = files.size();
    if (fs::is_regular_file(argv[i], ec)) files.insert(argv[i]);
    for (fs::directory_iterator it(argv[i], ec), end; !ec && it != end; it.increment(ec))
      if (it->is_regular_file()) files.insert(it->path());
    if (files.size() == before) {
      std::fprintf(stderr, "%s: no input to replay\n", argv[i]);
      return 1;
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s FOLDER|FILE...\n", argv[0]);
    return 1;
  }
  for (const fs::path& path : files) {
    std::printf("%s\n", path.filename().c_str());
    std::fflush(stdout);
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in && !in.eof()) {
      std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
      return 1;
    }
    // A copy of exactly this size, never null: reading beyond it is seen.
    const auto copy = std::make_unique<std::uint8_t[]>(bytes.size() + (bytes.empty() ? 1 : 0));
    if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
    static_cast<void>(LLVMFuzzerTestOneInput(copy.get(), bytes.size()));
  }
  std::printf("%zu inputs\n", files.size());
  return 0;
}

// generate_capture: writes a capture as of a large run, with planted findings (tests/support/
// synthetic_capture.h tells which).
//
//   generate_capture [--events N] [--processes N] [--seed N] FILE
//
// Prints the seed, the size and what is planted. About 8 bytes an event: 218 million are 1.8 GB.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "support/synthetic_capture.h"

int main(int argc, char** argv) {
  margay::test::SyntheticCapture what;
  std::string path;
  CLI::App app{"Writes a capture as of a large run."};
  app.add_option("--events", what.events, "records (default: 218000000)");
  app.add_option("--processes", what.processes, "ranks (default: 700)");
  app.add_option("--seed", what.seed, "default: 1");
  app.add_option("file", path, "where to")->required();
  CLI11_PARSE(app, argc, argv);

  const auto begin = std::chrono::steady_clock::now();
  const auto close = [](std::FILE* f) { static_cast<void>(std::fclose(f)); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "wb"), close);
  if (!file) {
    std::perror(path.c_str());
    return 2;
  }
  std::uint64_t bytes = 0;
  const auto ok = what.write([&](std::string_view piece) -> margay::Status {
    bytes += piece.size();
    if (std::fwrite(piece.data(), 1, piece.size(), file.get()) == piece.size()) return {};
    return margay::fail(margay::ErrorCode::kIo, path + ": cannot be written");
  });
  if (!ok || std::fflush(file.get()) != 0) {
    std::fprintf(stderr, "generate_capture: %s\n", ok ? "cannot be written" : ok.error().message.c_str());
    return 2;
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("seed %llu: %llu events of %u processes, %llu bytes in %.1f s\n",
              static_cast<unsigned long long>(what.seed), static_cast<unsigned long long>(what.events),
              what.processes, static_cast<unsigned long long>(bytes), s);
  std::printf(
      "planted: start-up until 12 s; graphene alike, graphite apart; rupture in griffon from 34.5 s to 36 "
      "s\n");
  return 0;
}

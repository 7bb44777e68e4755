#include "replay_model.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "margay/import/format.h"
#include "margay/query/view_source.h"
#include "margay/replay/model_server.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

constexpr std::uint64_t kModelBytes = std::uint64_t{1} << 30;  // its file, and its values
constexpr std::size_t kHeadBytes = 4096;

}  // namespace

bool is_model_file(const std::string& path) {
  std::string head(kHeadBytes, '\0');
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  head.resize(std::fread(head.data(), 1, head.size(), file));
  static_cast<void>(std::fclose(file));
  const auto formats = trace::formats();
  return looks_like_model(head) &&
         std::none_of(formats.begin(), formats.end(), [&](const trace::Format& f) { return f.detect(head); });
}

Status serve_model(const ReplayRequest& r, const std::atomic<bool>& stop) {
  if (!r.serve)
    return fail(ErrorCode::kInvalidArgument,
                r.archive + ": is a model: nothing is detected in it. margay partition " + r.archive +
                    " computes its parts, margay render " + r.archive + " -o PICTURE.png draws them");
  if (!r.settings.empty() || !r.idle_states.empty() || !r.alerts.empty() || !r.slice.empty() ||
      !r.level.empty() || !r.p.empty() || !r.op.empty() || !r.from.empty() || !r.to.empty() || r.json)
    return fail(ErrorCode::kInvalidArgument,
                r.archive + ": is a model: of the flags only --serve, --name and --quiet are for one");
  const auto text = read_input(r.archive, kModelBytes);
  if (!text) return tl::unexpected(text.error());
  auto model = parse_model(*text, r.archive, kModelBytes);
  if (!model) return tl::unexpected(model.error());
  auto source = view_source(std::move(*model), std::filesystem::path(r.archive).filename().string());
  if (!source) return tl::unexpected(source.error());
  const std::string name = r.name.empty() ? "replay-model" : r.name;
  const auto directory = transport::make_run_directory(name);
  if (!directory) return tl::unexpected(directory.error());
  const SystemClock clock;
  auto server = ModelServer::open(std::move(*source), *directory, clock);
  if (server) {
    if (!r.quiet)
      std::fprintf(stderr, "margay: %s\n",
                   text::printable("serving; watch it with: margay watch " + name, true, 400).c_str());
    (*server)->serve(stop);
  }
  transport::remove_run_directory(*directory);
  return server ? Status() : fail(server.error(), r.archive);
}

}  // namespace margay::daemon

#include "margay/lttng_trace/trace_reader.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "files.h"
#include "graph.h"
#include "merge.h"

namespace margay::lttng {

namespace {

constexpr char kNoPackets[] = "its packets do not decode";
constexpr rlim_t kOtherFiles = 64;

// Each stream keeps a file open: the soft limit is raised as far as it takes.
Status enough_files(const std::string& directory, std::size_t streams) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t wanted = static_cast<rlim_t>(streams) + kOtherFiles;
  if (limit.rlim_cur >= wanted) return {};
  const rlim_t most = limit.rlim_max;
  limit.rlim_cur = std::min(wanted, most);
  if (most < wanted || setrlimit(RLIMIT_NOFILE, &limit) != 0)
    return fail(ErrorCode::kLimit, directory + ": it has " + std::to_string(streams) +
                                       " streams, and only so many files may be open: " +
                                       std::to_string(most) + " (ulimit -Hn)");
  return {};
}

}  // namespace

struct TraceReader::Impl {
  Impl(EventSink& sink, const ReaderOptions& options)
      : links(options.scratch), merger(sink, options.progress), interrupter(bt_interrupter_create()) {}

  // Builds the graph of the inputs; without the files, and then the traces, that Babeltrace refuses.
  Status build(const std::string& directory, std::vector<TraceDirectory> found);
  void refuse(std::size_t input, const BtError& error);
  void count_lost();
  Result<Step> step(std::uint64_t most_events);

  std::string url;  // live
  Plugin plugin;
  Links links;
  std::vector<Input> inputs;
  Merger merger;
  InterrupterRef interrupter;
  Graph graph;  // behind what it uses
  std::atomic<bool> stopped{false};
  bool attached = false;
  bool over = false;
  std::optional<Error> failed;
};

// An input that Babeltrace refuses: a file of it is left out, if one is at fault; or a chunk of it; or all.
void TraceReader::Impl::refuse(std::size_t i, const BtError& error) {
  Input& input = inputs[i];
  for (const std::string& cause : error.causes) {
    for (std::size_t d = 0; d < input.directories.size(); ++d) {
      const std::size_t at = cause.find("`" + input.given[d] + "/");
      if (at == std::string::npos) continue;
      const std::size_t name = at + input.given[d].size() + 2;
      const std::size_t end = cause.find('`', name);
      if (end == std::string::npos) continue;
      const std::string path = input.directories[d].path + "/" + cause.substr(name, end - name);
      if (path.ends_with("/metadata")) continue;
      const std::string input_path = input.given[d];
      input.left_out.push_back(path);
      input.given.clear();
      ++merger.counts.damaged_streams;
      merger.add_damage(path, error.text.find(input_path) == std::string::npos ? error.text : kNoPackets, 0);
      return;
    }
  }
  if (input.directories.size() > 1) {
    std::vector<Input> parts;
    for (TraceDirectory& d : input.directories) {
      Input part;
      part.directories.push_back(std::move(d));
      part.left_out = input.left_out;
      parts.push_back(std::move(part));
    }
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
    for (Input& part : parts) inputs.push_back(std::move(part));
    return;
  }
  ++merger.counts.damaged_traces;
  merger.add_damage(input.place(), error.text, 0);
  inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
}

void TraceReader::Impl::count_lost() {
  for (const Input& input : inputs)
    for (const LostStream& lost : input.lost) {
      ++merger.counts.damaged_streams;
      merger.add_damage(lost.place, lost.what, 0);
    }
}

Status TraceReader::Impl::build(const std::string& directory, std::vector<TraceDirectory> found) {
  for (const TraceDirectory& d : found) {
    if (d.damage.empty()) continue;
    ++merger.counts.damaged_traces;
    merger.add_damage(d.path, d.damage, 0);
  }
  std::erase_if(found, [](const TraceDirectory& d) { return !d.damage.empty(); });
  inputs = group(std::move(found));
  for (Input& input : inputs)
    if (Status s = prepare(input, links); !s) return s;
  count_lost();
  while (!inputs.empty()) {
    const auto failure = graph.build_recorded(plugin, inputs, merger, interrupter.get());
    if (!failure) return enough_files(directory, merger.ports());
    graph.clear();
    if (failure->input >= inputs.size())
      return fail(ErrorCode::kInternal, directory + ": Babeltrace cannot be set up: " + failure->error.text);
    refuse(failure->input, failure->error);
    for (Input& input : inputs)
      if (input.given.empty())
        if (Status s = prepare(input, links); !s) return s;
  }
  std::string why;
  if (!merger.damage.empty()) why = ": " + merger.damage.back().place + ": " + merger.damage.back().what;
  return fail(ErrorCode::kCorrupt, directory + ": no trace in it can be read" + why);
}

Result<Step> TraceReader::Impl::step(std::uint64_t most_events) {
  if (failed) return tl::unexpected(*failed);
  if (over || stopped) return Step::kEnd;
  const auto fail_with = [this](Error error) -> Result<Step> {
    if (!url.empty()) error.message = url + ": " + error.message;
    failed = error;
    graph.clear();
    return tl::unexpected(std::move(error));
  };
  if (!graph.built()) {
    const auto failure = graph.build_live(plugin, url, merger, interrupter.get());
    if (failure) return fail_with({ErrorCode::kUnavailable, failure->error.text});
  }
  merger.set_budget(most_events == 0 ? 1 : most_events);
  const Merger::State state = graph.run_once();
  attached = attached || merger.seen_any();
  if (stopped) {
    over = true;
    graph.clear();
    return Step::kEnd;
  }
  switch (state) {
    case Merger::State::kMore:
      return Step::kMore;
    case Merger::State::kAgain:
      return Step::kAgain;
    case Merger::State::kEnd:
      graph.clear();
      if (!url.empty() && !attached) return Step::kAgain;  // no such session yet
      over = true;
      return Step::kEnd;
    case Merger::State::kFailed:
      break;
  }
  return fail_with(merger.error());
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::~TraceReader() = default;

Result<std::unique_ptr<TraceReader>> TraceReader::open_directory(const std::string& directory,
                                                                 EventSink& sink, ReaderOptions options) {
  auto found = find_traces(directory);
  if (!found) return tl::unexpected(found.error());
  auto impl = std::make_unique<Impl>(sink, options);
  auto plugin = load_plugin();
  if (!plugin) return tl::unexpected(plugin.error());
  impl->plugin = std::move(*plugin);
  if (Status s = impl->build(directory, std::move(*found)); !s) return tl::unexpected(s.error());
  return std::unique_ptr<TraceReader>(new TraceReader(std::move(impl)));
}

Result<std::unique_ptr<TraceReader>> TraceReader::open_live(const std::string& url, EventSink& sink,
                                                            ReaderOptions options) {
  // net://HOST[:PORT]/host/HOSTNAME/SESSION
  const std::size_t host = url.find("/host/");
  const bool named = url.starts_with("net://") && host != std::string::npos && host > 6 &&
                     url.find('/', host + 6) != std::string::npos && !url.ends_with('/');
  if (!named)
    return fail(ErrorCode::kInvalidArgument,
                url + ": not the address of a live session (net://HOST[:PORT]/host/HOSTNAME/SESSION)");
  auto impl = std::make_unique<Impl>(sink, options);
  auto plugin = load_plugin();
  if (!plugin) return tl::unexpected(plugin.error());
  impl->plugin = std::move(*plugin);
  impl->url = url;
  return std::unique_ptr<TraceReader>(new TraceReader(std::move(impl)));
}

Result<Step> TraceReader::run_once(std::uint64_t most_events) {
  return impl_->step(most_events);
}
void TraceReader::stop() {
  impl_->stopped = true;
  bt_interrupter_set(impl_->interrupter.get());
}
bool TraceReader::attached() const {
  return impl_->attached;
}
DurationNs TraceReader::offset() const {
  return impl_->merger.clocks.offset();
}
TraceClock TraceReader::clock() const {
  return {impl_->merger.clocks.name(), impl_->merger.clocks.monotonic()};
}
std::string TraceReader::host() const {
  return impl_->merger.host;
}
const ReaderCounts& TraceReader::counts() const {
  return impl_->merger.counts;
}
const std::vector<Damage>& TraceReader::damage() const {
  return impl_->merger.damage;
}

}  // namespace margay::lttng

// Babeltrace's graph: sources (ctf.fs or ctf.lttng-live), each of whose ports goes to the one sink component,
// whose consume method is Merger::pull.
//
// Errors: Failure says of which input. A graph that failed must be thrown away. Thread safety: none, but
// Interrupter::set. Ownership: a Graph owns Babeltrace's objects; the Merger outlives it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bt.h"
#include "files.h"
#include "margay/base/result.h"
#include "merge.h"

namespace margay::lttng {

using InterrupterRef = BtRef<bt_interrupter, bt_interrupter_put_ref>;

struct Plugin {
  PluginRef ref;
  const bt_component_class_source* recorded = nullptr;  // ctf.fs
  const bt_component_class_source* live = nullptr;      // ctf.lttng-live
};
// Errors: kUnavailable.
Result<Plugin> load_plugin();

struct Failure {
  static constexpr std::size_t kNone = SIZE_MAX;
  std::size_t input = kNone;  // whose fault it is
  BtError error;
};

// The class of the sink component. nullptr: no memory. The caller owns it.
const bt_component_class_sink* make_sink_class();
// What the last call of the component's consume method returned is in here.
struct SinkData {
  Merger* merger = nullptr;
  Merger::State state = Merger::State::kMore;
};

class Graph {
 public:
  ~Graph() { clear(); }
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::optional<Failure> build_recorded(const Plugin& plugin, const std::vector<Input>& inputs,
                                        Merger& merger, const bt_interrupter* interrupter);
  std::optional<Failure> build_live(const Plugin& plugin, const std::string& url, Merger& merger,
                                    const bt_interrupter* interrupter);
  // One call of the sink's consume method. kFailed: Merger::error(), which is set here where Babeltrace
  // failed.
  Merger::State run_once();
  void clear();
  bool built() const { return static_cast<bool>(graph_); }

 private:
  std::optional<Failure> build(const std::vector<const bt_component_source*>& sources,
                               std::vector<const Input*> ports, bool live);

  GraphRef graph_;
  Merger* merger_ = nullptr;
  SinkData data_;
};

}  // namespace margay::lttng

// Raw events as a Pajé trace (pajeng, ViTE, Ocelotl read it), as a stream.
//
// CONTAINERS. The hierarchy of the leaves: types host, rank, process, thread; of imported traces (attributes
// path1, path2, ... and type1, type2, ...) the path and the types they had. A container is created with the
// first event of a leaf below it, and destroyed when the leaf ends; those that are no leaf with the trace. A
// leaf that begins to exist again is another container of the same name. A container with several types of
// states is several leaves of an imported archive, and one container again.
//
// STATES. Nested, as push and pop. Live runs: what lies between MPI calls is the state Compute, popped before
// a call is pushed, so that the outermost states of a container follow each other without a hole, and sum to
// its life. Imported traces: what lies between is no state, as it was none in the trace. A gap (events that
// were lost, or are not in the archive) closes what was open and is the state Unknown until the next event;
// how long before the gap that was no longer true, nobody knows. Variables, events and links as they are.
//
// REGIONS, the program's own names of its sections (MPI_Pcontrol), are the states of another type, Region, of
// the same containers; a gap ends them, too.
//
// TIMES are decimal seconds with 9 digits, exact: of a live run since its begin (a comment tells when that
// was), of an imported one as they were. In the order of the file they never go back.
//
// Thread safety: none. Memory: per leaf its open states, per open link 24 bytes (at most kMostLinks; ends of
// more are left out and counted).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "margay/trace/raw_stream.h"
#include "out_file.h"

namespace margay::daemon {

class PajeWriter {
 public:
  static constexpr std::size_t kMostLinks = 1 << 20;
  static constexpr std::size_t kDeepestRegion = 256;  // regions inside it are left out
  struct Counts {
    std::uint64_t states = 0, variables = 0, marks = 0, links = 0, gaps = 0;
    std::uint64_t links_left_out = 0;  // ends without a begin, or beyond kMostLinks
  };

  // Only [from, to) is written; what is open at `from` begins there. All of them outlive the writer.
  PajeWriter(OutFile& out, const store::Resume& all, TimeNs from, TimeNs to);
  // In the order of their times, from the begin of the archive on.
  Status take(const trace::RawEvent& event);
  // Closes what is open. Nothing more may come.
  Status finish();
  const Counts& counts() const { return counts_; }
  static bool imported(const store::Resume& all);

 private:
  struct Leaf {
    std::vector<std::string> types, names;  // from the root down
    std::string state_type = "State";
    std::vector<StateId> stack;  // outermost first
    std::vector<std::string> regions;
    bool alive = false, unknown = false, base = false;
    std::uint32_t container = 0, type = 0;  // meaningful while alive and shown
    std::optional<TimeNs> goodbye;
  };
  struct Node {
    std::uint32_t container = 0, type = 0;
    std::uint32_t users = 0;  // leaves that exist, containers in it
  };
  using TypeKey = std::pair<std::uint32_t, std::string>;

  void header();
  void begin_showing();
  void show(Leaf& leaf, TimeNs t);
  void revive(Leaf& leaf, TimeNs t);
  void end(Leaf& leaf, TimeNs t);
  void clear(Leaf& leaf, TimeNs t);
  void clear_outside(Leaf& leaf, TimeNs t);
  void to_base(Leaf& leaf, TimeNs t);
  void push(const Leaf& leaf, TimeNs t, StateId state);
  void pop(const Leaf& leaf, TimeNs t);
  void leave(Leaf& leaf, TimeNs t, StateId state);
  void special(Leaf& leaf, const trace::RawEvent& e);
  void region(Leaf& leaf, const trace::RawEvent& e);
  void push_region(const Leaf& leaf, TimeNs t, const std::string& name);
  void leave_regions(Leaf& leaf, TimeNs t, std::size_t depth);
  Node& node_of(const Leaf& leaf, std::size_t depth, TimeNs t);
  void destroy(std::uint32_t container, std::uint32_t type, TimeNs t);
  std::uint32_t container_type(std::uint32_t above, const std::string& name);
  std::uint32_t sub_type(char letter, std::uint32_t container_type, const std::string& name);
  std::uint32_t state_type(const Leaf& leaf) { return sub_type('S', leaf.type, leaf.state_type); }
  std::uint32_t value_of(char letter, std::uint32_t type, const std::string& name, model::StateFamily family);
  std::string time(TimeNs t) const;
  Status flush(bool all);

  OutFile& out_;
  const store::Resume& all_;
  const TimeNs from_, to_;
  const bool imported_;
  TimeNs origin_{}, last_;
  bool shown_ = false;
  std::vector<bool> last_state_;  // by state: its end is a live leaf's
  std::vector<Leaf> leaves_;
  std::map<std::vector<std::string>, Node> nodes_;  // by path; containers that are there
  std::map<std::uint32_t, std::uint32_t> created_;  // container: type; those to be destroyed, in their order
  std::map<TypeKey, std::uint32_t> container_types_;
  std::map<std::tuple<char, std::uint32_t, std::string>, std::uint32_t> sub_types_;
  std::map<std::tuple<char, std::uint32_t, std::string>, std::uint32_t> values_;
  std::unordered_map<std::int32_t, std::uint32_t> open_links_;  // by number: the type
  // Ends of links whose begin has not come, all of one moment; by number.
  static constexpr std::size_t kMostEarlyEnds = 4096;
  struct EarlyEnd {
    TimeNs time{};
    std::string here, what;
  };
  std::unordered_map<std::int32_t, EarlyEnd> early_ends_;
  void drop_early_ends(TimeNs before);
  std::uint32_t aliases_ = 0;
  std::string text_;
  Counts counts_;
};

}  // namespace margay::daemon

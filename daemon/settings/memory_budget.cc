#include "margay/settings/memory_budget.h"

#include <algorithm>

#include "margay/transport/transport.h"

namespace margay::daemon {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::uint64_t levels_watched(const Options& o) {
  return o.watch_levels ? o.levels.size() : 1;
}

// Messages that lie in a server's queue for one peer, and the one that is on its way.
std::uint64_t queue_bytes(const transport::Intake& intake) {
  return (static_cast<std::uint64_t>(intake.to_read) + 1) * static_cast<std::uint64_t>(intake.largest);
}

// The detectors' own numbers, of each leaf and state and level (departures.h: 170 bytes a node, and there are
// at most twice as many nodes as leaves), beside what each level remembers of phases.
std::uint64_t detection_bytes(const Options& o) {
  constexpr std::uint64_t kOfACell = 2 * 170, kOfPhases = 32 * kMiB;  // detect/phases.cc
  const std::uint64_t cells = o.limits.cell_bytes / o.limits.held_slices / ingest::Limits::kCellBytes;
  return levels_watched(o) * (cells * kOfACell + kOfPhases);
}

// Each source and leaf has some fixed part in half a dozen tables; names and attributes are also in the
// topology, in the journal, in reports, and in what a restart or a viewer's question has read.
std::uint64_t source_bytes(const Options& o) {
  constexpr std::uint64_t kOfASource = 2048, kOfALeaf = 4096, kCopies = 4;
  return o.limits.sources * kOfASource + o.limits.leaves * kOfALeaf + o.limits.text_bytes * kCopies;
}

// Of peers, what is taken apart, and what is sent.
std::uint64_t message_bytes(const Options& o) {
  constexpr std::uint64_t kParts = 131'072, kOfAPart = 256;  // of one message, when it is parsed
  // Of those that come and go: what one thread of libzmq reads in a tenth of a second (1.7 GB/s, measured).
  constexpr std::uint64_t kWithinAPass = 170 * kMiB;
  const std::uint64_t peers = kMostAgents + (o.listen.any() ? o.listen.connections : 0);
  return peers * queue_bytes(kRecords) + 2 * kMostViewers * queue_bytes(transport::kQuestions) +
         kWithinAPass + static_cast<std::uint64_t>(kRecords.largest) + kParts * kOfAPart + kOutgoingBytes;
}

std::uint64_t past_bytes() {
  // As read, as kept for looking back, and as understood.
  return 4 * kLoadedAlertBytes + 6 * kLoadedPhaseBytes + 8 * kLoadedSignatureBytes + 2 * kPendingAlertBytes +
         2 * kPendingSignatureBytes;
}

}  // namespace

std::uint64_t held_slices(const Options& o) {
  std::uint64_t held = ingest::Limits::kHeldSlices;
  for (std::size_t i = 0; i < o.levels.size(); ++i) {
    held += o.amendable_slices + 1;
    if (i + 1 < o.levels.size())
      held += 2 * static_cast<std::uint64_t>(o.levels[i + 1].value / o.levels[i].value);
  }
  return held;
}

std::uint64_t waiting_slices_bytes(const Options& o) {
  return std::clamp(o.limits.cell_bytes / 2, 8 * kMiB, 256 * kMiB);
}

std::uint64_t fresh_raw_bytes(const Options& o) {
  return o.raw_backlog_bytes / 4;
}

// Each node's agent is a connection; at worst every source has a node to itself. Beside them: the archive's
// files, sockets, threads of libraries, viewers.
std::uint64_t descriptors_wanted(const Options& o) {
  return std::min<std::uint64_t>(65'536, 512 + std::uint64_t{o.limits.sources});
}

MemoryBudget::MemoryBudget(const Options& o) {
  const auto term = [this](const char* name, std::uint64_t bytes) { terms_.push_back({name, bytes}); };
  // What is shown with another operator than duration has a window of its own; those of all coarser levels
  // have as much together.
  const std::uint64_t windows =
      1 + (o.op == slicer::Operator{} ? 0u : 1u) + (levels_watched(o) > 1 ? 1u : 0u);
  const std::uint64_t waiting = waiting_slices_bytes(o);
  term("windows", windows * o.window_memory_bytes);
  term("detection", detection_bytes(o));
  term("views", o.view_memory_bytes);
  term("slices that can still change", o.limits.cell_bytes);
  term("slices on their way", 4 * waiting);
  term("events that wait for the disk", o.raw_events ? o.raw_backlog_bytes + (8 * kMiB) : 0);
  // A cut is a batch of RocksDB's, and then in a table in memory, however large that should be.
  term("store", o.store_memory_bytes + waiting + 2 * o.raw_backlog_bytes);
  term("sources", source_bytes(o));
  term("messages", message_bytes(o));
  term("alerts and phases", past_bytes());
  constexpr std::uint64_t kOfADescriptor = 8192;  // a connection that has said nothing yet
  term("the rest", 64 * kMiB + descriptors_wanted(o) * kOfADescriptor);
  std::uint64_t all = 0;
  for (const Term& t : terms_) all += t.bytes;
  term("the allocator's waste", all / 16);
}

std::uint64_t MemoryBudget::sum() const {
  std::uint64_t all = 0;
  for (const Term& t : terms_) all += t.bytes;
  return all;
}

std::string MemoryBudget::text() const {
  std::string out;
  for (const Term& t : terms_)
    if (t.bytes > 0)
      out += (out.empty() ? "" : ", ") + std::string(t.name) + ' ' + std::to_string(t.bytes >> 20) + " MiB";
  return out;
}

}  // namespace margay::daemon

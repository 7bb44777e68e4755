// capture_check: a run's cells computed four times over, and compared cell by cell.
//
//   capture_check [--spoil] CAPTURE ARCHIVE
//
// CAPTURE is what `margay run --capture` kept: every message as it came in. ARCHIVE is what the same run
// wrote while it was live. The four:
//   live       the level-0 columns in the archive
//   replayed   the messages through ingest and slicer again, with the arrival times as the clock
//   reference  the messages' records, decoded here, in the order of their ordinals, through the plain
//   reference slicer,
//              which knows no positions, watermarks or amendments
//   summed     the messages as they would have been had every process summed its calls, through ingest and
//              slicer; only where each message came once and whole (else "summed 0")
// Compared are duration, longest visit and visits of every leaf, state and slice from the begin of the run to
// the last one closed. Prints a line of figures; every difference (the first 20) is a line of stderr. Exit
// code: 0 equal, 1 not, 2 for a wrong call or files that cannot be read.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ingest_again.h"
#include "margay/store/archive.h"
#include "summed.h"

namespace {

using namespace margay;
using namespace margay::test;

using Cell = ReferenceCell;
using Cells = std::map<std::tuple<std::int64_t, std::uint32_t, std::uint16_t>, Cell>;  // slice, leaf, state
int complain(const std::string& sentence) {
  std::fprintf(stderr, "capture_check: %s\n", sentence.c_str());
  return 2;
}

void put(Cells& cells, const model::SliceColumn& c) {
  for (std::uint32_t l = 0; l < c.leaves(); ++l)
    for (std::uint16_t x = 0; x < c.states(); ++x) {
      const LeafIndex leaf(l);
      const Cell cell{c.duration_ns(leaf)[x], c.longest_ns(leaf)[x], c.visits(leaf)[x]};
      if (cell == Cell{})
        cells.erase({c.index.value, l, x});
      else
        cells[{c.index.value, l, x}] = cell;
    }
}

// ---- replayed

struct Replay {
  Cells cells;
  std::vector<StreamKey> leaves;
  ingest::MessageCounters counters;
};

// `closed`: what the live run had closed when it ended. Its clock went on after the last message; here time
// is told by messages alone.
Replay replay(const std::vector<Message>& messages, const store::RunMeta& run, TimeNs closed) {
  IngestAgain again(run);
  slicer::Slicer& slicer = again.slicer;
  const ingest::Ingest& ingest = again.ingest;
  Replay out;
  const auto take = [&] {
    for (const model::SliceColumn& c : slicer.left()) put(out.cells, c);
    for (const SliceIndex s : slicer.take_changed())
      if (const auto* c = slicer.column(s)) put(out.cells, *c);
  };
  for (const Message& m : messages) {
    again.receive(m);
    static_cast<void>(slicer.close_through(ingest.watermark(m.at)));
    take();
  }
  TimeNs end = run.begin;
  for (const auto& [id, source] : ingest.sources()) {
    if (source.end) end = std::max(end, *source.end);
    for (const auto& [index, stream] : source.streams)
      end = std::max(end, slicer.leaf_state(stream.leaf).last_event);
  }
  end = std::max(slice_end(slice_of(end, run.levels[0]), run.levels[0]), closed);
  static_cast<void>(slicer.close_through(end));
  take();
  for (const auto& [source, stream] : ingest.leaf_owner()) out.leaves.emplace_back(source.value, stream);
  out.counters = ingest.counters();
  return out;
}

// ---- reference

// False where no record can be moved.
bool spoil(Decoded& decoded) {
  for (auto& [key, stream] : decoded.streams) {
    auto& r = stream.records;
    for (std::size_t i = r.size() / 2; i + 1 < r.size(); ++i)
      if ((r[i].kind == MARGAY_ENTER || r[i].kind == MARGAY_LEAVE) && r[i + 1].time_ns > r[i].time_ns + 1) {
        ++r[i].time_ns;
        return true;
      }
  }
  return false;
}

// ---- comparison

std::size_t compare(const char* left_name, const Cells& left, const char* right_name, const Cells& right,
                    const model::StateTable& states, std::size_t& said) {
  std::size_t different = 0;
  const auto say = [&](const auto& key, const Cell& a, const Cell& b) {
    ++different;
    if (++said > 20) return;
    const auto text = [](const Cell& c) {
      return std::to_string(c.duration_ns) + " ns, longest " + std::to_string(c.longest_ns) + " ns, " +
             std::to_string(c.visits) + " visits";
    };
    std::fprintf(stderr, "slice %lld leaf %u %s: %s: %s; %s: %s\n", static_cast<long long>(std::get<0>(key)),
                 std::get<1>(key), states[StateId(std::get<2>(key))].name.c_str(), left_name, text(a).c_str(),
                 right_name, text(b).c_str());
  };
  for (const auto& [key, cell] : left) {
    const auto other = right.find(key);
    if (other == right.end())
      say(key, cell, Cell{});
    else if (!(other->second == cell))
      say(key, cell, other->second);
  }
  for (const auto& [key, cell] : right)
    if (!left.contains(key)) say(key, Cell{}, cell);
  return different;
}

int check(const std::string& capture, const std::string& archive_path, bool spoiled) {
  std::vector<Message> messages;
  if (!read_capture(capture, messages)) return complain(capture + ": cannot be read to its end");
  const auto archive = store::Archive::open(archive_path, store::Mode::kReadOnly);
  if (!archive) return complain(archive.error().message);
  const auto resume = (*archive)->load();
  if (!resume) return complain(resume.error().message);
  const store::RunMeta& run = resume->run;
  const DurationNs slice = run.levels[0];
  const SliceIndex first = slice_of(run.begin, slice);
  SliceIndex through = first - 1;
  for (const auto& c : resume->closed)
    if (c.level == LevelIndex(0)) through = c.through;

  Cells live;
  if (const auto ok = (*archive)->scan_columns(LevelIndex(0), first, through,
                                               [&](model::SliceColumn&& c) {
                                                 put(live, c);
                                                 return true;
                                               });
      !ok)
    return complain(ok.error().message);

  Replay replayed = replay(messages, run, slice_end(through, slice));
  std::erase_if(replayed.cells, [&](const auto& e) { return std::get<0>(e.first) > through.value; });

  Decoded decoded;
  if (std::string why; !decode(messages, run, decoded, why)) return complain(capture + ": " + why);
  if (spoiled && !spoil(decoded)) return complain(capture + ": no record can be moved");
  std::map<std::string, std::uint16_t> ids;
  for (std::uint16_t i = 0; i < resume->states.size(); ++i) ids[resume->states[StateId(i)].name] = i;
  Cells reference;
  std::size_t records = 0;
  for (const auto& leaf : resume->leaves) {
    const StreamKey key{leaf.source.value, leaf.stream};
    if (replayed.leaves.size() <= leaf.leaf.value || replayed.leaves[leaf.leaf.value] != key)
      return complain("leaf " + std::to_string(leaf.leaf.value) + " is another one when replayed");
    const StreamRecords& stream = decoded.streams[key];
    records += stream.records.size();
    std::optional<TimeNs> goodbye;
    if (const auto it = decoded.goodbyes.find(key.first); it != decoded.goodbyes.end()) goodbye = it->second;
    const auto events = events_of(stream, decoded.sources[key.first], goodbye, ids);
    for (const auto& [where, cell] :
         test::reference_cells(events, slice_begin(first, slice), slice_end(through, slice), slice))
      reference[{where.first, leaf.leaf.value, where.second}] = cell;
  }
  const bool whole = decoded.undecodable == 0 && replayed.counters.repeats == 0;
  Summed summed;
  Cells of_sums;
  if (whole) {
    if (std::string why; !sum_captured(messages, run, summed, why)) return complain(capture + ": " + why);
    Replay again = replay(summed.messages, run, slice_end(through, slice));
    if (again.leaves != replayed.leaves) return complain("the leaves are others when calls are summed");
    of_sums = std::move(again.cells);
    std::erase_if(of_sums, [&](const auto& e) { return std::get<0>(e.first) > through.value; });
  }

  if (resume->leaves.size() != decoded.streams.size())
    return complain("a resource had several programs one after the other: this check compares one each");

  std::size_t said = 0;
  const std::size_t a = compare("live", live, "reference", reference, resume->states, said);
  const std::size_t b = compare("replayed", replayed.cells, "reference", reference, resume->states, said);
  const std::size_t c = whole ? compare("summed", of_sums, "reference", reference, resume->states, said) : 0;
  std::printf(
      "messages %zu records %zu leaves %zu slices %lld cells %zu repeated %llu undecodable %zu live_differs "
      "%zu replayed_differs %zu summed_differs %zu summed %llu in %llu\n",
      messages.size(), records, resume->leaves.size(),
      static_cast<long long>(through.value - first.value + 1), reference.size(),
      static_cast<unsigned long long>(replayed.counters.repeats), decoded.undecodable, a, b, c,
      static_cast<unsigned long long>(summed.events), static_cast<unsigned long long>(summed.records));
  return a + b + c == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool spoiled = argc == 4 && std::string(argv[1]) == "--spoil";
  if (argc != 3 && !spoiled) return complain("capture_check [--spoil] CAPTURE ARCHIVE");
  return check(argv[argc - 2], argv[argc - 1], spoiled);
}

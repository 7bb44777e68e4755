// A zoom: any range of time of a run, in any number of slices, as a model that can be partitioned.
//
// Two inputs: an archive (a directory) and a capture (what `margay run --capture` keeps; collector/import,
// capture.h). Times are counted from `zero`: of an archive the begin of the run's first slice (so that round
// times fall on slices; the run itself begins at most one slice later), of a capture its first record.
//
// Of an archive, where every boundary falls on slices of the finest level, only cells are read, the coarsest
// that fit between two boundaries; that is exact. Otherwise the raw events are read, which is exact too.
// Where that would be many and no number of slices was asked for, slices are taken that the cells fit, about
// as many, and a note says so; the last may end behind the run. Where raw events are not kept, the cells of
// the finest level are spread in proportion to the time that a boundary cuts off, and a note says so; so they
// are where a level is asked for by name. Operators other than duration want raw events.
//
// States of the model are those that occur in the range, but for Absent and Unknown, which weigh nothing: a
// cell's weight is the part of the slice in which the resource existed and was observed (of other operators:
// 1 where it did for any time).
//
// Errors: each a sentence that names the input, the option or the place; kInvalidArgument for what was asked
// for, kNotFound, kLimit (memory_bytes, slices), kCorrupt, kIo, kUnavailable, kTimeout (go_on). Thread
// safety: functions are safe; a capture is read by two threads. Cost: the cells or events of the range.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "margay/model/view.h"
#include "margay/slicer/operator.h"
#include "margay/wire/filter.h"
#include "model_file.h"

namespace margay::store {
class Archive;
struct Resume;
}  // namespace margay::store

namespace margay::daemon {

struct ZoomRequest {
  std::string input;
  std::optional<std::string> from, to;  // as written: "12.5", "1min", "12:38:05", "@" and trace time in ns
  std::optional<std::uint64_t> slices;  // nothing: 30, or with a level one for each of its slices
  std::vector<std::string> states;      // nothing: all
  model::View view;                     // the hierarchy of the model
  std::string node;                     // path, in the view or in the usual one; "": all
  // What else is left out. `of_the_rest`: resources are left out of the model, and a cell weighs what is left
  // of its time; else resources have no states, and all that was left out counts as time that is not shown.
  wire::RunFilter filter;
  slicer::Operator op;
  std::optional<std::string> level;  // a slice duration
  bool past_end = false;  // `to` may be behind the end, so that slices are alike; nobody is there then
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  // Of an archive's files, so many bytes of the range at most are read for their events where no number of
  // slices was asked for: about a second.
  std::uint64_t unasked_bytes = std::uint64_t{64} << 20;
  // Told now and then how much of the input was read, 0 to 1.
  std::function<void(double)> progress;
  // Of an archive, asked now and then: false ends the reading with kTimeout.
  std::function<bool()> go_on;

  static constexpr std::uint64_t kUsualSlices = 30;
  // Whether anything but the input was asked for.
  bool asks() const {
    return from || to || slices || !states.empty() || !node.empty() || !view.is_usual() || !filter.empty() ||
           filter.of_the_rest || level || op != slicer::Operator{};
  }
};

struct Zoomed {
  Model model;
  std::vector<std::string> notes;  // sentences for stderr
  std::uint64_t events = 0;        // that were read; 0: cells only
};

// Whether `path` is an archive or looks like a capture; what is neither is a model, or nothing.
enum class ZoomInput { kNone, kArchive, kCapture };
ZoomInput zoom_input(const std::string& path);

Result<Zoomed> zoom(const ZoomRequest& request);
// The same of an archive that is open, also one that this process is writing, and what load() told of it;
// `input` is only what the errors call it. The archive is read in pieces of some milliseconds (events: in
// one), each of which sees one cut: what is committed or dropped meanwhile may be in some of them.
Result<Zoomed> zoom(const ZoomRequest& request, const store::Archive& archive, const store::Resume& resume);

// What there is to zoom into.
struct ZoomExtent {
  struct Kept {
    SliceIndex first{}, last{};  // closed slices, both inside
    bool any = false;
  };
  TimeNs zero{};             // what times are counted from: the begin of the run's first slice
  TimeNs end{};              // of the newest slice of the finest level that has any
  std::vector<Kept> levels;  // the finest first
};
// Errors: those of the archive, kCorrupt (no levels). Cost: two seeks a level.
Result<ZoomExtent> zoom_extent(const store::Archive& archive, const store::Resume& resume);

}  // namespace margay::daemon

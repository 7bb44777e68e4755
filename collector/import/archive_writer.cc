#include "margay/import/archive_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "cells.h"
#include "margay/slicer/slicer.h"
#include "margay/slicer/stand_in.h"
#include "margay/slicer/take_record.h"
#include "margay/wire/columns.h"

namespace margay::trace {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlockRecords = 4096;
constexpr std::size_t kMostHeldRecords = std::size_t{1} << 20;  // of all leaves: 32 MiB
constexpr std::int64_t kBlockSlices = 256;                      // a block covers at most about so many slices
constexpr std::size_t kCutBytes = 8 << 20;
constexpr std::size_t kLeavesPerCut = 16384;
constexpr SourceId kSource{1};
constexpr std::uint64_t kFewestOpenSlices = 4;

Status io_error(const std::string& path) {
  return fail(ErrorCode::kIo, path + ": " + std::strerror(errno));
}

Status attributes_fit(LeafIndex leaf, const model::Attributes& attributes) {
  if (attributes.size() <= store::kMostAttributes) return {};
  return fail(ErrorCode::kLimit, "leaf " + std::to_string(leaf.value) + " has more than 256 attributes");
}

// So that the new name is there after a loss of power, too. A parent that cannot be opened: nothing to be
// done.
void sync_directory(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

struct ArchiveWriter::Impl {
  struct LeafPart {
    StateId base = kCompute;
    bool exists = false;
    std::uint64_t taken = 0, late = 0;
    std::uint64_t archived = 0;  // ordinal of the next block's first record
    std::vector<EventRecord> held;
  };

  Impl(std::string path_, Options options_)
      : path(std::move(path_)),
        partial(path + ".partial"),
        options(std::move(options_)),
        slice(options.run.levels[0]),
        slicer({slice, 0, static_cast<std::uint32_t>(store::kDeepestStack) - 1, options.op}),
        coarse(options.run.levels) {}

  Status start(TimeNs t);
  Status close_through(TimeNs t);
  Status make_room(TimeNs t);
  Status cells_fit(std::size_t leaves, std::size_t states) const;
  // Of a cell in memory.
  std::uint64_t cell_bytes() const { return options.op == slicer::Operator{} ? 20 : 28; }
  Status apply(LeafPart& part, LeafIndex leaf, const EventRecord& r);
  Status note(LeafIndex leaf, const EventRecord& r);
  Result<StateId> stand_in(const Name& name);
  void flush(std::uint32_t leaf);
  void flush_all();
  void add_column(model::SliceColumn column);
  Status commit_if_large() { return pending_bytes < kCutBytes ? Status() : commit(false); }
  Status commit(bool sync);
  Status write_leaves();
  Status close_rest();

  const std::string path, partial;
  Options options;
  const DurationNs slice;
  std::unique_ptr<store::Archive> archive;
  slicer::Slicer slicer;
  CoarseCells coarse;
  model::StateTable states;
  std::size_t states_written = 3;
  std::vector<StateId> names;
  std::vector<StateId> stands_for;  // likewise; of names that are no states (slicer/stand_in.h)
  std::vector<store::NameText> texts;
  std::vector<LeafPart> leaves;
  bool started = false, finished = false;
  std::optional<TimeNs> earliest;  // record
  TimeNs begin{}, covered{}, last{}, next_close{};
  TimeNs room{};  // records before it need no columns beyond the bound
  SliceIndex first_slice{};
  std::int64_t flush_at = 0;  // slice
  std::uint64_t slices = 0;
  std::size_t held_records = 0;
  store::Cut cut;
  std::uint64_t sequence = 0;
  std::size_t pending_bytes = 0;
};

ArchiveWriter::ArchiveWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ArchiveWriter::~ArchiveWriter() {
  if (impl_->finished || !impl_->archive) return;
  impl_->archive.reset();
  std::error_code ignored;
  fs::remove_all(impl_->partial, ignored);
}

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::create(const std::string& path, Options options) {
  std::string name = path;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  std::error_code error;
  if (fs::exists(fs::symlink_status(name, error)))
    return fail(ErrorCode::kInvalidArgument, name + ": is there already; expected a new directory");
  if (options.run.levels.empty()) return fail(ErrorCode::kInvalidArgument, "no slice duration");
  options.run.settings.erase(store::kOperatorSetting);
  if (options.op != slicer::Operator{}) options.run.settings[store::kOperatorSetting] = options.op.text();
  auto impl = std::make_unique<Impl>(name, std::move(options));
  if (fs::exists(fs::symlink_status(impl->partial, error)))
    return fail(ErrorCode::kInvalidArgument,
                impl->partial +
                    ": is there already: another import is writing it, or one was killed; if none is "
                    "running, remove it");
  auto archive = store::Archive::create(impl->partial, impl->options.run);
  if (!archive) return tl::unexpected(archive.error());
  impl->archive = std::move(*archive);
  return std::unique_ptr<ArchiveWriter>(new ArchiveWriter(std::move(impl)));
}

void ArchiveWriter::set(const std::string& setting, std::string value) {
  impl_->options.run.settings[setting] = std::move(value);
}

// A column for each level, and two that the slicer holds.
Status ArchiveWriter::Impl::cells_fit(std::size_t leaf_count, std::size_t state_count) const {
  const std::uint64_t columns = options.run.levels.size() + 2;
  const std::uint64_t need = columns * leaf_count * (state_count * cell_bytes() + 128);
  if (need <= options.cell_bytes) return {};
  return fail(ErrorCode::kLimit, std::to_string(leaf_count) + " leaves with " + std::to_string(state_count) +
                                     " states take more than the " +
                                     std::to_string(options.cell_bytes >> 20) + " MiB that cells may take");
}

// A mark or link that is measured gets a state of its own.
Result<StateId> ArchiveWriter::Impl::stand_in(const Name& name) {
  if (slicer::is_operand(options.op, name.kind, name.text)) return slicer::kOperand;
  const auto state = slicer::stand_in_name(options.op, name.kind, name.text);
  if (!state) return slicer::kNothing;
  if (!states.knows(*state))
    if (auto ok = cells_fit(leaves.size(), states.size() + 1); !ok) return tl::unexpected(ok.error());
  room = begin;
  return states.intern(*state, model::StateFamily::kOther);
}

Status ArchiveWriter::on_name(std::uint16_t index, const Name& name) {
  Impl& i = *impl_;
  if (index != i.names.size())
    return fail(ErrorCode::kInvalidArgument, "name " + std::to_string(index) + " is not the next one");
  if (name.kind != Name::Kind::kState) {
    if (name.text.size() > store::kLongestText) return fail(ErrorCode::kLimit, "a name is longer than 1 MiB");
    const auto state = i.stand_in(name);
    if (!state) return tl::unexpected(state.error());
    i.texts.push_back({index, name.kind, name.text});
    i.names.push_back(kUnknown);
    i.stands_for.resize(i.names.size(), slicer::kNothing);
    i.stands_for.back() = *state;
    return {};
  }
  if (!i.states.knows(name.text))
    if (auto ok = i.cells_fit(i.leaves.size(), i.states.size() + 1); !ok) return ok;
  i.room = i.begin;
  const auto id = i.states.intern(name.text, name.family);
  if (!id) return tl::unexpected(id.error());
  i.names.push_back(*id);
  return {};
}

Status ArchiveWriter::on_leaf(LeafIndex index, const Leaf& leaf) {
  Impl& i = *impl_;
  if (index.value != i.leaves.size() || (leaf.base && *leaf.base >= i.names.size()))
    return fail(ErrorCode::kInvalidArgument,
                "leaf " + std::to_string(index.value) + " is not the next one, or its base is no name");
  if (auto ok = i.cells_fit(i.leaves.size() + 1, i.states.size()); !ok) return ok;
  if (auto ok = attributes_fit(index, leaf.attributes); !ok) return ok;
  i.leaves.emplace_back();
  i.room = i.begin;  // the same bytes hold fewer slices now
  if (leaf.base) i.leaves.back().base = i.names[*leaf.base];
  i.slicer.add_leaf();
  i.cut.leaves.push_back({index, kSource, index.value, leaf.attributes});
  i.pending_bytes += 512;
  return i.commit_if_large();
}

Status ArchiveWriter::on_attributes(LeafIndex index, const model::Attributes& attributes) {
  Impl& i = *impl_;
  if (index.value >= i.leaves.size())
    return fail(ErrorCode::kInvalidArgument,
                "attributes of leaf " + std::to_string(index.value) + ", which was not announced");
  if (auto ok = attributes_fit(index, attributes); !ok) return ok;
  i.cut.leaves.push_back({index, kSource, index.value, attributes});  // takes the place of the first
  i.pending_bytes += 512;
  return i.commit_if_large();
}

Status ArchiveWriter::Impl::start(TimeNs t) {
  started = true;
  begin = covered = last = room = t;
  first_slice = slice_of(t, slice);
  next_close = slice_end(first_slice, slice);
  flush_at = first_slice.value + kBlockSlices;
  slicer.start(t);
  return {};
}

Status ArchiveWriter::on_covered(TimeNs t) {
  Impl& i = *impl_;
  if (!i.started) return i.start(t);
  if (t <= i.covered) return {};
  if (t >= i.next_close)
    if (auto ok = i.close_through(t); !ok) return ok;
  i.covered = t;
  return {};
}

// One slice at a time, so that a long silence holds no more columns than a short one.
Status ArchiveWriter::Impl::close_through(TimeNs t) {
  if (slice_of(t, slice).value - first_slice.value >= kMostSlices)
    return fail(ErrorCode::kLimit, "the time lies more than " + std::to_string(kMostSlices) +
                                       " slices behind the begin of the trace; expected a longer --slice");
  while (next_close <= t) {
    for (std::uint32_t l = 0; l < leaves.size(); ++l) slicer.cover(LeafIndex(l), next_close);
    for (const model::SliceColumn* c : slicer.close_through(next_close)) add_column(*c);
    static_cast<void>(slicer.take_changed());
    next_close = next_close + slice;
    if (slicer.next_open().value >= flush_at) {
      flush_all();
      flush_at = slicer.next_open().value + kBlockSlices;
    }
    if (auto ok = commit_if_large(); !ok) return ok;
  }
  return {};
}

// A producer that says late what is covered, or never, shall not take all memory: slices that lie too far
// behind are closed, and what then comes for them is late.
Status ArchiveWriter::Impl::make_room(TimeNs t) {
  const std::uint64_t column =
      std::max<std::uint64_t>(1, leaves.size() * (states.size() * cell_bytes() + 128));
  const auto most = static_cast<std::int64_t>(
      std::clamp<std::uint64_t>(options.cell_bytes / 2 / column, kFewestOpenSlices, kMostSlices));
  const SliceIndex first = slice_of(t, slice) - (most - 1);
  if (slice_begin(first, slice) >= next_close) {
    if (auto ok = close_through(slice_begin(first, slice)); !ok) return ok;
    covered = std::max(covered, slice_begin(first, slice));
  }
  room = slice_begin(slicer.next_open() + most, slice);
  return {};
}

void ArchiveWriter::Impl::add_column(model::SliceColumn column) {
  std::vector<model::SliceColumn> complete;
  if (earliest && slices == 0) {
    if (slice_end(column.index, slice) <= *earliest) return;  // nothing is in it
    begin = std::max(begin, *earliest);
  }
  coarse.add(column, complete);
  complete.push_back(std::move(column));
  ++slices;
  for (model::SliceColumn& c : complete) {
    pending_bytes += std::size_t{c.leaves()} * (c.states() * 20 + 128);
    cut.columns.push_back(std::make_shared<model::SliceColumn>(std::move(c)));
  }
}

Status ArchiveWriter::on_records(LeafIndex leaf, std::span<const EventRecord> records) {
  Impl& i = *impl_;
  if (leaf.value >= i.leaves.size())
    return fail(ErrorCode::kInvalidArgument,
                "records of leaf " + std::to_string(leaf.value) + ", which was not announced");
  Impl::LeafPart& part = i.leaves[leaf.value];
  for (const EventRecord& r : records) {
    const TimeNs t(r.time_ns);
    if (!i.started)
      if (auto ok = i.start(t); !ok) return ok;
    if (t >= i.room)
      if (auto ok = i.make_room(t); !ok) return ok;
    i.earliest = std::min(i.earliest.value_or(t), t);
    if (t < i.covered) {
      // As live: its time is over, what it changes is kept from here on.
      ++part.late;
      EventRecord now = r;
      now.time_ns = i.covered.value;
      if (auto ok = i.apply(part, leaf, now); !ok) return ok;
    } else {
      i.last = std::max(i.last, t);
      if (auto ok = i.apply(part, leaf, r); !ok) return ok;
      ++part.taken;
    }
    if (!i.options.raw) continue;
    part.held.push_back(r);
    ++i.held_records;
    if (part.held.size() >= kBlockRecords) i.flush(leaf.value);
    if (i.held_records >= kMostHeldRecords) i.flush_all();
  }
  return i.commit_if_large();
}

Status ArchiveWriter::Impl::apply(LeafPart& part, LeafIndex leaf, const EventRecord& r) {
  const TimeNs t(r.time_ns);
  if (!part.exists || r.kind == MARGAY_BEGIN) {
    part.exists = true;
    slicer.begin(leaf, t, part.base);
  }
  if (names_a_state(r.kind) && r.state >= names.size())
    return fail(ErrorCode::kInvalidArgument,
                "a record with the name " + std::to_string(r.state) + ", which was not announced");
  if (is_note(r.kind)) return note(leaf, r);
  if (r.kind == MARGAY_END) {
    slicer.end(leaf, t);
    part.exists = false;
  } else {
    slicer::take_record(slicer, leaf, names_a_state(r.kind) ? names[r.state] : kCompute, t, r);
  }
  return {};
}

Status ArchiveWriter::Impl::note(LeafIndex leaf, const EventRecord& r) {
  const auto note =
      slicer::note_of(options.op, r, r.state < stands_for.size() ? stands_for[r.state] : slicer::kNothing);
  if (!note) return tl::unexpected(note.error());
  if (*note) slicer.note(leaf, **note, TimeNs(r.time_ns));
  return {};
}

void ArchiveWriter::Impl::flush(std::uint32_t leaf) {
  LeafPart& part = leaves[leaf];
  if (part.held.empty()) return;
  store::RawBlock block;
  block.leaf = LeafIndex(leaf);
  block.source = kSource;
  block.first = part.archived;
  block.begin = TimeNs(part.held.front().time_ns);
  block.end = TimeNs(part.held.back().time_ns);
  block.count = static_cast<std::uint32_t>(part.held.size());
  wire::encode_columns(part.held, block.columns);
  part.archived += part.held.size();
  held_records -= part.held.size();
  part.held.clear();
  pending_bytes += block.columns.size() + sizeof block;
  cut.raw.push_back(std::move(block));
}

void ArchiveWriter::Impl::flush_all() {
  for (std::uint32_t l = 0; l < leaves.size(); ++l) {
    flush(l);
    leaves[l].held.shrink_to_fit();
  }
}

Status ArchiveWriter::Impl::commit(bool sync) {
  cut.sequence = ++sequence;
  cut.wall = SystemClock().realtime();
  for (; states_written < states.size(); ++states_written) {
    const StateId id(static_cast<std::uint16_t>(states_written));
    cut.states.push_back({id, states[id]});
  }
  auto ok = archive->commit(cut, sync);
  cut = {};
  pending_bytes = 0;
  return ok;
}

// The open states and counters of all leaves, some at a time.
Status ArchiveWriter::Impl::write_leaves() {
  for (std::uint32_t l = 0; l < leaves.size(); ++l) {
    const slicer::LeafState& s = slicer.leaf_state(LeafIndex(l));
    store::LeafState state;
    state.leaf = LeafIndex(l);
    state.stack.push_back({s.base, s.base_since});
    for (const auto& e : s.stack) state.stack.push_back({e.state, e.since});
    state.position = s.position;
    state.last_event = s.last_event;
    state.longest_before_ns = s.longest_before_ns;
    cut.leaf_states.push_back(std::move(state));
    store::StreamRecord stream;
    stream.source = kSource;
    stream.stream = l;
    stream.next = stream.produced = stream.recorded = leaves[l].taken + leaves[l].late;
    stream.modelled = leaves[l].taken;
    stream.late_dropped = leaves[l].late;
    cut.streams.push_back(stream);
    if (cut.streams.size() >= kLeavesPerCut)
      if (auto ok = commit(false); !ok) return ok;
  }
  return {};
}

Status ArchiveWriter::Impl::close_rest() {
  const SliceIndex end = slice_of(std::max(covered, last), slice);
  if (auto ok = close_through(slice_end(end, slice)); !ok) return ok;
  std::vector<model::SliceColumn> complete;
  coarse.finish(complete);
  for (model::SliceColumn& c : complete)
    cut.columns.push_back(std::make_shared<model::SliceColumn>(std::move(c)));
  flush_all();
  return commit(false);
}

Result<ArchiveWriter::Outcome> ArchiveWriter::finish(std::uint64_t late, std::uint64_t rejected) {
  Impl& i = *impl_;
  if (!i.started) return fail(ErrorCode::kInvalidArgument, "the trace has no event with a time");
  if (auto ok = i.close_rest(); !ok) return tl::unexpected(ok.error());
  if (auto ok = i.write_leaves(); !ok) return tl::unexpected(ok.error());
  Outcome out;
  out.begin = i.begin;
  out.end = std::max(i.covered, i.last);
  out.leaves = static_cast<std::uint32_t>(i.leaves.size());
  out.slices = i.slices;
  for (const Impl::LeafPart& l : i.leaves) {
    out.modelled += l.taken;
    out.late_dropped += l.late;
  }
  out.late_dropped += late;
  out.rejected = rejected;
  out.produced = out.modelled + out.late_dropped + out.rejected;
  store::SourceRecord source;
  source.source = kSource;
  source.names = i.names;
  source.texts = i.texts;
  source.attributes = i.options.run.settings;
  source.end = out.end;
  i.cut.sources.push_back(std::move(source));
  if (late + rejected > 0) {
    // They belong to no leaf: a stream behind those of the leaves.
    store::StreamRecord stream;
    stream.source = kSource;
    stream.stream = static_cast<std::uint32_t>(i.leaves.size());
    stream.next = stream.produced = stream.recorded = late + rejected;
    stream.late_dropped = late;
    stream.rejected = rejected;
    i.cut.streams.push_back(stream);
  }
  for (std::size_t level = 0; level < i.options.run.levels.size(); ++level)
    i.cut.closed.push_back(
        {LevelIndex(static_cast<std::uint8_t>(level)), slice_of(out.end, i.options.run.levels[level])});
  const DurationNs slice = i.options.run.levels[0];
  i.options.run.begin = slice_begin(slice_of(out.begin, slice), slice);
  i.options.run.end = out.end;
  i.options.run.exit_code = 0;
  i.cut.run = i.options.run;
  if (auto ok = i.commit(true); !ok) return tl::unexpected(ok.error());
  // What was committed before may have met a full disk since.
  if (auto ok = i.archive->health(); !ok) return tl::unexpected(ok.error());
  i.archive.reset();
  // The name must still be free: two imports may run at once.
  const bool renamed =
      ::renameat2(AT_FDCWD, i.partial.c_str(), AT_FDCWD, i.path.c_str(), RENAME_NOREPLACE) == 0 ||
      ((errno == EINVAL || errno == ENOSYS) && ::rename(i.partial.c_str(), i.path.c_str()) == 0);
  if (!renamed) {
    const auto error = io_error(i.path);
    std::error_code ignored;
    fs::remove_all(i.partial, ignored);
    return tl::unexpected(error.error());
  }
  i.finished = true;
  std::error_code ignored;
  sync_directory(fs::absolute(i.path, ignored).parent_path());
  return out;
}

}  // namespace margay::trace

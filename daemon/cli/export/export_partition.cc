#include "export_parts.h"
#include "margay/partition/batch.h"
#include "margay/query/choose_p.h"
#include "margay/query/part_states.h"
#include "margay/text/text.h"

namespace margay::daemon::exporting {
namespace {

// Above this many slices a coarser level is taken, unless --level says which: the tables grow with the
// square.
constexpr std::int64_t kManySlices = 512;
constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;       // of the values
constexpr std::uint64_t kTableMemory = std::uint64_t{1} << 29;  // beyond it the solution does without tables

Result<LevelIndex> level_for(const Job& job) {
  LevelIndex best(0);
  for (std::size_t i = 0; i < job.all.run.levels.size(); ++i) {
    const LevelIndex level(static_cast<std::uint8_t>(i));
    const auto range = slices_of(job, level);
    if (!range) return tl::unexpected(range.error());
    if (!*range) continue;
    best = level;
    if (text::minus((*range)->second.value, (*range)->first.value) < kManySlices) break;
  }
  return chosen_level(job, best);
}

constexpr std::size_t kTested = kCompute.value;  // states before it weigh nothing

// Shares of the slice, by leaf position. As `margay partition` and the daemon see it: Absent and Unknown are
// no states, but what a cell's weight is short of 1.
Result<Model> model_of(const Job& job, LevelIndex level, SliceIndex first, SliceIndex last) {
  Model m;
  std::vector<NodeIndex> parents;
  for (const auto& node : job.viewed.nodes()) {
    parents.push_back(parents.empty() ? partition::kNoParent : node.parent);
    m.node_names.push_back(node.path == "/" ? "" : node.name);
  }
  auto tree = partition::TreeShape::from_parents(parents);
  if (!tree) return tl::unexpected(tree.error());
  m.tree = std::move(*tree);
  std::vector<std::size_t> position(job.viewed.node_count(), 0);
  for (std::uint32_t p = 0; p < m.tree.leaf_count(); ++p)
    position[m.tree.leaf_node(partition::LeafPosition(p)).value] = p;
  m.slices = static_cast<std::size_t>(last.value - first.value) + 1;
  m.states = job.all.states.size() - kTested;
  m.first_slice = first;
  for (std::size_t x = kTested; x < job.all.states.size(); ++x)
    m.state_names.push_back(job.all.states[StateId(static_cast<std::uint16_t>(x))].name);
  const std::size_t leaves = m.leaves();
  if (m.slices > kMemory / sizeof(double) / std::max<std::size_t>(1, leaves * (m.states + 1)))
    return fail(ErrorCode::kLimit,
                "partition: " + std::to_string(m.slices) + " slices are too many; give a coarser --level");
  m.values.assign(m.slices * leaves * m.states, 0.0);
  m.weights.assign(m.slices * leaves, 0.0);
  const double slice = static_cast<double>(job.all.run.levels[level.value].value);
  const Status read = job.archive.scan_columns(level, first, last, [&](model::SliceColumn&& c) {
    const auto t = static_cast<std::size_t>(c.index.value - first.value);
    for (std::uint32_t l = 0; l < c.leaves() && l < job.viewed.leaf_count(); ++l) {
      const std::size_t at = position[job.viewed.node_of(LeafIndex(l)).value];
      double* const row = m.values.data() + (t * leaves + at) * m.states;
      double sum = 0;
      for (std::size_t x = kTested; x < c.states() && x - kTested < m.states; ++x)
        sum += row[x - kTested] = std::max(0.0, static_cast<double>(c.duration_ns(LeafIndex(l))[x]) / slice);
      m.weights[t * leaves + at] = std::min(1.0, sum);
    }
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return m;
}

}  // namespace

const Table& partition_columns() {
  using Kind = Column::Kind;
  static const Table table = {"partition",
                              {{"p", Kind::kShortReal},
                               {"resource", Kind::kText},
                               {"first", Kind::kInteger},
                               {"last", Kind::kInteger},
                               {"begin_s", Kind::kMoment},
                               {"end_s", Kind::kMoment},
                               {"gain", Kind::kShortReal},
                               {"loss", Kind::kShortReal},
                               {"mode", Kind::kText},
                               {"mode_share", Kind::kShortReal}},
                              {"resource, first"}};
  return table;
}

Status write_partition(const Job& job, const TakeRow& take) {
  const auto level = level_for(job);
  if (!level) return tl::unexpected(level.error());
  const auto range = slices_of(job, *level);
  if (!range) return tl::unexpected(range.error());
  if (!*range || job.viewed.leaf_count() == 0) return {};
  const auto model = model_of(job, *level, (*range)->first, (*range)->second);
  if (!model) return tl::unexpected(model.error());
  std::vector<partition::Column> columns(model->slices);
  const std::size_t size = model->leaves() * model->states;
  for (std::size_t t = 0; t < model->slices; ++t)
    columns[t] = {std::span(model->values).subspan(t * size, size),
                  std::span(model->weights).subspan(t * model->leaves(), model->leaves())};
  partition::Batch::Options options;
  options.tree = model->tree;
  options.states = model->states;
  options.first_slice = model->first_slice;
  options.memory_budget_bytes =
      std::clamp(partition::Batch::least_memory(options, model->slices), kTableMemory, kMemory);
  auto batch = partition::Batch::create(std::move(options), columns);
  if (!batch)
    return fail(batch.error(), "partition of " + std::to_string(model->slices) +
                                   " slices (a coarser --level or a shorter range takes less)");
  const auto found = batch->solve(noise_p(*model).p);
  if (!found) return tl::unexpected(found.error());
  const DurationNs slice = job.all.run.levels[level->value];
  const auto at = [&](std::int64_t s) { return TimeNs(text::times(s, slice.value)); };
  for (const partition::Part& part : found->parts) {
    const NodeIndex node = internal::node_of(*model, part);
    const auto mode = internal::largest_states(*model, part, 1);
    const Field share = mode.empty() ? Field(std::int64_t{0}) : Field(mode.front().share);
    const Row row = {found->p,
                     job.viewed[node].path,
                     part.first.value,
                     part.last.value,
                     at(part.first.value),
                     at(text::plus(part.last.value, 1)),
                     part.gain,
                     part.loss,
                     field_if(!mode.empty(), mode.empty() ? "" : model->state_label(mode.front().state)),
                     share};
    if (Status ok = take(row); !ok) return ok;
  }
  return {};
}

}  // namespace margay::daemon::exporting

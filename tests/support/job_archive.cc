#include "support/job_archive.h"

namespace margay::test {

store::RunMeta job_run(const JobPlan& plan) {
  store::RunMeta run;
  run.run = "r";
  run.levels = {plan.slice, plan.slice * 10};
  run.begin = slice_begin(kJobFirst, plan.slice);
  return run;
}

void add_job(const JobPlan& plan, store::Cut& cut) {
  const auto topology = job_topology(plan);
  for (std::uint16_t s = 3; s < topology->states.size(); ++s)
    cut.states.push_back({StateId(s), topology->states[s]});
  for (std::uint32_t l = 0; l < plan.ranks; ++l)
    cut.leaves.push_back(
        {LeafIndex(l),
         SourceId(l + 1),
         0,
         {{"host", "n" + std::to_string(l / plan.ranks_per_host)}, {"rank", std::to_string(l)}}});
}

void add_slices(std::span<const model::SliceColumn> slices, store::Cut& cut) {
  for (const auto& column : slices) cut.columns.push_back(std::make_shared<model::SliceColumn>(column));
  cut.closed = {{LevelIndex(0), slices.back().index}};
}

store::Cut job_cut(const JobPlan& plan, std::span<const model::SliceColumn> slices) {
  store::Cut cut;
  cut.sequence = 1;
  add_job(plan, cut);
  add_slices(slices, cut);
  return cut;
}

}  // namespace margay::test

// The ingest that a run's daemon had, and its slicer, to give the captured messages to once more.
#pragma once

#include "captured.h"
#include "margay/ingest/ingest.h"
#include "margay/slicer/slicer.h"

namespace margay::test {

struct IngestAgain {
  explicit IngestAgain(const store::RunMeta& run)
      : slicer({run.levels[0], 64, 64}), ingest(options_of(run), slicer, states) {
    slicer.start(run.begin);
  }
  // As it came then, but for what the ingest answers.
  void receive(const Message& m) {
    ingest.receive(m.body, m.from, m.at);
    ingest.tick(m.at);
    static_cast<void>(ingest.take_replies({}));
  }
  static ingest::Options options_of(const store::RunMeta& run) {
    ingest::Options options;
    options.run = run.run;
    options.boot_id = run.boot_id;
    options.clock_offset = run.wall_offset;
    options.lateness = run.lateness;
    options.silence_hold = run.levels[0] * run.silence_hold_slices;
    options.instance = 1;
    return options;
  }

  slicer::Slicer slicer;
  model::StateTable states;
  ingest::Ingest ingest;
};

}  // namespace margay::test

// The signals that ask a helper program of ours to end in order: what is under way is finished and told.
//
// Thread safety: asked_to_end() from any thread; take_end_signals() once, before there are others.
#pragma once

namespace margay::process {

// SIGTERM asks for an end, also where whoever started us has blocked it (`margay run` does, so that a job
// that ends at once finds us, too). So does SIGINT where `interrupt` says so; else it is the job's, and
// ignored. SIGPIPE is ignored: a broken connection is an error of the write.
void take_end_signals(bool interrupt);

// Whether one of them has come.
bool asked_to_end();

}  // namespace margay::process

// A place in a run as one line of text, to be sent to somebody: what is looked at, when, where and how.
//
//     margay://night#t=14.9-15.1&n=/node1&p=0.1&o=bytes&s=MPI_Wait,MPI_Send
//     margay:///data/night.margay#t=14.9-            an archive by its path; to the end
//     margay+tcp://head:7413#n=/node7                a daemon on another machine (the key is not part of it)
//
// Each part may be missing: t is a range of time since the run's begin, as --from and --to take it; n a node,
// p, policy and cut as they are given, o the operator, s states, r resources (terms, as --state and
// --resource take them), of=rest that shares are of the rest. Letters, digits and -._~/: stand for
// themselves; all others are %XX, as in every address.
//
// Thread safety: functions. Cost: linear in the text.
#pragma once

#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/command/picture_options.h"

namespace margay::command {

inline constexpr std::size_t kLongestLink = 8192;  // bytes

bool is_link(std::string_view what);
// Of what, connect, from, to, node, p, policy, measure, cuts, states, resources and of_the_rest; other
// options are the reader's own business.
std::string link_of(const PictureOptions& options);
// Errors: kInvalidArgument, a sentence that begins with the link and names the part.
Result<PictureOptions> options_of_link(std::string_view link);
// Where `options.what` is a link, the options are what it says, but for those that were given beside it.
// Errors: as options_of_link.
Status follow_link(PictureOptions& options);
// "14.9", "-2": exactly, with no more digits than that takes, as --from takes it.
std::string seconds_text(DurationNs duration);

}  // namespace margay::command

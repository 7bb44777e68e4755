// What a person keeps beside a run, as text: bookmarks, each a link and a note, some of them pinned, and
// filters, each a link. A line is
//
//     bookmark margay://#t=14.9-15.1&n=/node1/rank6 is stopped here
//     pin margay://#t=14.9-15.1&n=/node1&r=/node1/rank6,/node1/rank7
//     filter margay://#s=MPI_%2A&of=rest
//
// Links have no run in them: they are of the one that the text is kept for.
//
// Thread safety: values and pure functions. Cost: linear in the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/command/picture_options.h"

namespace margay::command {

struct RunNotes {
  static constexpr std::size_t kMostBookmarks = 128, kMostPins = 8, kMostFilters = 32;
  static constexpr std::size_t kLongestNote = 400;                   // bytes
  static constexpr std::size_t kLongestText = std::size_t{1} << 20;  // bytes

  struct Bookmark {
    PictureOptions of;    // from, to and node; resources: only these below it
    std::string note;     // one line
    bool pinned = false;  // shown with its numbers; kMostPins at most
    bool operator==(const Bookmark&) const = default;
  };
  std::vector<Bookmark> bookmarks;      // in the order they were made
  std::vector<PictureOptions> filters;  // states, resources and of_the_rest
  bool operator==(const RunNotes&) const = default;
};

// How many of its bookmarks are pinned.
std::size_t pins_of(const RunNotes& notes);
// Errors: kInvalidArgument, a sentence that names the line; kLimit.
Result<RunNotes> parse_run_notes(std::string_view text);
std::string text_of(const RunNotes& notes);
// A line for each bookmark, its link to `place` (what, connect) and its note: to be sent to somebody.
std::string bookmark_links(const RunNotes& notes, const PictureOptions& place);

}  // namespace margay::command

#include "margay/command/run_notes.h"

#include <algorithm>

#include "margay/base/text.h"
#include "margay/command/link.h"

namespace margay::command {
namespace {

constexpr std::string_view kBookmark = "bookmark ", kPin = "pin ", kFilter = "filter ";

tl::unexpected<Error> wrong_line(std::size_t line, const std::string& why) {
  return fail(ErrorCode::kInvalidArgument, "line " + std::to_string(line) + ": " + why);
}

// A note is one line, whatever was typed.
std::string one_line(const std::string& note) {
  return clean_utf8(note, RunNotes::kLongestNote);
}

}  // namespace

std::size_t pins_of(const RunNotes& notes) {
  return static_cast<std::size_t>(
      std::count_if(notes.bookmarks.begin(), notes.bookmarks.end(), [](const auto& b) { return b.pinned; }));
}

Result<RunNotes> parse_run_notes(std::string_view text) {
  if (text.size() > RunNotes::kLongestText)
    return fail(ErrorCode::kLimit, "longer than " + std::to_string(RunNotes::kLongestText) + " bytes");
  RunNotes out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.find('\0') != std::string_view::npos) return wrong_line(number, "has a byte of 0");
    const bool pinned = line.starts_with(kPin), bookmark = pinned || line.starts_with(kBookmark);
    if (!bookmark && !line.starts_with(kFilter))
      return wrong_line(number, "expected bookmark or filter, or pin");
    line.remove_prefix(pinned ? kPin.size() : bookmark ? kBookmark.size() : kFilter.size());
    const std::size_t blank = std::min(line.find(' '), line.size());
    auto of = options_of_link(line.substr(0, blank));
    if (!of) return wrong_line(number, of.error().message);
    if (!bookmark) {
      if (out.filters.size() == RunNotes::kMostFilters)
        return fail(ErrorCode::kLimit, "more than " + std::to_string(RunNotes::kMostFilters) + " filters");
      out.filters.push_back(std::move(*of));
      continue;
    }
    if (out.bookmarks.size() == RunNotes::kMostBookmarks)
      return fail(ErrorCode::kLimit, "more than " + std::to_string(RunNotes::kMostBookmarks) + " bookmarks");
    if (pinned && pins_of(out) == RunNotes::kMostPins)
      return fail(ErrorCode::kLimit, "more than " + std::to_string(RunNotes::kMostPins) + " pins");
    out.bookmarks.push_back(
        {std::move(*of), one_line(std::string(line.substr(std::min(blank + 1, line.size())))), pinned});
  }
  return out;
}

std::string text_of(const RunNotes& notes) {
  std::string out;
  for (const RunNotes::Bookmark& b : notes.bookmarks)
    out += std::string(b.pinned ? kPin : kBookmark) + link_of(b.of) + (b.note.empty() ? "" : " ") +
           one_line(b.note) + "\n";
  for (const PictureOptions& f : notes.filters) out += std::string(kFilter) + link_of(f) + "\n";
  return out;
}

std::string bookmark_links(const RunNotes& notes, const PictureOptions& place) {
  std::string out;
  for (const RunNotes::Bookmark& b : notes.bookmarks) {
    PictureOptions of = b.of;
    of.what = place.what, of.connect = place.connect;
    out += link_of(of) + (b.note.empty() ? "" : " ") + one_line(b.note) + "\n";
  }
  return out;
}

}  // namespace margay::command

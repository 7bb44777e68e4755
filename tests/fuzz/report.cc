// What a viewer receives: a report (PUB) or the answer to a request, drawn in every way there is.
//   input: u8 width, u8 height, u8 flags (1 a ControlReply, 2 ASCII, 4 help, 8 gone; colours above), message
#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "margay/scene/live_view.h"
#include "margay/terminal/live_lines.h"
#include "margay/terminal/render.h"
#include "margay/terminal/status.h"
#include "margay/wire/control.pb.h"
#include "proto_mutator.h"

namespace {

using namespace margay;

void check_plain(const std::string& text, bool lines) {
  for (const char c : text)
    FUZZ_CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || (lines && c == '\n'),
               "nothing a terminal obeys");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  terminal::View view;
  view.width = in.u8();
  view.height = in.u8();
  const unsigned flags = in.u8();
  view.unicode = (flags & 2u) == 0;
  view.help = (flags & 4u) != 0;
  view.link = (flags & 8u) != 0 ? terminal::Link::kGone : terminal::Link::kLive;
  view.colour = static_cast<terminal::Colour>(flags >> 6);
  const std::string_view bytes = in.rest();
  wire::Report report;
  if (flags & 1u) {
    wire::ControlReply reply;
    if (!reply.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return 0;
    view.notice = reply.error();
    report = std::move(*reply.mutable_report());
  } else if (!report.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return 0;
  }
  const TimeNs now(1'700'000'000'000'000'000);
  const terminal::Frame frame = terminal::draw(report, view, now);
  FUZZ_CHECK(frame.lines.size() == static_cast<std::size_t>(view.height), "as many lines as the screen has");
  if (view.colour == terminal::Colour::kNone)
    for (const std::string& line : frame.lines) check_plain(line, false);
  check_plain(terminal::status_text(report, 3600), true);
  FUZZ_CHECK(nlohmann::json::accept(terminal::status_json(report)), "the status is JSON");
  for (const scene::LivePart cuts : {scene::LivePart::kPicture, scene::LivePart::kTimeLine}) {
    const auto picture = scene::live_view_untrusted(report, cuts);
    FUZZ_CHECK(picture ? !picture->parts.empty() : !picture.error().message.empty(), "parts, or a sentence");
  }
  terminal::LiveLines lines(view.unicode);
  for (int i = 0; i < 2; ++i) {
    const auto told = lines.feed(report, TimeNs(i));
    FUZZ_CHECK(told.size() <= terminal::LiveLines::kMostLinesAFeed + 1, "lines are bounded");
    for (const std::string& line : told) check_plain(line, false);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  if (size > 2 && (data[2] & 1u) != 0)
    return margay::fuzz::mutate_prefixed<margay::wire::ControlReply>(data, size, most, seed, 3);
  return margay::fuzz::mutate_prefixed<margay::wire::Report>(data, size, most, seed, 3);
}

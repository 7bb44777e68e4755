// `--picture gantt`: the overview of a stretch so short that its single calls are drawn.
#include "picture_file.h"
#include "picture_kind.h"

namespace margay::viewer {
namespace {

QString lacks_calls(const Session& session) {
  if (!session.data().visits.empty()) return {};
  return QObject::tr(
             "--picture gantt: of this stretch there are no single calls, or more than %1: choose a "
             "shorter one (--from, --to, --node)")
      .arg(Session::kMostCalls);
}

}  // namespace

PictureKind picture_gantt() {
  PictureKind kind;
  kind.calls = Session::Calls::kAlways;
  kind.of_window = kind.parts = true;
  kind.lacks = lacks_calls;
  kind.paint = paint_all;
  kind.no_csv = "single calls as a table are what margay events --csv prints";
  return kind;
}

}  // namespace margay::viewer

// By what resources are put into a hierarchy, as a question says it (margay/model/view.h has the words).
//
// Thread safety: values and pure functions. Cost: linear in the text.
#pragma once

#include <string>

#include "margay/wire/events.pb.h"
#include "margay/wire/view.pb.h"

namespace margay::scene {

struct PointOfView {
  std::string levels;  // "host/core"; "": the usual one
  std::string groups;  // of the level "group"
  bool is_usual() const { return levels.empty(); }
  bool operator==(const PointOfView&) const = default;
};

inline void put_view(const PointOfView& view, wire::View& out) {
  out.set_levels(view.levels);
  out.set_groups(view.groups);
}
template <class Question>
void put_view(const PointOfView& view, Question& q) {
  if (!view.is_usual()) put_view(view, *q.mutable_view());
}
inline PointOfView view_of(const wire::View& view) {
  return {view.levels(), view.groups()};
}

}  // namespace margay::scene

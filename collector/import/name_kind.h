// Kinds of names, as the slicers number them. Private to the folder.
#pragma once

#include "margay/import/trace.h"
#include "margay/slicer/reslicer.h"

namespace margay::trace {

inline slicer::Reslicer::NameKind reslicer_kind(Name::Kind kind) {
  using To = slicer::Reslicer::NameKind;
  switch (kind) {
    case Name::Kind::kState:
      return To::kState;
    case Name::Kind::kVariable:
      return To::kVariable;
    case Name::Kind::kMark:
      return To::kMark;
    case Name::Kind::kLink:
      return To::kLink;
    case Name::Kind::kRegion:
      break;
  }
  return To::kOther;
}

}  // namespace margay::trace

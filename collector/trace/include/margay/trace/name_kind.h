// Kinds of names, as the wire and the slicers number them. Private to the folder.
#pragma once

#include "margay/slicer/reslicer.h"
#include "margay/trace/trace.h"
#include "margay/wire/names.pb.h"

namespace margay::trace {

inline Name::Kind kind_of_family(std::uint32_t family) {
  switch (family) {
    case wire::FAMILY_REGION:
      return Name::Kind::kRegion;
    case wire::FAMILY_VARIABLE:
      return Name::Kind::kVariable;
    case wire::FAMILY_MARK:
      return Name::Kind::kMark;
    case wire::FAMILY_LINK:
      return Name::Kind::kLink;
    default:
      return Name::Kind::kState;
  }
}

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

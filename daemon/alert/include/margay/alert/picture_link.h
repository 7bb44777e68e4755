// The line of text that opens an alert's picture: margay:///data/night.margay#t=14.1-16.8
// (margay/command/link.h), for whoever is told of it.
//
// Thread safety: pure. Cost: linear in the path.
#pragma once

#include <string>

#include "margay/alert/alert.h"

namespace margay::alert {

// What pictures of a run are made from.
struct PicturePlace {
  std::string archive;  // an absolute path; "": there is none, nor a link
  TimeNs begin{};       // of the run, that a link's times are counted from
};

// Of an archive at this path, in the words that a receiver in any other folder can use.
PicturePlace picture_place(const std::string& archive, TimeNs run_begin);

// All resources, for as long before and behind the alert as it lasts, as far as that is known, but a second
// at least; "" without a place.
std::string picture_link(const Alert& alert, const PicturePlace& place);

}  // namespace margay::alert

// What a public key may do, where clients share one. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "margay/transport/keys.h"

namespace margay::transport {

struct Holder {
  std::string name;  // the first, where it has several
  Role role;
};
// By public key. One that stands under several names may do what each of them may, and no more: of viewer and
// operator viewer; of source and another nothing, and then it is left out. Both go to `problems`, with the
// names.
std::map<std::string, Holder> holders_of(const std::vector<Authorized>& authorized,
                                         std::vector<std::string>& problems);

}  // namespace margay::transport

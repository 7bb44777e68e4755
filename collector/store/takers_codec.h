// Who had the CPU (margay/model/taker.h), as bytes: part of a slice's header. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "margay/model/taker.h"

namespace margay::store {

inline constexpr std::size_t kLongestTakers = 1u << 16;  // bytes; all that a slice holds fit

// Replaces `out`; names are cut to what a command may have.
void encode_takers(const std::vector<model::Taker>& takers, std::string& out);
// False if the bytes are not what encode_takers() writes.
bool decode_takers_untrusted(std::string_view bytes, std::vector<model::Taker>& takers);

}  // namespace margay::store

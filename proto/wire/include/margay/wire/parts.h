// How many parts a message of this protocol has, before it is parsed: each becomes an object of a hundred
// bytes and more, and may take two on the wire.
#pragma once

#include <cstddef>
#include <string_view>

namespace google::protobuf {
class Descriptor;
}

namespace margay::wire {

// Messages inside of it, at any depth; stops counting behind `most`. Bytes that are no message end the count:
// who parses them finds out. Cost: O(fields), no allocation.
std::size_t count_parts_untrusted(std::string_view bytes, const google::protobuf::Descriptor& type,
                                  std::size_t most);

}  // namespace margay::wire

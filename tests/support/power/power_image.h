// A directory as it would be after a loss of power, from the book of libmargay-power.so (power.c).
//
// The disk is a strict one: a file has the bytes that an fsync of it confirmed, and a name is there if its
// directory, and each above it, was synced after the name was made; a name that was given to another file
// stands for the old one until then. What was deleted is gone at once. Of what nobody confirmed a disk may
// have some all the same: with a seed, a file also has a random part of it, or zeros in its place.
//
// Errors: a sentence. Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace margay::test {

// `root`: of the program, which has ended. `to`: must not exist. "": done.
std::string make_power_image(const std::string& book, const std::string& root, const std::string& to,
                             std::mt19937_64* unconfirmed = nullptr);

}  // namespace margay::test

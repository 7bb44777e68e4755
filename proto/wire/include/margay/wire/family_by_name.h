// What a state is about, by the words of its name, where its source does not say: GStreamer's log, LTTng,
// Paje traces and annotated programs have names only, and would all be of one colour.
//
// A name is read up to its first '(' (a function's arguments say nothing of what it does) and divided where
// small letters are followed by capitals, and at whatever is no letter: "MPI_File_read", "waitForMutex",
// "std::mutex::lock", "pread64". Capitals count as small. A word is known by its stem, with or without an
// ending such as -s, -er, -ed, -ing: "decode", "decoder" and "decoding" are one. The table is in
// family_by_name.cc.
//
// Of several known words the one of the kind that explains the most time wins: what waits counts as waiting
// whatever it waits for ("decoder_wait_for_input"), then what has nothing to do, what several do together,
// what two do, files and devices, begin and end, and last work, which everything is about somehow
// ("read_and_parse" is reading). Words that mean too much are in none: "get", "handle", "load", "select".
//
// Thread safety: pure. Cost: linear in the name, and logarithmic in the table for each word.
#pragma once

#include <string_view>

#include "margay/wire/names.pb.h"

namespace margay::wire {

// Of a state or region of that name, of which its source says `said`: FAMILY_OTHER and FAMILY_REGION say
// nothing, and become what the name says; FAMILY_OTHER where it has no known word. Any other is right as it
// is. Any bytes may be in a name; those beyond ASCII are part of no known word.
StateFamily family_by_name(std::string_view name, StateFamily said);

}  // namespace margay::wire

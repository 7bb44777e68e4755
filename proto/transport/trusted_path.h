// Files and directories that no other user can have made, changed or put in the place of ours, as ssh's
// StrictModes sees it: each directory from / down, and each symbolic link on the way, belongs to its owner or
// to root and cannot be written by anybody else; a directory that everybody may write is accepted where it is
// sticky (/tmp), for nobody can replace in it what he does not own.
//
// The path is walked with openat(), one name at a time, and what is opened is what was checked: nothing can
// be swapped in between. Thread safety: all functions. Cost: three system calls for each name of the path.
#pragma once

#include <sys/types.h>

#include <string>

#include "gate_socket.h"
#include "margay/base/result.h"

namespace margay::transport {

// `flags` as for open(), without O_CREAT; what stands at the end may be a symbolic link as well.
// Errors: kNotFound, kIo, kInvalidArgument (somebody else owns or may write a part of it: which, and what to
// type).
Result<Descriptor> open_trusted(const std::string& path, int flags, uid_t owner);

// One directory, without those above it: `owner`'s, mode 0700 or less, no symbolic link. Errors: kNotFound,
// kIo, kInvalidArgument.
Result<Descriptor> open_private_directory(const std::string& path, uid_t owner);
// The same below an open directory; `path` is what errors call it.
Result<Descriptor> open_private_directory_at(int above, const std::string& name, uid_t owner,
                                             const std::string& path);

// "alice (1000)".
std::string user_text(uid_t uid);

}  // namespace margay::transport

// Whose a run's directory is. A process claims it with a lock on RUN/lock (of the open file description, so
// that children go on holding it); the kernel gives the lock back when the last of them is gone, however they
// ended. RUN/owner.pid says in words who it was.
//
// A new directory is made under another name, with its lock held, and renamed into place: no other process
// ever sees it without. Where the file system has no locks, pid and start time in owner.pid decide.
//
// Thread safety: all functions may be called from any thread. Cost: some system calls a directory.
#pragma once

#include <string>

#include "margay/base/result.h"

namespace margay::transport::claim {

enum class Hold {
  kNobody,   // left behind, or not there
  kOthers,   // by a process that lives, which may be an ancestor of this one
  kThisOne,  // by this process itself
};
Hold look(const std::string& path);
// Who holds it, or did: "process 123, since 2026-11-24 16:15:44"; "another process" if nobody says.
std::string holder(const std::string& path);

// Makes `path` (0700) with rings/ and claims it. Errors: kUnavailable (it is there), kIo.
Status make(const std::string& path);
// Claims what is there and held by nobody, with what lies in it. Errors: kUnavailable, kNotFound, kIo.
Status take_over(const std::string& path);
// Takes away what is there and held by nobody, if no process that a ring is of lives: a job whose `margay
// run` was killed goes on. False if it was left.
bool clear(const std::string& path);
// What holds the claim; -1 if this process has none.
int descriptor(const std::string& path);
void give_up(const std::string& path);

}  // namespace margay::transport::claim

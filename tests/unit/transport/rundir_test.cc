// Where runs meet: nothing that another user made is ever used, and nobody can keep a user from having a
// place.
#include "margay/transport/rundir.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "../../support/temporary_folder.h"
#include "margay/transport/local_user.h"
#include "margay/transport/transport.h"

namespace margay::transport {
namespace rundir_test {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Users that own nothing on this machine.
constexpr uid_t kUser = 54321, kSquatter = 54322;

const std::string kRun = "rundir-test-" + std::to_string(getpid());

// As another user, in a process of its own: "" if `f` found nothing wrong.
std::string as_user(uid_t uid, const std::function<std::string()>& f) {
  int said[2];
  if (pipe(said) != 0) return "no pipe";
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string wrong = setgid(uid) == 0 && setuid(uid) == 0 ? f() : "cannot be that user";
    static_cast<void>(!write(said[1], wrong.data(), wrong.size()));
    _exit(0);
  }
  close(said[1]);
  std::string wrong;
  char block[1024];
  for (ssize_t n; (n = read(said[0], block, sizeof block)) > 0;)
    wrong.append(block, static_cast<std::size_t>(n));
  close(said[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? wrong : "it crashed";
}

class Place : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"MARGAY_RUNTIME_DIR", "XDG_RUNTIME_DIR"}) {
      const char* text = std::getenv(name);
      before_.push_back(text != nullptr ? std::optional<std::string>(text) : std::nullopt);
      unsetenv(name);
    }
  }
  void TearDown() override {
    std::size_t i = 0;
    for (const char* name : {"MARGAY_RUNTIME_DIR", "XDG_RUNTIME_DIR"})
      if (const auto& text = before_[i++])
        setenv(name, text->c_str(), 1);
      else
        unsetenv(name);
    rmdir(usual(geteuid()).c_str());  // where nobody else uses it
  }
  static std::string usual(uid_t uid) { return "/dev/shm/margay-" + std::to_string(uid); }

  const test::TemporaryFolder folder_{"/tmp"};
  const std::string& base_ = folder_.path;
  std::vector<std::optional<std::string>> before_;
};

TEST_F(Place, TheSessionsDirectoryComesFirstAndTheRingsLieInSharedMemory) {
  setenv("XDG_RUNTIME_DIR", base_.c_str(), 1);
  const auto dir = make_run_directory(kRun);
  ASSERT_TRUE(dir) << dir.error().message;
  EXPECT_EQ(dir->path, base_ + "/margay/" + kRun);
  EXPECT_EQ(shared_memory_of(*dir), usual(geteuid()) + "/." + kRun);
  EXPECT_TRUE(fs::is_directory(shared_memory_of(*dir) + "/rings"));
  std::ofstream(dir->rings() + "/p1") << "x";
  EXPECT_TRUE(fs::exists(shared_memory_of(*dir) + "/rings/p1"));
  const auto again = make_run_directory(kRun);  // as the daemon does, after its owner
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->path, dir->path);
  EXPECT_TRUE(fs::exists(again->rings() + "/p1"));
  EXPECT_THAT(list_runs(), Contains(kRun));
  const auto open = open_run_directory(kRun);
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_EQ(open->path, dir->path);
  EXPECT_TRUE(check_run_directory(*open));
  remove_run_directory(*dir);
  EXPECT_FALSE(fs::exists(dir->path));
  EXPECT_FALSE(fs::exists(usual(geteuid()) + "/." + kRun));
  EXPECT_EQ(open_run_directory(kRun).error().code, ErrorCode::kNotFound);
}

TEST_F(Place, ARunIsFoundFromAShellWithASessionAndFromOneWithout) {
  const auto dir = make_run_directory(kRun);
  ASSERT_TRUE(dir) << dir.error().message;
  EXPECT_EQ(dir->path, usual(geteuid()) + "/" + kRun);
  EXPECT_EQ(shared_memory_of(*dir), dir->path);
  setenv("XDG_RUNTIME_DIR", base_.c_str(), 1);
  const auto found = open_run_directory(kRun);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->path, dir->path);
  EXPECT_EQ(make_run_directory(kRun)->path, dir->path);
  EXPECT_THAT(list_runs(), Contains(kRun));
  remove_run_directory(*dir);
}

TEST_F(Place, ASessionsDirectoryThatIsNotPrivateOrTooLongIsNotUsed) {
  setenv("XDG_RUNTIME_DIR", base_.c_str(), 1);
  chmod(base_.c_str(), 0755);
  EXPECT_EQ(user_directory().value_or(""), usual(geteuid()));
  chmod(base_.c_str(), 0700);
  EXPECT_EQ(user_directory().value_or(""), base_ + "/margay");
  const std::string link = base_ + "/link", long_one = base_ + "/" + std::string(80, 'x');
  fs::create_directory_symlink(base_, link);
  setenv("XDG_RUNTIME_DIR", link.c_str(), 1);
  EXPECT_EQ(user_directory().value_or(""), usual(geteuid()));
  mkdir(long_one.c_str(), 0700);
  setenv("XDG_RUNTIME_DIR", long_one.c_str(), 1);
  const auto dir = make_run_directory(kRun);
  ASSERT_TRUE(dir) << dir.error().message;
  EXPECT_EQ(dir->path, usual(geteuid()) + "/" + kRun);
  remove_run_directory(*dir);
}

TEST_F(Place, WhatTheUserChoseIsTakenOrRefusedWithAReason) {
  setenv("MARGAY_RUNTIME_DIR", base_.c_str(), 1);
  const std::string own = base_ + "/margay-" + std::to_string(geteuid());
  EXPECT_EQ(user_directory().value_or(""), own);
  chmod(own.c_str(), 0750);
  auto refused = user_directory();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(own + ": others can enter it"));
  EXPECT_THAT(list_runs(), IsEmpty());
  chmod(own.c_str(), 0700);
  chmod(base_.c_str(), 0777);  // anybody could put another one in its place
  refused = user_directory();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("type: chmod go-w " + base_));
  ASSERT_FALSE(make_run_directory(kRun));
  chmod(base_.c_str(), 01777);
  EXPECT_TRUE(user_directory());
  setenv("MARGAY_RUNTIME_DIR", (base_ + "/none").c_str(), 1);
  ASSERT_FALSE(user_directory());
  setenv("MARGAY_RUNTIME_DIR", base_.c_str(), 1);
  for (const char* name : {"", ".", "..", "a/b", "a\nb", "a\033[2J"})
    EXPECT_FALSE(make_run_directory(name)) << name;
}

// What another user left under the name that ours has by default.
class Squatted : public Place {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "takes root, to be two other users";
    Place::SetUp();
    // One at a time: what these users have in shared memory has the same name for all of them.
    turn_ = open("/tmp/margay-squatted-test.lock", O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    ASSERT_EQ(flock(turn_, LOCK_EX), 0);
    clean();
  }
  void TearDown() override {
    if (geteuid() != 0) return;
    clean();
    close(turn_);
    Place::TearDown();
  }
  static void clean() {
    std::error_code ec;
    std::vector<fs::path> found;
    for (const auto& e : fs::directory_iterator("/dev/shm"))
      if (e.path().string().starts_with(usual(kUser))) found.push_back(e.path());
    for (const auto& p : found) fs::remove_all(p, ec);
  }
  // As kUser: a place is found all the same, and nothing of the squatter's is seen.
  static std::string look() {
    if (const auto runs = list_runs(); !runs.empty()) return "it lists " + runs.front();
    if (open_run_directory("night")) return "it opens a run of the squatter's";
    const auto dir = make_run_directory("mine");
    if (!dir) return dir.error().message;
    if (!dir->path.starts_with(usual(kUser) + ".")) return "it uses " + dir->path;
    if (const auto again = make_run_directory("other");
        !again || fs::path(again->path).parent_path() != fs::path(dir->path).parent_path())
      return "the second run has another place";
    if (list_runs() != std::vector<std::string>{"other", "mine"}) return "its own runs are not listed";
    if (const auto open = open_run_directory("mine"); !open || open->path != dir->path)
      return "mine is not found";
    return "";
  }
  int turn_ = -1;
};

TEST_F(Squatted, ByADirectory) {
  ASSERT_EQ(as_user(kSquatter,
                    [] {
                      umask(0);
                      for (const std::string& path :
                           {usual(kUser), usual(kUser) + "/night", usual(kUser) + "/night/rings",
                            usual(kUser) + "/x';touch pwned;'", usual(kUser) + ".AAAAAA"})
                        if (mkdir(path.c_str(), 0777) != 0) return path;
                      return std::string();
                    }),
            "");
  EXPECT_EQ(as_user(kUser, look), "");
}

TEST_F(Squatted, ByALinkToWhatIsTheUsersOwn) {
  const std::string own = base_ + "/own";
  chmod(base_.c_str(), 0755);
  ASSERT_EQ(mkdir(own.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((own + "/night").c_str(), 0700), 0);
  for (const std::string& path : {own, own + "/night"}) ASSERT_EQ(chown(path.c_str(), kUser, kUser), 0);
  ASSERT_EQ(as_user(kSquatter,
                    [&] {
                      for (const std::string& path : {usual(kUser), usual(kUser) + ".AAAAAA"})
                        if (symlink(own.c_str(), path.c_str()) != 0) return path;
                      return std::string();
                    }),
            "");
  EXPECT_EQ(as_user(kUser, look), "");
}

TEST_F(Squatted, ByAFile) {
  ASSERT_EQ(as_user(kSquatter,
                    [] {
                      std::ofstream(usual(kUser)) << "x";
                      return std::string();
                    }),
            "");
  EXPECT_EQ(as_user(kUser, look), "");
}

// Another user's daemon on a socket that anybody may connect to.
class OthersDaemon : public Place {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "takes root, to be another user";
    Place::SetUp();
    chmod(base_.c_str(), 0755);
    directory_ = base_ + "/run";
    ASSERT_EQ(mkdir(directory_.c_str(), 0755), 0);
    ASSERT_EQ(chown(directory_.c_str(), kUser, kUser), 0);
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      if (setgid(kUser) != 0 || setuid(kUser) != 0) _exit(1);
      umask(0);
      zmq::context_t context(1);
      auto server = Socket::bind(context, zmq::socket_type::router, endpoint());
      if (!server || write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ready[1]);
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1) << "the daemon does not come up";
    close(ready[0]);
  }
  void TearDown() override {
    if (geteuid() != 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    EXPECT_TRUE(look_at_runs_of("0"));
    Place::TearDown();
  }
  std::string endpoint() const { return "ipc://" + directory_ + "/control.ipc"; }
  // What a ZeroMQ server says first to whom it takes in; "" if it closes instead.
  std::string greeting() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    (directory_ + "/control.ipc").copy(a.sun_path, sizeof a.sun_path - 1);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) return "no connection";
    char byte = 0;
    const ssize_t n = read(fd, &byte, 1);
    close(fd);
    return n == 1 ? "greeting" : "";
  }

  std::string directory_;
  pid_t pid_ = -1;
};

TEST_F(OthersDaemon, TakesInItsOwnUserAndRootAndNobodyElse) {
  EXPECT_EQ(as_user(kUser, [&] { return greeting(); }), "greeting");
  EXPECT_EQ(greeting(), "greeting");
  EXPECT_EQ(as_user(kSquatter, [&] { return greeting(); }), "");
}

TEST_F(OthersDaemon, IsRefusedByClientsUnlessTheyAreTold) {
  zmq::context_t context(1);
  const auto refused = Socket::connect(context, zmq::socket_type::dealer, endpoint());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("belongs to user 54321"));
  EXPECT_THAT(refused.error().message, HasSubstr("add --trust-user 54321"));
  EXPECT_FALSE(check_run_directory(RunDirectory{directory_}));
  // In a directory of ours the kernel says who listens.
  ASSERT_EQ(chown(directory_.c_str(), 0, 0), 0);
  const auto listener = Socket::connect(context, zmq::socket_type::dealer, endpoint());
  ASSERT_FALSE(listener);
  EXPECT_THAT(listener.error().message, HasSubstr("what answers there runs as user 54321"));
  ASSERT_EQ(chown(directory_.c_str(), kUser, kUser), 0);
  ASSERT_TRUE(look_at_runs_of("54321"));
  EXPECT_EQ(trusted_user(), kUser);
  EXPECT_TRUE(Socket::connect(context, zmq::socket_type::dealer, endpoint()));
  EXPECT_TRUE(check_run_directory(RunDirectory{directory_}));
  EXPECT_FALSE(look_at_runs_of("no such user"));
}

}  // namespace rundir_test
}  // namespace margay::transport

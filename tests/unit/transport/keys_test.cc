// Key files: what `margay keys` writes is read back; what is wrong is told with file and line; secrets are
// private.
#include "margay/transport/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "../../support/temporary_folder.h"
#include "margay/transport/key_holders.h"

namespace margay::transport {
namespace keys_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Keys : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(init_keys(dir_)); }
  std::string file(const std::string& name) const { return base_ / name; }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  static unsigned mode_of(const std::string& path) {
    struct stat st {};
    return stat(path.c_str(), &st) == 0 ? st.st_mode & 0777u : 0;
  }
  std::vector<Authorized> clients() {
    std::vector<std::string> problems;
    auto list = load_authorized(dir_, problems);
    EXPECT_TRUE(list) << list.error().message;
    EXPECT_THAT(problems, IsEmpty());
    return list ? *list : std::vector<Authorized>();
  }

  const test::TemporaryFolder base_{"/tmp"};
  const std::string dir_ = base_ / "keys";
};

TEST_F(Keys, WhatIsWrittenIsReadBack) {
  ASSERT_TRUE(add_client(dir_, "node-7", Role::kSource, file("a"), "2026-01-02T03:04:05Z"));
  ASSERT_TRUE(add_client(dir_, "eve", Role::kViewer, file("b"), "2026-01-02T03:04:05Z"));
  const auto server = load_server_key(dir_);
  ASSERT_TRUE(server) << server.error().message;
  const auto key = load_client_key(file("a"));
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->name, "node-7");
  EXPECT_EQ(key->role, Role::kSource);
  EXPECT_THAT(key->servers, ElementsAre(server->public_key));
  const auto list = clients();
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].name, "eve");
  EXPECT_EQ(list[0].role, Role::kViewer);
  EXPECT_EQ(list[1].created, "2026-01-02T03:04:05Z");
  EXPECT_THAT(list[1].keys, ElementsAre(key->pair.public_key));
  EXPECT_EQ(text_of(dir_ + "/server.pub"), server->public_key + "\n");
  EXPECT_THAT(fingerprint(server->public_key), testing::MatchesRegex("([0-9a-f]{4}-){4}[0-9a-f]{4}"));
}

TEST_F(Keys, SecretsAreForTheirOwnerAlone) {
  ASSERT_TRUE(add_client(dir_, "a", Role::kSource, file("a"), "now"));
  EXPECT_EQ(mode_of(dir_), 0700u);
  EXPECT_EQ(mode_of(dir_ + "/server.key"), 0600u);
  EXPECT_EQ(mode_of(file("a")), 0600u);
  chmod(file("a").c_str(), 0640);
  const auto key = load_client_key(file("a"));
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, HasSubstr("type: chmod 600 " + file("a")));
  chmod((dir_ + "/server.key").c_str(), 0604);
  EXPECT_FALSE(load_server_key(dir_));
  // Who may write the directory decides who comes in.
  chmod((dir_ + "/authorized").c_str(), 0777);
  std::vector<std::string> problems;
  EXPECT_FALSE(load_authorized(dir_, problems));
}

// As ssh's StrictModes: who may write a directory above may put another in its place.
TEST_F(Keys, WhatLiesAboveDecidesAsWell) {
  ASSERT_TRUE(add_client(dir_, "a", Role::kSource, file("a"), "now"));
  std::vector<std::string> problems;
  for (const unsigned mode : {0770u, 0702u, 0777u}) {
    chmod(base_.path.c_str(), mode);
    for (const std::string& message :
         {load_server_key(dir_).error().message, load_client_key(file("a")).error().message,
          load_authorized(dir_, problems).error().message})
      EXPECT_THAT(message, HasSubstr(base_.path + ": others can write it; type: chmod go-w " + base_.path));
    EXPECT_FALSE(init_keys(base_ / "more"));
  }
  for (const unsigned mode : {01777u, 0755u, 0700u}) {
    chmod(base_.path.c_str(), mode);
    EXPECT_TRUE(load_server_key(dir_)) << mode;
    EXPECT_TRUE(load_client_key(file("a"))) << mode;
  }
  // By links as well, wherever they lead.
  const std::string open_place = base_ / "open";
  std::filesystem::create_directory(open_place);
  std::filesystem::create_directory_symlink(dir_, open_place + "/keys");
  EXPECT_TRUE(load_server_key(open_place + "/keys"));
  EXPECT_TRUE(load_server_key(open_place + "/../keys"));
  chmod(open_place.c_str(), 0777);
  EXPECT_FALSE(load_server_key(open_place + "/keys"));
  std::filesystem::create_symlink("loop", base_ / "loop");
  EXPECT_FALSE(load_client_key(base_ / "loop"));
}

TEST_F(Keys, WhatBelongsToAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  constexpr uid_t kOther = 54321;
  ASSERT_TRUE(add_client(dir_, "a", Role::kSource, file("a"), "now"));
  std::vector<std::string> problems;
  for (const std::string& path : {base_.path, dir_}) {
    ASSERT_EQ(chown(path.c_str(), kOther, kOther), 0);
    const auto key = load_server_key(dir_);
    ASSERT_FALSE(key) << path;
    EXPECT_THAT(key.error().message, HasSubstr(path + ": belongs to user 54321"));
    EXPECT_FALSE(load_authorized(dir_, problems));
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
  ASSERT_EQ(chown((dir_ + "/authorized/a").c_str(), kOther, kOther), 0);
  const auto list = load_authorized(dir_, problems);
  ASSERT_TRUE(list);
  EXPECT_THAT(*list, IsEmpty());
  EXPECT_THAT(problems, ElementsAre(HasSubstr("belongs to user 54321")));
  ASSERT_EQ(chown(file("a").c_str(), kOther, kOther), 0);
  EXPECT_FALSE(load_client_key(file("a")));
}

TEST_F(Keys, OneKeyUnderSeveralNamesMayDoTheLeast) {
  const auto of = [](const std::vector<Role>& roles, std::vector<std::string>& problems) {
    std::vector<Authorized> all;
    for (const Role role : roles)
      all.push_back({std::string(1, static_cast<char>('a' + all.size())), role, "now", {"K"}});
    all.push_back({"z", Role::kOperator, "now", {"L"}});
    const auto holders = holders_of(all, problems);
    EXPECT_EQ(holders.at("L").role, Role::kOperator);
    const auto it = holders.find("K");
    return it == holders.end() ? std::nullopt : std::optional<Role>(it->second.role);
  };
  using R = Role;
  std::vector<std::string> problems;
  EXPECT_EQ(of({R::kOperator}, problems), R::kOperator);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(of({R::kViewer, R::kViewer, R::kOperator}, problems), R::kViewer);
  EXPECT_THAT(
      problems,
      ElementsAre(HasSubstr("has the names 'a', 'b', 'c': it may do what each of them may, as a viewer")));
  EXPECT_EQ(of({R::kOperator, R::kOperator, R::kOperator}, problems), R::kOperator);
  // In any order and number: nothing is what all of them may.
  for (const auto& roles : {std::vector{R::kSource, R::kViewer},
                            {R::kViewer, R::kOperator, R::kSource},
                            {R::kSource, R::kOperator, R::kSource},
                            {R::kOperator, R::kSource, R::kSource, R::kOperator}})
    EXPECT_EQ(of(roles, problems), std::nullopt);
  EXPECT_THAT(problems.back(), HasSubstr("it may do nothing"));
}

TEST_F(Keys, NothingIsOverwritten) {
  const std::string before = text_of(dir_ + "/server.key");
  EXPECT_FALSE(init_keys(dir_));
  EXPECT_EQ(text_of(dir_ + "/server.key"), before);
  std::ofstream(file("a")) << "mine";
  EXPECT_FALSE(add_client(dir_, "a", Role::kSource, file("a"), "now"));
  EXPECT_EQ(text_of(file("a")), "mine");
  EXPECT_THAT(clients(), IsEmpty());  // a key that nobody holds authorises nobody
  ASSERT_TRUE(add_client(dir_, "a", Role::kSource, file("b"), "now"));
  EXPECT_FALSE(add_client(dir_, "a", Role::kOperator, file("c"), "now"));
  for (const char* name : {"", ".", "..", "a/b", "-x", "a b", "\xc3\xa4"})
    EXPECT_FALSE(add_client(dir_, name, Role::kSource, file("d"), "now")) << name;
}

TEST_F(Keys, ErrorsNameFileAndLine) {
  ASSERT_TRUE(add_client(dir_, "a", Role::kSource, file("a"), "now"));
  const std::string good = text_of(file("a"));
  const auto error = [](const std::string& text) {
    const auto key = parse_client_key_untrusted(text, "F");
    return key ? std::string("fine") : key.error().message;
  };
  EXPECT_EQ(error(good), "fine");
  EXPECT_THAT(error(""), HasSubstr("F:1: expected 'margay-client-key 1'"));
  EXPECT_THAT(error("margay-server-key 1\n"), HasSubstr("F:1: expected 'margay-client-key 1'"));
  EXPECT_THAT(error("margay-client-key 2\n"), HasSubstr("F:1: of another version"));
  EXPECT_THAT(error(good + "colour blue\n"), HasSubstr("F:8: unknown field 'colour'"));
  EXPECT_THAT(error(good + "role viewer\n"), HasSubstr("F:8: 'role' stands here twice"));
  EXPECT_THAT(error("margay-client-key 1\nname a\nrole king\n"), HasSubstr("ends without"));
  EXPECT_THAT(error(std::string(good).replace(good.find("role source"), 11, "role king")),
              HasSubstr("F:4: a role is source, viewer or operator"));
  EXPECT_THAT(error(std::string(good).replace(good.find("secret "), 8, "secret ~")),
              HasSubstr("F:6: this is no key"));
  EXPECT_THAT(error(good.substr(0, good.find("server "))), HasSubstr("ends without 'server'"));
  const auto other = parse_client_key_untrusted(good, "F");
  ASSERT_TRUE(add_client(dir_, "b", Role::kSource, file("b"), "now"));
  const auto b = load_client_key(file("b"));
  EXPECT_THAT(error(std::string(good).replace(good.find("secret ") + 7, 40, b->pair.secret_key)),
              HasSubstr("are no pair"));
  EXPECT_THAT(error(std::string(100'000, 'x')), HasSubstr("too long"));
  // Every prefix and every changed byte: an answer, never a crash.
  for (std::size_t i = 0; i < good.size(); ++i) {
    error(good.substr(0, i));
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0x81);
    error(changed);
    static_cast<void>(parse_server_key_untrusted(changed, "F"));
    static_cast<void>(parse_authorized_untrusted(changed, "F"));
  }
}

TEST_F(Keys, ABadFileKeepsItsClientOutsideAndNobodyElse) {
  ASSERT_TRUE(add_client(dir_, "good", Role::kSource, file("a"), "now"));
  std::ofstream(dir_ + "/authorized/bad") << "nonsense\n";
  std::filesystem::copy_file(dir_ + "/authorized/good", dir_ + "/authorized/copy");
  std::vector<std::string> problems;
  const auto list = load_authorized(dir_, problems);
  ASSERT_TRUE(list);
  ASSERT_THAT(*list, SizeIs(1));
  EXPECT_EQ((*list)[0].name, "good");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("authorized/bad:1"), HasSubstr("speaks of 'good'")));
}

TEST_F(Keys, AClientHasTwoKeysWhileItIsChangedOver) {
  ASSERT_TRUE(add_client(dir_, "a", Role::kOperator, file("1"), "now"));
  ASSERT_TRUE(rotate_client(dir_, "a", file("2")));
  EXPECT_FALSE(rotate_client(dir_, "a", file("3")));
  EXPECT_FALSE(std::filesystem::exists(file("3")));
  const auto first = load_client_key(file("1")), second = load_client_key(file("2"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->role, Role::kOperator);
  EXPECT_THAT(clients()[0].keys, ElementsAre(first->pair.public_key, second->pair.public_key));
  ASSERT_TRUE(retire_client(dir_, "a"));
  EXPECT_THAT(clients()[0].keys, ElementsAre(second->pair.public_key));
  EXPECT_FALSE(retire_client(dir_, "a"));
  ASSERT_TRUE(revoke_client(dir_, "a"));
  EXPECT_THAT(clients(), IsEmpty());
  EXPECT_FALSE(revoke_client(dir_, "a"));
}

TEST_F(Keys, TheDaemonsNextKeyIsKnownBeforeItIsUsed) {
  ASSERT_TRUE(add_client(dir_, "old", Role::kSource, file("old"), "now"));
  EXPECT_FALSE(finish_server_rotation(dir_));
  const auto before = load_server_key(dir_);
  const auto next = begin_server_rotation(dir_);
  ASSERT_TRUE(before && next);
  EXPECT_EQ(*begin_server_rotation(dir_), *next);
  ASSERT_TRUE(add_client(dir_, "new", Role::kSource, file("new"), "now"));
  EXPECT_THAT(load_client_key(file("new"))->servers, ElementsAre(before->public_key, *next));
  ASSERT_TRUE(trust_server(file("old"), *next));
  ASSERT_TRUE(trust_server(file("old"), *next));
  EXPECT_THAT(load_client_key(file("old"))->servers, ElementsAre(before->public_key, *next));
  EXPECT_EQ(load_server_key(dir_)->public_key, before->public_key);
  ASSERT_TRUE(finish_server_rotation(dir_));
  EXPECT_EQ(load_server_key(dir_)->public_key, *next);
  EXPECT_EQ(text_of(dir_ + "/server.pub"), *next + "\n");
}

TEST_F(Keys, TheSignatureTellsOfEveryChange) {
  std::string last = signature_of(dir_);
  const auto changed = [&] { return std::exchange(last, signature_of(dir_)) != last; };
  EXPECT_FALSE(changed());
  ASSERT_TRUE(add_client(dir_, "a", Role::kSource, file("1"), "now"));
  EXPECT_TRUE(changed());
  ASSERT_TRUE(rotate_client(dir_, "a", file("2")));
  EXPECT_TRUE(changed());
  ASSERT_TRUE(revoke_client(dir_, "a"));
  EXPECT_TRUE(changed());
  EXPECT_FALSE(changed());
}

}  // namespace keys_test
}  // namespace margay::transport

// trainctl context, and which site is meant by whom.
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "client/configuration.h"
#include "client/exit_code.h"
#include "client/show/output.h"
#include "common/base/file.h"
#include "common/base/secret_file.h"
#include "common/tls/certificates.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

class ContextTest : public ClientTest {
 protected:
  ContextTest() {
    char folder[] = "/tmp/trainctl-context-XXXXXX";
    folder_ = mkdtemp(folder);
    file_ = folder_ + "/config/trainctl/config.json";
    surroundings_.environment_server = "";
    surroundings_.configuration_file = file_;
    EXPECT_TRUE(base::WriteFileAtomically(folder_ + "/ca.pem", Certificate()).ok());
    EXPECT_TRUE(base::WriteSecretFile(folder_ + "/token", "trainctl_secret").ok());
  }
  ~ContextTest() override { std::filesystem::remove_all(folder_); }

  static const std::string& Certificate() {
    static const std::string certificate =
        tls::MakeAuthority("a site", {0, int64_t{4'000'000'000} * 1'000'000}).value().certificate;
    return certificate;
  }
  Ended Add(const std::string& name, const std::string& address) {
    return Trainctl({"context", "add", name, "--address", address, "--ca", folder_ + "/ca.pem",
                     "--token-file", folder_ + "/token"});
  }
  // Where the words go.
  std::string Asked(const std::vector<std::string>& words) {
    connected_to_ = "";
    Trainctl(words);
    return connected_to_;
  }

  std::string folder_, file_;
};

TEST_F(ContextTest, OfTwoDashboardsTheOneIsMeantByWhichTheCallerIsKnown) {
  coordinator_.dashboard = "127.0.0.1:40001";
  coordinator_.dashboard_tls = "0.0.0.0:7444";
  EXPECT_EQ(Trainctl({"ui", "--server", "127.0.0.1:7070"}).out, "http://127.0.0.1:40001/\n");
  ASSERT_EQ(Add("home", "127.0.0.1:7443").code, kExitOk);
  EXPECT_EQ(Trainctl({"ui"}).out, "https://127.0.0.1:7444/sign-in#c0de\n");
}

TEST_F(ContextTest, TheFirstOneAddedIsUsedUntilAnotherIs) {
  EXPECT_EQ(Add("lab", "gpu-host:7443").code, kExitOk);
  EXPECT_EQ(Add("home", "127.0.0.1:7443").code, kExitOk);
  EXPECT_EQ(Asked({"status"}), "gpu-host:7443");
  EXPECT_EQ(Trainctl({"context", "use", "home"}).code, kExitOk);
  EXPECT_EQ(Asked({"status"}), "127.0.0.1:7443");
  const Json listed = Json::parse(Trainctl({"context", "ls", "-o", "json"}).out)["contexts"];
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0]["name"], "home");
  EXPECT_EQ(listed[0]["used"], true);
  EXPECT_EQ(listed[1]["ca"], folder_ + "/ca.pem");
  EXPECT_EQ(Trainctl({"context", "rm", "home"}).code, kExitOk);
  EXPECT_EQ(Asked({"status"}), "");
  EXPECT_EQ(Trainctl({"context", "rm", "home"}).code, kExitNotFound);
  EXPECT_EQ(Trainctl({"context", "use", "home"}).code, kExitNotFound);
}

TEST_F(ContextTest, WhatIsTypedIsBeforeTheEnvironmentAndThatBeforeTheOneInUse) {
  Add("lab", "gpu-host:7443");
  Add("home", "127.0.0.1:7443");
  EXPECT_EQ(Asked({"status", "--context", "home"}), "127.0.0.1:7443");
  EXPECT_EQ(Asked({"--context", "home", "status"}), "127.0.0.1:7443");
  EXPECT_EQ(Asked({"status", "--server", "host:1"}), "host:1");
  surroundings_.environment_context = "home";
  EXPECT_EQ(Asked({"status"}), "127.0.0.1:7443");
  EXPECT_EQ(Asked({"status", "--context", "lab"}), "gpu-host:7443");
  surroundings_.environment_server = "host:2";
  EXPECT_EQ(Asked({"status"}), "host:2");
  const Ended both = Trainctl({"status", "--context", "lab", "--server", "host:1"});
  EXPECT_EQ(both.code, kExitUsage);
  EXPECT_NE(both.err.find("--server and --context"), std::string::npos);
}

TEST_F(ContextTest, ANameThatIsUnknownIsToldWithThoseThatAreKnown) {
  Add("lab", "gpu-host:7443");
  const Ended ended = Trainctl({"status", "--context", "labs"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_EQ(ended.err, "trainctl: --context: no context 'labs': expected lab\n");
}

TEST_F(ContextTest, TheFileIsOfItsOwnerAloneAndHasNoSecret) {
  ASSERT_TRUE(std::filesystem::create_directories(folder_ + "/config/trainctl"));
  ASSERT_TRUE(base::WriteFileAtomically(file_, R"({"server": "host:3", "mine": [1]})").ok());
  Add("lab", "gpu-host:7443");
  struct stat status{};
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string text = base::ReadFile(file_, 1 << 20).value();
  EXPECT_EQ(text.find("trainctl_secret"), std::string::npos);
  EXPECT_EQ(Json::parse(text)["mine"], Json({1})) << "what it holds besides is kept";
  Trainctl({"context", "rm", "lab"});
  EXPECT_EQ(Asked({"status"}), "host:3");
}

TEST_F(ContextTest, ATokenFileThatOthersCanReadIsNotAdded) {
  ASSERT_EQ(chmod((folder_ + "/token").c_str(), 0644), 0);
  const Ended ended = Add("lab", "gpu-host:7443");
  EXPECT_EQ(ended.code, kExitDenied);
  EXPECT_NE(ended.err.find("chmod 600 " + folder_ + "/token"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(ContextTest, OneWithoutItsFilesIsRefusedAndNotCalledWithoutTls) {
  ASSERT_TRUE(std::filesystem::create_directories(folder_ + "/config/trainctl"));
  for (const char* files : {"", R"(, "ca": "/ca.pem")", R"(, "token_file": "/token")",
                            R"(, "ca": "", "token_file": "/token")"}) {
    const std::string site = std::string(R"({"address": "gpu-host:7443")") + files + "}";
    const std::string text = R"({"context": "lab", "contexts": {"lab": )" + site + "}}";
    ASSERT_TRUE(base::WriteFileAtomically(file_, text).ok());
    for (const Ended& ended : {Trainctl({"status"}), Trainctl({"status", "--context", "lab"})}) {
      EXPECT_EQ(ended.code, kExitUsage) << files;
      EXPECT_NE(ended.err.find(R"(context lab: "ca" and "token_file" must name files)"),
                std::string::npos)
          << ended.err;
    }
    EXPECT_EQ(Asked({"status"}), "");
  }
}

TEST_F(ContextTest, ACaWithoutACertificateOrATokenThatIsNoWordIsNotAdded) {
  for (const char* text : {"", "a certificate"}) {
    ASSERT_TRUE(base::WriteFileAtomically(folder_ + "/ca.pem", text).ok());
    const Ended ended = Add("lab", "gpu-host:7443");
    EXPECT_EQ(ended.code, kExitUsage) << text;
    EXPECT_NE(ended.err.find("expected the site's ca.pem"), std::string::npos) << ended.err;
  }
  ASSERT_TRUE(base::WriteFileAtomically(folder_ + "/ca.pem", Certificate()).ok());
  ASSERT_TRUE(base::WriteSecretFile(folder_ + "/token", "two\nlines").ok());
  const Ended ended = Add("lab", "gpu-host:7443");
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find(folder_ + "/token holds no token"), std::string::npos) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(ContextTest, WhatIsWrongIsToldAndNothingIsWritten) {
  EXPECT_EQ(Add("lab", "gpu-host").code, kExitUsage);
  EXPECT_EQ(Trainctl({"context", "add", "lab", "--address", "a:1"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"context", "add"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"context", "list"}).code, kExitUsage);
  std::filesystem::remove(folder_ + "/ca.pem");
  EXPECT_EQ(Add("lab", "a:1").code, kExitNotFound);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(ContextTest, WhatIsMissingIsNamedWithAnExample) {
  const std::string example =
      "; expected as in: trainctl context add lab --address gpu-host:7443 --ca ca.pem "
      "--token-file token\n";
  EXPECT_EQ(Trainctl({"context", "add", "lab"}).err,
            "trainctl: context add: missing --address, --ca, --token-file" + example);
  EXPECT_EQ(Trainctl({"context", "add", "lab", "--address", "a:1", "--ca", "c"}).err,
            "trainctl: context add: missing --token-file" + example);
}

TEST_F(ContextTest, AMalformedFileIsNamedAndNotWrittenOver) {
  ASSERT_TRUE(std::filesystem::create_directories(folder_ + "/config/trainctl"));
  for (const char* text : {"{", R"({"contexts": 1})", R"({"contexts": {"lab": "x"}})",
                           R"({"contexts": {"lab": {"address": 1}}})", R"({"context": 1})"}) {
    ASSERT_TRUE(base::WriteFileAtomically(file_, text).ok());
    for (const Ended& ended : {Trainctl({"status"}), Add("lab", "a:1")}) {
      EXPECT_EQ(ended.code, kExitUsage) << text;
      EXPECT_NE(ended.err.find(file_), std::string::npos) << ended.err;
    }
    EXPECT_EQ(base::ReadFile(file_, 1 << 20).value(), text);
  }
}

TEST_F(ContextTest, OneThatIsGoneDoesNotKeepContextFromPuttingItRight) {
  ASSERT_TRUE(std::filesystem::create_directories(folder_ + "/config/trainctl"));
  ASSERT_TRUE(base::WriteFileAtomically(file_, R"({"context": "gone"})").ok());
  EXPECT_EQ(Trainctl({"status"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"context", "ls"}).out, "no contexts; trainctl context add makes one\n");
  EXPECT_EQ(Add("lab", "a:1").code, kExitOk);
  EXPECT_EQ(Trainctl({"context", "use", "lab"}).code, kExitOk);
  EXPECT_EQ(Asked({"status"}), "a:1");
}

}  // namespace
}  // namespace trainctl::client

#include "client/exit_code.h"
#include "client/show/output.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

class ConfigTest : public ClientTest {
 protected:
  ConfigTest() { surroundings_.configuration_file = folder_ / "trainctl/config.json"; }

  ScratchFolder folder_;
};

TEST_F(ConfigTest, TheServerThatIsSetIsTheOneMeant) {
  surroundings_.environment_server.clear();
  EXPECT_EQ(Trainctl({"config", "get", "server"}).code, kExitNotFound);
  EXPECT_EQ(Trainctl({"config", "set", "server", "127.0.0.1:7171"}).code, 0);
  EXPECT_EQ(Trainctl({"config", "get", "server"}).out, "127.0.0.1:7171\n");
  Trainctl({"status"});
  EXPECT_EQ(connected_to_, "127.0.0.1:7171");
  EXPECT_EQ(Trainctl({"config", "unset", "server"}).code, 0);
  EXPECT_EQ(Trainctl({"config", "get", "server"}).code, kExitNotFound);
}

TEST_F(ConfigTest, WhatIsNoneOfItsKeysOrNoValueIsRefusedAndTheFileStays) {
  folder_.Write("trainctl/config.json", R"({"server": "a:1", "other": [1]})");
  EXPECT_EQ(Trainctl({"config", "set", "server", "nowhere"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"config", "set", "context", "lab"}).code, kExitNotFound);
  EXPECT_NE(Trainctl({"config", "set", "sever", "a:2"}).err.find("did you mean 'server'?"),
            std::string::npos);
  EXPECT_EQ(Trainctl({"config", "set", "server"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"config", "get", "server"}).out, "a:1\n");
  EXPECT_EQ(Trainctl({"config", "set", "server", "b:2"}).code, 0);
  EXPECT_EQ(Json::parse(folder_.Read("trainctl/config.json"))["other"], Json::parse("[1]"));
}

TEST_F(ConfigTest, WithoutWordsAllIsListed) {
  folder_.Write("trainctl/config.json", R"({"server": "a:1"})");
  const Json json = Json::parse(Trainctl({"config", "-o", "json"}).out);
  EXPECT_EQ(json["settings"][0]["value"], "a:1");
  EXPECT_EQ(json["settings"][1]["value"], nullptr);
  EXPECT_NE(Trainctl({"config"}).out.find("a:1"), std::string::npos);
  EXPECT_EQ(Trainctl({"config", "get"}).out, Trainctl({"config"}).out);
}

TEST_F(ConfigTest, HelpPromisesNoMoreWordsThanAreTaken) {
  EXPECT_NE(Trainctl({"config", "--help"}).out.find("unset KEY] "), std::string::npos);
  EXPECT_EQ(Trainctl({"config", "--help"}).out.find("KEY…"), std::string::npos);
  EXPECT_EQ(Trainctl({"context", "--help"}).out.find("NAME…"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::client

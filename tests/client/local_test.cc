// The verbs that are scripts: which one is found, and with which words.
#include <filesystem>

#include "client/exit_code.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

class LocalTest : public ClientTest {
 protected:
  LocalTest() {
    surroundings_.program_directory = folder_.path() + "/bin";
    surroundings_.become = [this](const std::vector<std::string>& command) {
      became_ = command;
      return base::Error{base::Code::kIo, "no exec in a test"};
    };
  }

  std::string Install(const std::string& name) {
    std::filesystem::create_directories(folder_.path() + "/share/trainctl/slurm");
    folder_.Write("share/trainctl/" + name, "");
    return folder_.path() + "/share/trainctl/" + name;
  }

  ScratchFolder folder_;
  std::vector<std::string> became_;
};

TEST_F(LocalTest, OptionsReachTheScriptThatWasInstalled) {
  const std::string script = Install("local");
  Trainctl({"local", "up", "--workers", "2", "--cpu", "--dir", "d", "--port", "0"});
  EXPECT_EQ(became_, (std::vector<std::string>{script, "up", "--dir", "d", "--workers", "2",
                                               "--port", "0", "--cpu"}));
  Trainctl({"local", "up", "--role", "anna=user", "--role", "*=viewer", "--policy", "p.json"});
  EXPECT_EQ(became_, (std::vector<std::string>{script, "up", "--role", "anna=user", "--role",
                                               "*=viewer", "--policy", "p.json"}));
  Trainctl({"local", "down"});
  EXPECT_EQ(became_, (std::vector<std::string>{script, "down"}));
}

TEST_F(LocalTest, AnUnknownActionIsRefused) {
  Install("local");
  EXPECT_EQ(Trainctl({"local", "restart"}).code, kExitUsage);
  EXPECT_TRUE(became_.empty());
}

TEST_F(LocalTest, QuickstartIsFoundToo) {
  const std::string script = Install("quickstart");
  Trainctl({"quickstart", "--dir", "d"});
  EXPECT_EQ(became_, (std::vector<std::string>{script, "--dir", "d"}));
}

TEST_F(LocalTest, TheNameOfASlurmSiteReachesTheScriptWhereNoneHasItYet) {
  const std::string script = Install("slurm/trainctl-slurm");
  Trainctl({"slurm", "up", "--context", "big", "--nodes", "2", "--", "--partition=gpu"});
  EXPECT_EQ(became_, (std::vector<std::string>{script, "up", "--context", "big", "--nodes", "2",
                                               "--", "--partition=gpu"}));
  Trainctl({"--context", "big", "slurm", "read", "--", "status"});
  EXPECT_EQ(became_,
            (std::vector<std::string>{script, "read", "--context", "big", "--", "status"}));
}

TEST_F(LocalTest, WhereTheScriptIsMissingThePlacesAreNamed) {
  const Ended ended = Trainctl({"quickstart"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find(folder_.path() + "/share/trainctl/quickstart"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::client

#include "client/server_address.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/file.h"

namespace trainctl::client {
namespace {

class ServerAddressTest : public testing::Test {
 protected:
  ServerAddressTest() {
    char folder[] = "/tmp/trainctl-server-XXXXXX";
    folder_ = mkdtemp(folder);
    file_ = folder_ + "/config.json";
  }
  ~ServerAddressTest() override {
    unlink(file_.c_str());
    rmdir(folder_.c_str());
  }

  void Write(const std::string& text) { ASSERT_TRUE(base::WriteFileAtomically(file_, text).ok()); }

  std::string folder_, file_;
};

TEST_F(ServerAddressTest, TheOptionIsBeforeTheEnvironmentAndThatBeforeTheFile) {
  Write(R"({"server": "file:3"})");
  EXPECT_EQ(ResolveServer("option:1", "environment:2", file_).value().address, "option:1");
  EXPECT_EQ(ResolveServer("", "environment:2", file_).value().address, "environment:2");
  EXPECT_EQ(ResolveServer("", "", file_).value().address, "file:3");
}

TEST_F(ServerAddressTest, LastComesTheCoordinatorOfThisMachine) {
  const std::string address = folder_ + "/coordinator.addr";
  EXPECT_EQ(ResolveServer("", "", file_, {address}).value().address, "");
  ASSERT_TRUE(base::WriteFileAtomically(address, "127.0.0.1:7070\n").ok());
  EXPECT_EQ(ResolveServer("", "", file_, {folder_ + "/no.addr", address}).value().address,
            "127.0.0.1:7070");
  ASSERT_TRUE(base::WriteFileAtomically(folder_ + "/no.addr", "").ok());
  const NamedServer named = ResolveServer("", "", file_, {folder_ + "/no.addr", address}).value();
  EXPECT_EQ(named.address, "127.0.0.1:7070") << "an empty file names none";
  EXPECT_EQ(named.file, address);
  Write(R"({"server": "file:3"})");
  EXPECT_EQ(ResolveServer("", "", file_, {address}).value().address, "file:3");
  EXPECT_EQ(ResolveServer("", "", file_, {address}).value().file, file_);
  EXPECT_EQ(ResolveServer("option:1", "", file_, {address}).value().file, "");
  unlink(address.c_str());
  unlink((folder_ + "/no.addr").c_str());
}

TEST_F(ServerAddressTest, WithoutAnyItIsEmpty) {
  EXPECT_EQ(ResolveServer("", "", file_).value().address, "");
  EXPECT_EQ(ResolveServer("", "", "").value().address, "");
}

TEST_F(ServerAddressTest, AMalformedFileIsNamed) {
  for (const char* text : {"{", "[]", R"({"server": 7070})"}) {
    Write(text);
    const base::Result<NamedServer> server = ResolveServer("", "", file_);
    ASSERT_FALSE(server.ok()) << text;
    EXPECT_EQ(server.error().code, base::Code::kInvalid);
    EXPECT_NE(server.error().message.find(file_), std::string::npos);
  }
}

TEST_F(ServerAddressTest, AnAddressWithoutAPortIsRefusedWithItsPlace) {
  EXPECT_EQ(ResolveServer("", "host", "").error().message,
            "TRAINCTL_SERVER: 'host': expected HOST:PORT, such as 127.0.0.1:7070");
}

TEST_F(ServerAddressTest, AddressesAreHostAndPort) {
  for (const char* good : {"host:1", "127.0.0.1:65535", "[::1]:7070"})
    EXPECT_TRUE(IsServerAddress(good)) << good;
  for (const char* bad : {"host", ":1", "host:", "host:0", "host:65536", "host:7o", "::1:7070"})
    EXPECT_FALSE(IsServerAddress(bad)) << bad;
}

}  // namespace
}  // namespace trainctl::client

#include "common/base/supervisor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "common/base/descriptor.h"
#include "common/base/random_name.h"

namespace trainctl::base {
namespace {

// What systemd has at the other end: a socket of datagrams with a name.
class Listener {
 public:
  explicit Listener(const std::string& name) : name_(name) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::ranges::copy(name, address.sun_path);
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  }
  ~Listener() {
    if (name_.front() == '/') std::filesystem::remove(name_);
  }

  // The next word; empty: none has come.
  std::string Hear() {
    char words[256];
    const ssize_t size = ::recv(socket_.get(), words, sizeof words, MSG_DONTWAIT);
    return size < 0 ? "" : std::string(words, static_cast<size_t>(size));
  }

 private:
  const std::string name_;
  const Descriptor socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

void ExpectHeard(const std::string& name) {
  Listener systemd(name);
  const Supervisor supervisor({.notify_socket = name});
  supervisor.Ready("listens");
  supervisor.Alive();
  supervisor.Status("busy");
  supervisor.Stopping("ends");
  EXPECT_EQ(systemd.Hear(), "READY=1\nSTATUS=listens");
  EXPECT_EQ(systemd.Hear(), "WATCHDOG=1");
  EXPECT_EQ(systemd.Hear(), "STATUS=busy");
  EXPECT_EQ(systemd.Hear(), "STOPPING=1\nSTATUS=ends");
  EXPECT_EQ(systemd.Hear(), "");
}

TEST(Supervisor, HearsEachWordByAPath) {
  ExpectHeard((std::filesystem::temp_directory_path() / RandomName()).string());
}

TEST(Supervisor, HearsEachWordByAnAbstractName) { ExpectHeard("@" + RandomName()); }

TEST(Supervisor, IsNotThereWhereNobodyHasStartedAService) {
  Supervisor({}).Ready("listens");
  Supervisor({.notify_socket = "/" + RandomName()}).Ready("listens");
  Supervisor({.notify_socket = "vsock:2:1234"}).Ready("listens");
  Supervisor({.notify_socket = "@" + std::string(200, 'a')}).Ready("listens");
}

TEST(Supervisor, IsToldTwiceWithinWhatItWaits) {
  const auto period = [](const std::string& micros, const std::string& pid) {
    return Supervisor({.watchdog_usec = micros, .watchdog_pid = pid}).alive_period();
  };
  using std::chrono::milliseconds;
  EXPECT_EQ(period("60000000", std::to_string(::getpid())), milliseconds(30'000));
  EXPECT_EQ(period("3000000", ""), milliseconds(1'500));
  EXPECT_EQ(period("1", ""), milliseconds(1));
  EXPECT_EQ(period("", ""), std::nullopt);
  EXPECT_EQ(period("0", ""), std::nullopt);
  EXPECT_EQ(period("soon", ""), std::nullopt);
  EXPECT_EQ(period("60000000", "1"), std::nullopt) << "another process is waited for";
}

TEST(Supervisor, VariablesOfAServiceAreKnownByName) {
  EXPECT_TRUE(IsServiceVariable("NOTIFY_SOCKET=/run/systemd/notify"));
  EXPECT_TRUE(IsServiceVariable("WATCHDOG_PID=1"));
  EXPECT_TRUE(IsServiceVariable("WATCHDOG_USEC=1"));
  EXPECT_FALSE(IsServiceVariable("WATCHDOG_PIDS=1"));
  EXPECT_FALSE(IsServiceVariable("PATH=/bin"));
}

}  // namespace
}  // namespace trainctl::base

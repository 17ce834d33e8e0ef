#include "tests/shim/shim_under_test.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/checkout.h"
#include "worker/shim/cgroup_leaf.h"
#include "worker/shim/control_socket.h"
#include "worker/shim/process_table.h"
#include "worker/shim/spool.h"

extern char** environ;

namespace trainctl::tests {
namespace {

constexpr int kDeadlineMs = 30'000;

// Waits until the descriptor is readable.
void AwaitReadable(int fd, const std::string& what) {
  pollfd wait{fd, POLLIN, 0};
  if (::poll(&wait, 1, kDeadlineMs) != 1) throw std::runtime_error("waited in vain for " + what);
}

// Reads lines until one is it.
void AwaitThat(const base::Descriptor& connection, const std::string& what,
               const std::function<bool(const nlohmann::json&)>& is_it) {
  shim::LineBuffer lines(1 << 20);
  for (bool seen = false; !seen;) {
    AwaitReadable(connection.get(), what);
    char bytes[4096];
    const ssize_t got = ::read(connection.get(), bytes, sizeof bytes);
    if (got <= 0) throw std::runtime_error("the shim closed the connection");
    lines.Append({bytes, static_cast<size_t>(got)},
                 [&](std::string_view line) { seen = seen || is_it(nlohmann::json::parse(line)); });
  }
}

}  // namespace

ShimUnderTest::ShimUnderTest(const std::string& script, const Options& options) {
  std::string pattern = std::filesystem::temp_directory_path() / "shim-XXXXXX";
  root_ = ::mkdtemp(pattern.data());
  folder_ = options.subfolder.empty() ? root_ : root_ + "/" + options.subfolder;
  std::filesystem::create_directories(folder_);
  if (options.disk_kib > 0) disk_.emplace(folder_, options.disk_kib);
  if (!options.deadline.empty()) std::ofstream(folder_ + "/deadline.json") << options.deadline;
  std::vector<std::string> arguments = {checkout::Program("trainshim"), "--dir", folder_};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  arguments.push_back("--");
  const std::vector<std::string> command =
      options.command.empty() ? std::vector<std::string>{checkout::TestProgram("fake_rank"), script}
                              : options.command;
  arguments.insert(arguments.end(), command.begin(), command.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  if (::posix_spawn(&pid_, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0)
    throw std::runtime_error("no trainshim");
}

ShimUnderTest::~ShimUnderTest() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    RemoveCgroup();
  }
  disk_.reset();
  std::filesystem::remove_all(root_);
}

// What a killed shim leaves behind.
void ShimUnderTest::RemoveCgroup() const {
  std::ifstream file(folder_ + "/rank.pid");
  const auto record = nlohmann::json::parse(file, nullptr, false);
  if (!record.is_object() || !record.contains("cgroup")) return;
  const shim::CgroupLeaf leaf(record["cgroup"].get<std::string>());
  leaf.Kill();
  while (leaf.Populated()) std::this_thread::yield();
  leaf.Remove();
}

int ShimUnderTest::Wait() {
  const base::Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  AwaitReadable(handle.get(), "the shim's end");
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  if (WIFSIGNALED(status)) RemoveCgroup();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

nlohmann::json ShimUnderTest::Exit() {
  std::ifstream file(folder_ + "/exit.json");
  return nlohmann::json::parse(file);
}

std::vector<nlohmann::json> ShimUnderTest::Messages() const {
  std::vector<nlohmann::json> messages;
  shim::SpoolReader reader(folder_);
  while (const auto line = reader.Next()) {
    messages.push_back(nlohmann::json::parse(line->text));
    EXPECT_GT(shim::HeardAt(line->text), 0) << line->text;
    messages.back().erase("heard_at");
  }
  return messages;
}

base::Descriptor ShimUnderTest::Connect() const {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
  const auto name = shim::NameSocket(folder_);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  name->path.copy(address.sun_path, sizeof address.sun_path - 1);
  while (std::chrono::steady_clock::now() < give_up) {
    base::Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
        0)
      return connection;
    std::this_thread::yield();
  }
  throw std::runtime_error("the shim does not listen");
}

void ShimUnderTest::AwaitMessages(const base::Descriptor& connection, int64_t messages) {
  AwaitThat(connection, std::to_string(messages) + " messages", [messages](const auto& line) {
    return line["type"] == "data" && line["messages"] >= messages;
  });
}

void ShimUnderTest::AwaitLine(const base::Descriptor& connection, const std::string& type) {
  AwaitThat(connection, type, [&](const auto& line) { return line["type"] == type; });
}

void ShimUnderTest::Send(const base::Descriptor& connection, const std::string& line) {
  const std::string bytes = line + "\n";
  ASSERT_EQ(::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

bool Ends(pid_t pid) {
  const base::Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!handle.open()) return true;
  pollfd wait{handle.get(), POLLIN, 0};
  return ::poll(&wait, 1, kDeadlineMs) == 1;
}

bool Becomes(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace trainctl::tests

// The screen on a real terminal, by a program that ends or stops there.
#include "client/tty_screen.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <string>

#include "common/base/check.h"

namespace trainctl::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOtherScreen = "\x1b[?1049h";
constexpr const char* kOwnScreen = "\x1b[?1049l";

// A child whose terminal the test reads.
class OnATerminal {
 public:
  explicit OnATerminal(const std::function<void()>& program) {
    main_ = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(main_ >= 0 && grantpt(main_) == 0 && unlockpt(main_) == 0) << "no terminal";
    const std::string name = ptsname(main_);
    child_ = fork();
    if (child_ == 0) Run(name, program);
  }
  ~OnATerminal() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    close(main_);
  }
  OnATerminal(const OnATerminal&) = delete;

  // What it shows until this is seen, or to its end.
  const std::string& ReadUntil(const std::string& seen) {
    char bytes[1024];
    while (seen.empty() || shown_.find(seen, told_) == std::string::npos) {
      const ssize_t count = read(main_, bytes, sizeof bytes);
      if (count <= 0) break;
      shown_.append(bytes, static_cast<size_t>(count));
    }
    told_ = shown_.size();
    return shown_;
  }
  void Signal(int signal) const { kill(child_, signal); }
  int WaitForChange() const {
    int status = 0;
    waitpid(child_, &status, WUNTRACED);
    return status;
  }

 private:
  [[noreturn]] static void Run(const std::string& name, const std::function<void()>& program) {
    setsid();
    alarm(60);  // a test that waits for what does not come fails
    const int terminal = open(name.c_str(), O_RDWR);
    for (const int file : {0, 1, 2}) dup2(terminal, file);
    program();
    _exit(0);
  }

  int main_ = -1;
  pid_t child_ = -1;
  std::string shown_;
  size_t told_ = 0;
};

// Nobody catches it.
void Throw() noexcept { static_cast<void>(std::string().at(1)); }

TEST(TtyScreen, WhatIsWrittenToStderrStandsBelowThePictureNotInIt) {
  const std::function<void()> endings[] = {
      [] { std::cerr << "a remark" << std::endl; },
      [] { CHECK(1 + 1 == 3) << "a remark"; },
      [] {
        std::cerr << "a remark" << std::endl;
        Throw();
      },
      [] {
        std::cerr << "a remark" << std::endl;
        raise(SIGTERM);
      },
  };
  for (const auto& ending : endings) {
    OnATerminal terminal([&ending] {
      const std::unique_ptr<Screen> screen = OpenTtyScreen();
      screen->Draw({"a picture"});
      ending();
      screen->Draw({"another one"});
    });
    const std::string shown = terminal.ReadUntil("");
    const size_t left = shown.find(kOwnScreen);
    ASSERT_NE(left, std::string::npos) << shown;
    EXPECT_THAT(shown.substr(0, left), Not(HasSubstr("a remark")));
    EXPECT_THAT(shown.substr(left), HasSubstr("a remark"));
  }
}

TEST(TtyScreen, MoreThanIsKeptHoldsUpNobody) {
  OnATerminal terminal([] {
    {
      const std::unique_ptr<Screen> screen = OpenTtyScreen();
      for (int i = 0; i < 100'000; ++i) std::cerr << "a long remark of a library" << std::endl;
    }
    std::cerr << "the end" << std::endl;
  });
  EXPECT_THAT(terminal.ReadUntil(""), HasSubstr("the end"));
}

TEST(TtyScreen, IsDrawnAnewAfterAStopThatAsksNobody) {
  OnATerminal terminal([] {
    const std::unique_ptr<Screen> screen = OpenTtyScreen();
    while (true) {
      screen->Draw({"a picture"});
      screen->WaitForKey(/*seconds=*/3600);
    }
  });
  terminal.ReadUntil("a picture");
  terminal.Signal(SIGSTOP);
  EXPECT_TRUE(WIFSTOPPED(terminal.WaitForChange()));
  terminal.Signal(SIGCONT);
  const std::string shown = terminal.ReadUntil("a picture");
  EXPECT_NE(shown.find(kOtherScreen), shown.rfind(kOtherScreen)) << "it is entered again";
}

}  // namespace
}  // namespace trainctl::client

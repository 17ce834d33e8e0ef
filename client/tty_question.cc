#include "client/tty_question.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iterator>
#include <string>

namespace trainctl::client {
namespace {

constexpr std::string_view kQuestion = "\x1b[c";
constexpr std::string_view kBegin = "\x1b[?";
// As long as anybody's line takes there and back.
constexpr auto kPatience = std::chrono::seconds(5);
constexpr size_t kLongestAnswer = 256;
constexpr int kInterrupting[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

// What follows its begin, with its "c" where it is whole.
std::string_view NumbersOf(std::string_view answer) {
  const size_t begin = answer.find(kBegin);
  if (begin == std::string_view::npos) return {};
  const std::string_view numbers = answer.substr(begin + kBegin.size());
  const size_t end = numbers.find('c');
  return end == std::string_view::npos ? numbers : numbers.substr(0, end + 1);
}

// The signal that this key stands for; 0: none.
int SignalOfKey(const termios& settings, char key) {
  constexpr struct {
    int place, signal;
  } kKeys[] = {{VINTR, SIGINT}, {VQUIT, SIGQUIT}, {VSUSP, SIGTSTP}};
  if ((settings.c_lflag & ISIG) == 0) return 0;
  for (const auto& [place, signal] : kKeys) {
    const cc_t own = settings.c_cc[place];
    if (own != _POSIX_VDISABLE && own == static_cast<cc_t>(key)) return signal;
  }
  return 0;
}

// What the handler reads: it is set before the handler is installed, and stays.
struct Asked {
  int terminal = -1;
  termios before{};
  struct sigaction actions[std::size(kInterrupting)]{};
};
Asked asked;

// What was there before meets the signal once this handler returns. Any thread may run it.
void OnInterrupting(int signal) {
  const int error = errno;
  tcsetattr(asked.terminal, TCSAFLUSH, &asked.before);
  for (size_t i = 0; i < std::size(kInterrupting); ++i) {
    if (kInterrupting[i] == signal) sigaction(signal, &asked.actions[i], nullptr);
  }
  raise(signal);
  errno = error;
}

// For its life a terminal neither echoes, nor waits for lines, nor makes signals of keys.
class QuietTerminal {
 public:
  // before: its settings.
  QuietTerminal(int terminal, const termios& before) {
    asked.terminal = terminal;
    asked.before = before;
    for (size_t i = 0; i < std::size(kInterrupting); ++i) {
      sigaction(kInterrupting[i], nullptr, &asked.actions[i]);
      if (asked.actions[i].sa_handler == SIG_IGN) continue;
      struct sigaction action{};
      action.sa_handler = OnInterrupting;
      sigaction(kInterrupting[i], &action, nullptr);
    }
    termios quiet = before;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    tcsetattr(terminal, TCSADRAIN, &quiet);
  }
  ~QuietTerminal() {
    tcsetattr(asked.terminal, flushes_ ? TCSAFLUSH : TCSADRAIN, &asked.before);
    for (size_t i = 0; i < std::size(kInterrupting); ++i)
      sigaction(kInterrupting[i], &asked.actions[i], nullptr);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

  // What comes from now on is for nobody else.
  void FlushAtEnd() { flushes_ = true; }

 private:
  bool flushes_ = false;
};

struct Heard {
  std::string answer;     // shorter where it does not come in time
  int signal = 0;         // of a key that was pressed instead
  bool is_asked = false;  // else there is nobody to answer
};

bool Comes(int terminal, std::chrono::milliseconds patience) {
  pollfd ready{terminal, POLLIN, 0};
  return poll(&ready, 1, static_cast<int>(patience.count())) > 0;
}

Heard Listen(int terminal, const termios& before) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Heard heard{.is_asked = true};
  while (heard.answer.size() < kLongestAnswer && !NumbersOf(heard.answer).ends_with('c')) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    char byte = 0;
    if (left.count() <= 0 || !Comes(terminal, left) || read(terminal, &byte, 1) != 1) break;
    heard.signal = SignalOfKey(before, byte);
    if (heard.signal != 0) break;
    heard.answer += byte;
  }
  return heard;
}

// Nothing where somebody has typed already: that is for the shell.
Heard Ask(int terminal) {
  termios before{};
  if (tcgetattr(terminal, &before) != 0) return {};
  QuietTerminal quiet(terminal, before);
  if (Comes(terminal, std::chrono::milliseconds(0))) return {};
  quiet.FlushAtEnd();
  const ssize_t sent = write(terminal, kQuestion.data(), kQuestion.size());
  return sent == static_cast<ssize_t>(kQuestion.size()) ? Listen(terminal, before) : Heard{};
}

}  // namespace

std::optional<bool> ShowsSixels() {
  const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return false;
  const bool is_ours = tcgetpgrp(terminal) == getpgrp();
  const Heard heard = is_ours ? Ask(terminal) : Heard{};
  close(terminal);
  if (heard.signal != 0) raise(heard.signal);
  if (heard.is_asked && !NumbersOf(heard.answer).ends_with('c')) return std::nullopt;
  return TellsOfSixels(heard.answer);
}

bool TellsOfSixels(std::string_view answer) {
  const std::string_view numbers = NumbersOf(answer);
  if (!numbers.ends_with('c')) return false;
  const std::string list = ";" + std::string(numbers.substr(0, numbers.size() - 1)) + ";";
  return list.find(";4;") != std::string::npos;
}

}  // namespace trainctl::client

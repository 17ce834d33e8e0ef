#include "client/tty_question.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace trainctl::client {
namespace {

constexpr std::string_view kQuestion = "\x1b[c";
constexpr std::string_view kBegin = "\x1b[?";
constexpr auto kPatience = std::chrono::milliseconds(1000);
constexpr size_t kLongestAnswer = 256;

// As it comes, up to its "c"; shorter where it does not come in time.
std::string ReadAnswer(int terminal) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string answer;
  while (answer.size() < kLongestAnswer && !answer.ends_with('c')) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready{terminal, POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) break;
    char byte = 0;
    if (read(terminal, &byte, 1) != 1) break;
    answer += byte;
  }
  return answer;
}

// Neither echoed nor kept until a line ends; as before afterwards, whatever signal comes.
std::string Ask(int terminal) {
  termios before{};
  if (tcgetattr(terminal, &before) != 0) return "";
  sigset_t ending, mask;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGTSTP}) sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, &mask);
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(terminal, TCSADRAIN, &raw);
  const ssize_t sent = write(terminal, kQuestion.data(), kQuestion.size());
  const std::string answer =
      sent == static_cast<ssize_t>(kQuestion.size()) ? ReadAnswer(terminal) : "";
  tcsetattr(terminal, TCSADRAIN, &before);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return answer;
}

}  // namespace

bool ShowsSixels() {
  const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return false;
  const bool is_ours = tcgetpgrp(terminal) == getpgrp();
  const std::string answer = is_ours ? Ask(terminal) : "";
  close(terminal);
  return TellsOfSixels(answer);
}

bool TellsOfSixels(std::string_view answer) {
  const size_t begin = answer.find(kBegin);
  if (begin == std::string_view::npos || !answer.ends_with('c')) return false;
  const std::string_view numbers = answer.substr(begin + kBegin.size());
  const std::string list = ";" + std::string(numbers.substr(0, numbers.size() - 1)) + ";";
  return list.find(";4;") != std::string::npos;
}

}  // namespace trainctl::client

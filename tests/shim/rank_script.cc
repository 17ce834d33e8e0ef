#include "tests/shim/rank_script.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace trainctl::tests {
namespace {

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written <= 0) std::abort();
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void Say(const std::string& line) { WriteAll(kMessagesFd, line + "\n"); }

void SayStarted(const std::string& commit) {
  Say("{\"type\":\"started\",\"pid\":" + std::to_string(::getpid()) + ",\"commit\":\"" + commit +
      "\",\"libtorch\":\"\",\"nccl\":\"\",\"driver\":\"\",\"device_name\":\"\"}");
}

void SayMessages(const std::string& argument) {
  char type[32] = "";
  int count = 0;
  if (std::sscanf(argument.c_str(), "%d %31s", &count, type) != 2) std::abort();
  std::string lines;
  for (int i = 1; i <= count; ++i)
    lines += "{\"type\":\"" + std::string(type) + "\",\"n\":" + std::to_string(i) + "}\n";
  WriteAll(kMessagesFd, lines);
}

void Train(const std::string& argument) {
  int from = 0, to = 0;
  if (std::sscanf(argument.c_str(), "%d %d", &from, &to) != 2) std::abort();
  const std::string rest =
      ",\"steps\":" + std::to_string(to) + ",\"stage\":\"compute\",\"peak_allocated_bytes\":0}";
  for (int step = from; step < to; ++step) {
    const std::string number = std::to_string(step);
    Say("{\"type\":\"progress\",\"step\":" + std::to_string(step + 1) + rest);
    Say("{\"type\":\"metrics\",\"points\":[{\"name\":\"loss\",\"step\":" + number +
        ",\"value\":" + number + ",\"time\":1}]}");
  }
}

void PassGate(const std::string& path) {
  std::FILE* fifo = std::fopen(path.c_str(), "r");
  if (!fifo || std::fgetc(fifo) == EOF) std::abort();
  std::fclose(fifo);
}

void Flood(size_t bytes) {
  std::string lines;
  for (int i = 0; lines.size() < bytes; ++i) lines += "line " + std::to_string(i) + "\n";
  WriteAll(STDOUT_FILENO, std::string_view(lines).substr(0, bytes));
}

void ReportCommand() {
  std::string hex;
  char c = 0;
  while (::read(kCommandsFd, &c, 1) == 1 && c != '\n') {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    hex += digits;
  }
  SayStarted(hex);
}

void PrintVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  WriteAll(STDOUT_FILENO, std::string(value ? value : "") + "\n");
}

void StartGrandchild() {
  if (::fork() != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);  // the grandchild's parent is gone: it falls to the subreaper
  ::signal(SIGTERM, SIG_IGN);
  Say("{\"type\":\"saved\",\"kind\":\"grandchild\",\"path\":\"" + std::to_string(::getpid()) +
      "\"}");
  for (;;) ::pause();
}

// By the system's own action, whatever handler a sanitizer installed.
[[noreturn]] void DieOf(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  std::abort();
}

// The exit code, where the step ends the rank.
std::optional<int> RunStep(const std::string& word, const std::string& argument) {
  if (word == "print")
    WriteAll(STDOUT_FILENO, argument + "\n");
  else if (word == "complain")
    WriteAll(STDERR_FILENO, argument + "\n");
  else if (word == "started")
    SayStarted(argument);
  else if (word == "message")
    Say(argument);
  else if (word == "messages")
    SayMessages(argument);
  else if (word == "train")
    Train(argument);
  else if (word == "gate")
    PassGate(argument);
  else if (word == "overlong")
    Say(std::string(std::stoul(argument), 'x'));
  else if (word == "flood")
    Flood(std::stoul(argument));
  else if (word == "command")
    ReportCommand();
  else if (word == "ignore-term")
    ::signal(SIGTERM, SIG_IGN);
  else if (word == "grandchild")
    StartGrandchild();
  else if (word == "environment")
    PrintVariable(argument);
  else if (word == "wait")
    for (;;) ::pause();
  else if (word == "exit")
    return std::stoi(argument);
  else if (word == "signal")
    DieOf(std::stoi(argument));
  else
    std::abort();
  return std::nullopt;
}

}  // namespace

int RunRankScript(std::string_view script) {
  while (!script.empty()) {
    const size_t end = script.find(';');
    std::string step(script.substr(0, end));
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    step.erase(0, step.find_first_not_of(" \n"));
    const size_t space = step.find(' ');
    if (step.empty()) continue;
    const std::string argument = space == std::string::npos ? "" : step.substr(space + 1);
    if (const std::optional<int> code = RunStep(step.substr(0, space), argument)) return *code;
  }
  return 0;
}

}  // namespace trainctl::tests

#include "client/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/error_number.h"

extern char** environ;

namespace trainctl::client {
namespace {

class Pipe {
 public:
  Pipe() { open_ = pipe2(ends_, O_CLOEXEC) == 0; }
  ~Pipe() {
    Close(0);
    Close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool ok() const { return open_; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseRead() { Close(0); }
  void CloseWrite() { Close(1); }

 private:
  void Close(int end) {
    if (open_ && ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }

  int ends_[2] = {-1, -1};
  bool open_ = false;
};

// Before the program starts, so that its end can't race with it; the pipe's buffer holds it until
// it is read.
base::Status FillPipe(const Pipe& pipe, const std::string& input) {
  fcntl(pipe.write_end(), F_SETFL, O_NONBLOCK);
  const ssize_t written = write(pipe.write_end(), input.data(), input.size());
  if (written == static_cast<ssize_t>(input.size())) return base::Ok{};
  return base::Error{base::Code::kExhausted,
                     std::to_string(input.size()) + " bytes do not fit a pipe"};
}

std::string ReadToEnd(int file) {
  std::string text;
  char buffer[4096];
  ssize_t size = 0;
  while ((size = read(file, buffer, sizeof buffer)) > 0 || (size < 0 && errno == EINTR)) {
    if (size > 0) text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

int WaitForEnd(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<char*> ArgumentsOf(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

int Spawn(const std::vector<std::string>& command, int in, int out, pid_t* pid) {
  std::vector<char*> arguments = ArgumentsOf(command);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  const int error = posix_spawn(pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

base::Result<ProgramOutput> RunToEnd(const std::vector<std::string>& command,
                                     const std::string& input) {
  Pipe in, out;
  if (!in.ok() || !out.ok()) return base::OsError("can't open a pipe", errno);
  if (const base::Status filled = FillPipe(in, input); !filled.ok()) return filled.error();
  pid_t pid = 0;
  const int error = Spawn(command, in.read_end(), out.write_end(), &pid);
  if (error == ENOENT) return base::Error{base::Code::kNotFound, "there is no " + command[0]};
  if (error != 0) return base::OsError("can't start " + command[0], error);
  in.CloseRead();
  in.CloseWrite();
  out.CloseWrite();
  ProgramOutput output;
  output.out = ReadToEnd(out.read_end());
  output.exit_code = WaitForEnd(pid);
  return output;
}

base::Error Become(const std::vector<std::string>& command) {
  execv(command[0].c_str(), ArgumentsOf(command).data());
  return base::OsError("can't start " + command[0], errno);
}

}  // namespace trainctl::client

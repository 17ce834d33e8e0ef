// trainctl: what a person types. Everything that is read from the environment is read here.
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include "client/exit_code.h"
#include "client/grpc_api.h"
#include "client/run_program.h"
#include "client/tty_question.h"
#include "client/tty_screen.h"
#include "client/verbs/program.h"
#include "common/base/random_name.h"

namespace trainctl::client {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where no locale is set, as in most containers, terminals do; "C" and "…ISO-8859-1" do not.
bool ShowsUnicode() {
  std::string locale;
  for (const char* name : {"LANG", "LC_CTYPE", "LC_ALL"}) {
    if (const std::string value = Environment(name); !value.empty()) locale = value;
  }
  std::ranges::transform(locale, locale.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return locale.empty() || locale.find("utf-8") != std::string::npos ||
         locale.find("utf8") != std::string::npos;
}

// kitty, Ghostty and WezTerm. Within tmux TERM is another.
bool ShowsPictures() {
  const std::string term = Environment("TERM");
  const bool in_tmux = term.starts_with("tmux") || term.starts_with("screen");
  return term == "xterm-kitty" || term == "xterm-ghostty" ||
         (Environment("TERM_PROGRAM") == "WezTerm" && !in_tmux);
}

// Nothing but lines of text.
bool IsDumb(const std::string& term) { return term == "dumb" || term == "unknown"; }

// By terminfo's names: DEC's of one colour, and others that say so.
bool HasColour(const std::string& term) {
  return !IsDumb(term) && !term.starts_with("vt1") && !term.starts_with("vt2") &&
         !term.ends_with("-m") && !term.ends_with("-mono") && Environment("NO_COLOR").empty();
}

Terminal TerminalOf(int file) {
  if (!isatty(file)) return {.unicode = ShowsUnicode()};
  const std::string term = Environment("TERM");
  winsize size{};
  const bool known = ioctl(file, TIOCGWINSZ, &size) == 0;
  const int width = known ? size.ws_col : 0;
  return {.is_terminal = true,
          .interactive = !IsDumb(term),
          .unicode = ShowsUnicode(),
          .pictures = ShowsPictures(),
          .cell_width = width > 0 ? size.ws_xpixel / width : 0,
          .cell_height = known && size.ws_row > 0 ? size.ws_ypixel / size.ws_row : 0,
          .layout = {.width = width, .colour = HasColour(term)},
          .height = known ? size.ws_row : 0};
}

// By which the coordinator knows who calls over loopback.
std::string UserName() {
  const passwd* user = getpwuid(geteuid());
  return user == nullptr ? "" : user->pw_name;
}

std::string ConfigurationFile() {
  const std::string folder = Environment("XDG_CONFIG_HOME");
  if (!folder.empty()) return folder + "/trainctl/config.json";
  const std::string home = Environment("HOME");
  return home.empty() ? "" : home + "/.config/trainctl/config.json";
}

// Of "trainctl local", and of systemd's unit.
std::vector<std::string> AddressFiles() {
  const std::string state = Environment("XDG_STATE_HOME"), home = Environment("HOME");
  std::vector<std::string> files = {"/run/trainctl/coordinator.addr"};
  const std::string folder = !state.empty() ? state : home.empty() ? "" : home + "/.local/state";
  if (!folder.empty()) files.insert(files.begin(), folder + "/trainctl/local/coordinator.addr");
  return files;
}

std::string ProgramDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// Ctrl-C ends trainctl at once, and says first what goes on without it. These words are written
// with SIGINT blocked, and read by its handler.
char farewell[512];
size_t farewell_size = 0;

void OnInterrupt(int) {
  if (farewell_size > 0) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, farewell, farewell_size);
  }
  _exit(kExitDetached);
}

void InstallFarewell() {
  struct sigaction action{};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

// At most 500 bytes of it. Empty: nothing is said.
void SetFarewell(const std::string& words) {
  const std::string text = words.empty() ? "" : "\n" + words.substr(0, 500) + "\n";
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  std::memcpy(farewell, text.data(), text.size());
  farewell_size = text.size();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Of a pipe.
bool ReaderLeft() {
  pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int Main(const std::vector<std::string>& words) {
  const base::SystemClock clock;
  Surroundings surroundings{
      .in = &std::cin,
      .out = &std::cout,
      .err = &std::cerr,
      .out_terminal = TerminalOf(STDOUT_FILENO),
      .err_terminal = TerminalOf(STDERR_FILENO),
      .clock = &clock,
      .environment_server = Environment("TRAINCTL_SERVER"),
      .environment_context = Environment("TRAINCTL_CONTEXT"),
      .environment_recipes = Environment("TRAINCTL_RECIPES"),
      .configuration_file = ConfigurationFile(),
      .address_files = AddressFiles(),
      .user = UserName(),
      .program_directory = ProgramDirectory(),
      .connect =
          [](const NamedServer& server) {
            return ConnectGrpc(server, Environment("TRAINCTL_SERVER_USER"));
          },
      .sleep =
          [](double seconds) {
            std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
          },
      .shows_sixels = ShowsSixels,
      .open_screen = OpenTtyScreen,
      .reader_left = ReaderLeft,
      .new_request_id = base::RandomName,
      .set_farewell = SetFarewell,
      .run = RunToEnd,
      .become =
          [](const std::vector<std::string>& command) {
            setenv("TRAINCTL_BIN_DIR", ProgramDirectory().c_str(), 1);
            return Become(command);
          },
  };
  InstallFarewell();
  return RunProgram(words, surroundings);
}

}  // namespace
}  // namespace trainctl::client

int main(int count, char** words) { return trainctl::client::Main({words + 1, words + count}); }

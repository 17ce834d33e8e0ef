#include "client/tty_screen.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "client/frame.h"
#include "client/kept_errors.h"
#include "client/keys.h"
#include "client/show/escaping.h"

namespace trainctl::client {
namespace {

// The other screen, without a cursor, cut at the right edge; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr int kEscapeMillis = 50;  // what follows ESC within a sequence comes sooner
// Those that end a program, asked for or not.
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV,
                           SIGBUS, SIGILL,  SIGFPE, SIGXCPU, SIGALRM};

// What the handlers use: it is set before they are installed, and stays until they are gone.
struct Held {
  int keys = -1;
  int woken = -1, wake = -1;  // a pipe: a signal also ends a wait that begins after it
  termios before{}, raw{};
  const KeptErrors* errors = nullptr;
};
Held held;
std::atomic<bool> is_held = false;
std::atomic<bool> wants_all = false;  // the size changed, or the program goes on after a stop

// A pipe that is full wakes as well.
void Wake() { static_cast<void>(!write(held.wake, "", 1)); }

void Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the terminal is gone
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void Take() {
  tcsetattr(held.keys, TCSANOW, &held.raw);
  held.errors->Keep();
  Send(kEnter);
  wants_all = true;
  Wake();
}

void GiveBack() {
  if (!is_held.exchange(false)) return;
  Send(kLeave);
  tcsetattr(held.keys, TCSADRAIN, &held.before);
  held.errors->Tell();
}

void SetHandler(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

// Its default meets the signal once this handler returns, or at the fault again.
void OnEnding(int signal) {
  GiveBack();
  SetHandler(signal, SIG_DFL);
  raise(signal);
}

void OnStop(int) {
  const int error = errno;
  GiveBack();
  SetHandler(SIGTSTP, SIG_DFL);
  sigset_t stop, before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, &before);  // here it stops, and goes on
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  SetHandler(SIGTSTP, OnStop);
  is_held = true;
  Take();
  errno = error;
}

// After a stop that asks nobody (SIGSTOP) the shell has had the terminal.
void OnContinue(int) {
  const int error = errno;
  if (is_held) Take();
  errno = error;
}

void OnResize(int) {
  const int error = errno;
  wants_all = true;
  Wake();
  errno = error;
}

class TtyScreen : public Screen {
 public:
  explicit TtyScreen(int keys, bool owns_keys) : keys_(keys), owns_keys_(owns_keys) {
    held.errors = &errors_;
    is_held = true;
    for (size_t i = 0; i < std::size(kEnding); ++i) {
      sigaction(kEnding[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) SetHandler(kEnding[i], OnEnding);
    }
    SetHandler(SIGTSTP, OnStop);
    SetHandler(SIGCONT, OnContinue);
    SetHandler(SIGWINCH, OnResize);
    Take();
  }
  ~TtyScreen() override {
    GiveBack();
    for (size_t i = 0; i < std::size(kEnding); ++i) sigaction(kEnding[i], &before_[i], nullptr);
    for (const int signal : {SIGTSTP, SIGCONT, SIGWINCH}) SetHandler(signal, SIG_DFL);
    if (owns_keys_) close(keys_);
    for (const int end : {held.woken, held.wake}) close(end);
  }
  TtyScreen(const TtyScreen&) = delete;
  TtyScreen& operator=(const TtyScreen&) = delete;

  ScreenSize size() const override {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
      return {};
    return {size.ws_col, size.ws_row};
  }

  void Draw(const std::vector<std::string>& rows) override {
    std::string bytes;
    if (wants_all.exchange(false)) {
      bytes += "\x1b[2J";
      drawn_.clear();
    }
    const size_t height = static_cast<size_t>(size().rows);
    std::vector<std::string> sent;
    for (size_t i = 0; i < height; ++i) sent.push_back(i < rows.size() ? Sent(rows[i]) : "");
    Send(bytes + FrameBytes(drawn_, sent));
    drawn_ = std::move(sent);
  }

  std::optional<KeyPress> WaitForKey(double seconds) override {
    if (const auto key = reader_.Next(/*last=*/false)) return key;
    const int millis = static_cast<int>(std::clamp(std::ceil(seconds * 1000), 0.0, 3.6e6));
    if (!Read(reader_.empty() ? millis : kEscapeMillis)) return KeyPress{KeyKind::kHangUp};
    while (true) {
      if (const auto key = reader_.Next(/*last=*/false)) return key;
      if (reader_.empty()) return std::nullopt;
      const bool more = Await(kEscapeMillis);
      if (more && !Read(0)) return KeyPress{KeyKind::kHangUp};
      if (!more) return reader_.Next(/*last=*/true);
    }
  }

 private:
  // A row as it goes to the terminal: nothing in it steers the terminal but our styles.
  static std::string Sent(const std::string& row) {
    std::ostringstream bytes;
    EscapingStream(&bytes, EscapingBuffer::Kind::kOwn) << row;
    return bytes.str();
  }

  // Until there is something to read, for at most so long, or until a signal that wants a picture.
  bool Await(int millis) const {
    pollfd inputs[] = {{keys_, POLLIN, 0}, {held.woken, POLLIN, 0}};
    if (poll(inputs, std::size(inputs), millis) <= 0) return false;
    char wakes[64];
    while (inputs[1].revents != 0 && read(held.woken, wakes, sizeof wakes) > 0) continue;
    return inputs[0].revents != 0;
  }

  // Waits at most so long, or until a signal. False: the terminal is gone.
  bool Read(int millis) {
    if (!Await(millis)) return true;
    char bytes[256];
    const ssize_t count = read(keys_, bytes, sizeof bytes);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    reader_.Add({bytes, static_cast<size_t>(count)});
    return count > 0;
  }

  const int keys_;
  const bool owns_keys_;
  const KeptErrors errors_;
  struct sigaction before_[std::size(kEnding)]{};
  KeyReader reader_;
  std::vector<std::string> drawn_;
};

}  // namespace

std::unique_ptr<Screen> OpenTtyScreen() {
  if (!isatty(STDOUT_FILENO)) return nullptr;
  const bool owns = !isatty(STDIN_FILENO);
  const int keys = owns ? open("/dev/tty", O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
  if (keys < 0) return nullptr;
  if (tcgetattr(keys, &held.before) != 0) {
    if (owns) close(keys);
    return nullptr;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    if (owns) close(keys);
    return nullptr;
  }
  held.keys = keys;
  held.woken = ends[0];
  held.wake = ends[1];
  held.raw = held.before;
  held.raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C and Ctrl-Z are signals
  held.raw.c_cc[VMIN] = 1;
  held.raw.c_cc[VTIME] = 0;
  return std::make_unique<TtyScreen>(keys, owns);
}

}  // namespace trainctl::client

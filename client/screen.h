// A terminal as one picture, and its keys. tty_screen.h is the real one; tests have one in memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainctl::client {

struct ScreenSize {
  int columns = 80;
  int rows = 24;
};

enum class KeyKind {
  kCharacter,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kBackspace,
  kHangUp,  // the terminal is gone: no key will come
};

struct KeyPress {
  KeyKind kind = KeyKind::kCharacter;
  char character = '\0';  // of kCharacter: ASCII
  bool operator==(const KeyPress&) const = default;
};

class Screen {
 public:
  virtual ~Screen() = default;  // the terminal is as it was before

  virtual ScreenSize size() const = 0;
  // The whole picture, a string a row; styles are marked (show/escaping.h). What is beyond the size
  // is left out.
  virtual void Draw(const std::vector<std::string>& rows) = 0;
  // nullopt: none came in that time, or the size changed.
  virtual std::optional<KeyPress> WaitForKey(double seconds) = 0;
};

}  // namespace trainctl::client

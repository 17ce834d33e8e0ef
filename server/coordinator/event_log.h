// What the coordinator did, one line an event: "2026-11-21T03:55:00.123Z info submitted jobs=j12
// group=g3". Never secrets, never job files.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace trainctl::coordinator {

class EventLog {
 public:
  enum class Level { kInfo, kWarning, kError };
  struct Field {
    std::string_view key;
    std::string value;  // quoted where it holds anything but word characters
  };

  virtual ~EventLog() = default;
  virtual void Write(Level level, std::string_view event, std::initializer_list<Field> fields) = 0;

  void Info(std::string_view event, std::initializer_list<Field> fields = {}) {
    Write(Level::kInfo, event, fields);
  }
  void Warning(std::string_view event, std::initializer_list<Field> fields = {}) {
    Write(Level::kWarning, event, fields);
  }
  void Error(std::string_view event, std::initializer_list<Field> fields = {}) {
    Write(Level::kError, event, fields);
  }
};

// Thread-safe.
class StderrEventLog : public EventLog {
 public:
  void Write(Level level, std::string_view event, std::initializer_list<Field> fields) override;
};

}  // namespace trainctl::coordinator

#include "server/coordinator/event_log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "common/base/utf8.h"

namespace trainctl::coordinator {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("events",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    return made;
  }();
  return *logger;
}

bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./:,+").find(c) != std::string_view::npos;
}

// One line whatever the value holds: a line break in a worker's message must not forge an event.
// Nor may it steer the terminal on which the log is read.
std::string Quoted(const std::string& value) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), IsPlain)) return value;
  std::string text = "\"";
  for (std::string_view rest = value; !rest.empty();) {
    const std::optional<base::CodePoint> first = base::FirstCodePoint(rest);
    const size_t bytes = first ? first->bytes : 1;
    if (rest[0] == '"' || rest[0] == '\\') text += '\\';
    if (rest[0] == '\n')
      text += "\\n";
    else if (!first)
      text += "\uFFFD";
    else if (base::IsControl(first->value))
      text += ' ';
    else
      text += rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  return text + '"';
}

spdlog::level::level_enum ToSpdlog(EventLog::Level level) {
  switch (level) {
    case EventLog::Level::kInfo: return spdlog::level::info;
    case EventLog::Level::kWarning: return spdlog::level::warn;
    case EventLog::Level::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void StderrEventLog::Write(Level level, std::string_view event,
                           std::initializer_list<Field> fields) {
  std::string line(event);
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=' + Quoted(field.value);
  }
  Logger().log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace trainctl::coordinator

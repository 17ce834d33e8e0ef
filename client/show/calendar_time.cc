#include "client/show/calendar_time.h"

#include <cctype>
#include <ctime>
#include <set>
#include <string_view>

namespace trainctl::client {
namespace {

std::time_t SecondsOf(int64_t micros) { return micros / 1'000'000; }

std::tm Local(int64_t micros) {
  const std::time_t seconds = SecondsOf(micros);
  std::tm local{};
  localtime_r(&seconds, &local);
  return local;
}

std::tm Utc(int64_t micros) {
  const std::time_t seconds = SecondsOf(micros);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return utc;
}

std::string Formatted(const std::tm& time, const char* format) {
  char text[96];
  return {text, std::strftime(text, sizeof text, format, &time)};
}

// London's winter, say, is UTC too.
std::string ZoneOf(const std::tm& local) {
  return local.tm_gmtoff == 0 ? "UTC" : Formatted(local, "%Z");
}

// The whole text, or nothing.
bool Reads(const std::string& text, const char* format, std::tm* time) {
  *time = {};
  const char* end = strptime(text.c_str(), format, time);
  return end != nullptr && *end == '\0';
}

// Cuts " UTC" or "Z" off.
bool TakeUtc(std::string* text) {
  for (const std::string& suffix : {std::string(" UTC"), std::string("Z")}) {
    if (!text->ends_with(suffix)) continue;
    text->resize(text->size() - suffix.size());
    return true;
  }
  return false;
}

bool IsSame(const std::tm& left, const std::tm& right) {
  return left.tm_mday == right.tm_mday && left.tm_hour == right.tm_hour &&
         left.tm_min == right.tm_min && left.tm_mon == right.tm_mon;
}

// The times in a text of the coordinator's.
constexpr std::string_view kOfMinutes = "dddd-dd-dd dd:dd UTC";
constexpr std::string_view kOfSeconds = "dddd-dd-dd dd:dd:dd UTC";

// When clocks here show it: none where they are set forward over it, two where they are set back.
std::set<std::time_t> LocalTimesOf(const std::tm& typed) {
  std::set<std::time_t> times;
  for (const int is_summer : {0, 1}) {
    std::tm time = typed;
    time.tm_isdst = is_summer;
    const std::time_t seconds = mktime(&time);
    if (time.tm_isdst == is_summer && IsSame(time, typed) && seconds >= 0) times.insert(seconds);
  }
  return times;
}

std::string UtcMinute(std::time_t seconds) {
  return Formatted(Utc(int64_t{seconds} * 1'000'000), "'%Y-%m-%d %H:%M UTC'");
}

// How long the time is that begins there, "2026-12-01 13:00:05 UTC"; 0: none does.
size_t TimeAt(std::string_view text) {
  for (const std::string_view form : {kOfMinutes, kOfSeconds}) {
    if (text.size() < form.size()) continue;
    size_t same = 0;
    for (; same < form.size(); ++same) {
      const bool is_digit = std::isdigit(static_cast<unsigned char>(text[same])) != 0;
      if (form[same] == 'd' ? !is_digit : text[same] != form[same]) break;
    }
    if (same == form.size()) return same;
  }
  return 0;
}

// "(2026-11-30 23:00 UTC)" stands behind the local time already, and what is quoted was typed.
bool Stays(std::string_view text, size_t at, size_t length) {
  if (at == 0) return false;
  const char before = text[at - 1];
  return before == '\'' || (before == '(' && text.substr(at + length).starts_with(')'));
}

}  // namespace

base::Result<int64_t> ParseCalendarTime(const std::string& text) {
  std::string rest = text;
  const bool is_utc = TakeUtc(&rest);
  std::tm typed{};
  bool is_read = false;
  for (const char* format :
       {"%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"}) {
    if ((is_read = Reads(rest, format, &typed))) break;
  }
  const base::Error wrong{base::Code::kInvalid,
                          "'" + text.substr(0, 64) +
                              "' is no time: expected one such as '2026-12-01 14:00' (local time) "
                              "or '2026-12-01 13:00 UTC'"};
  if (!is_read || typed.tm_year < 70 || typed.tm_year > 8000) return wrong;
  std::tm time = typed;
  const std::time_t as_utc = timegm(&time);
  if (!IsSame(time, typed) || as_utc < 0) return wrong;
  if (is_utc) return int64_t{as_utc} * 1'000'000;
  const std::set<std::time_t> local = LocalTimesOf(typed);
  const std::string quoted = "'" + rest + "'";
  if (local.empty()) {
    return base::Error{base::Code::kInvalid,
                       quoted + " is no time here: the clocks are set forward over it that day"};
  }
  if (local.size() > 1) {
    return base::Error{base::Code::kInvalid,
                       quoted + " comes twice here, as the clocks are set back: say " +
                           UtcMinute(*local.begin()) + " or " + UtcMinute(*local.rbegin())};
  }
  return int64_t{*local.begin()} * 1'000'000;
}

std::string LocalMoment(int64_t micros) {
  const std::tm local = Local(micros);
  return Formatted(local, "%Y-%m-%d %H:%M:%S ") + ZoneOf(local);
}

std::string LocalTime(int64_t micros) {
  const std::tm local = Local(micros);
  if (local.tm_sec != 0) return LocalMoment(micros);
  return Formatted(local, "%Y-%m-%d %H:%M ") + ZoneOf(local);
}

std::string LocalAndUtc(int64_t micros) {
  const std::tm local = Local(micros), utc = Utc(micros);
  if (local.tm_gmtoff == 0) return LocalTime(micros);
  const bool is_other_day = local.tm_mday != utc.tm_mday;
  return LocalTime(micros) + " (" + (is_other_day ? Formatted(utc, "%Y-%m-%d ") : "") +
         Formatted(utc, utc.tm_sec != 0 ? "%H:%M:%S UTC" : "%H:%M UTC") + ")";
}

std::string UtcTime(int64_t micros) { return Formatted(Utc(micros), "%Y-%m-%d %H:%M:%S UTC"); }

std::string InLocalTime(const std::string& text) {
  std::string local;
  for (size_t at = 0; at < text.size();) {
    const size_t length = TimeAt(std::string_view(text).substr(at));
    const base::Result<int64_t> time = length > 0 && !Stays(text, at, length)
                                           ? ParseCalendarTime(text.substr(at, length))
                                           : base::Error{base::Code::kInvalid, "no time"};
    const auto in_local = length == kOfSeconds.size() ? LocalMoment : LocalTime;
    local += time.ok() ? in_local(*time) : text.substr(at, 1);
    at += time.ok() ? length : 1;
  }
  return local;
}

std::string LocalDay(int64_t micros) { return Formatted(Local(micros), "%a %Y-%m-%d"); }
std::string LocalMinute(int64_t micros) { return Formatted(Local(micros), "%H:%M"); }
std::string LocalSecond(int64_t micros) { return Formatted(Local(micros), "%H:%M:%S"); }
std::string LocalZone(int64_t micros) {
  const std::tm local = Local(micros);
  return local.tm_gmtoff == 0
             ? "UTC"
             : ZoneOf(local) + " (UTC" + Formatted(local, "%z").insert(3, ":") + ")";
}
std::string CalendarStamp(int64_t micros) { return Formatted(Utc(micros), "%Y%m%dT%H%M%SZ"); }

}  // namespace trainctl::client

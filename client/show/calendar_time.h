// Times of a calendar, as people type and read them: local time unless it says UTC. All texts have
// times in one form, and those of leases in UTC as well; records have seconds since the epoch.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace trainctl::client {

// "2026-12-01 14:00", with seconds if need be; with " UTC" or "Z" behind it, or else local time.
// Wall micros. kInvalid: not such a time, or one that local clocks pass over or
// show twice.
base::Result<int64_t> ParseCalendarTime(const std::string& text);

// "2026-12-01 14:00:05 CET": when something happened.
std::string LocalMoment(int64_t micros);

// As well of what people set or what is expected: a whole minute is "2026-12-01 14:00 CET".
std::string LocalTime(int64_t micros);

// "2026-12-01 14:00 CET (13:00 UTC)"; where local time is UTC: "2026-12-01 13:00 UTC". Of leases,
// which people of several zones share.
std::string LocalAndUtc(int64_t micros);

// A text of the coordinator's with each of its times, "2026-12-01 13:00 UTC", in local time; it has
// seconds where the text has them.
// One that LocalAndUtc has written stays, and so does one in quotes.
std::string InLocalTime(const std::string& text);

// "2026-12-01 13:00:05 UTC": of files that are read elsewhere.
std::string UtcTime(int64_t micros);

// "Tue 2026-12-01", "14:00" and "14:00:05", local.
std::string LocalDay(int64_t micros);
std::string LocalMinute(int64_t micros);
std::string LocalSecond(int64_t micros);
// "CET (UTC+01:00)", "UTC": that of local time then.
std::string LocalZone(int64_t micros);

// "20261201T130000Z", of iCalendar (RFC 5545).
std::string CalendarStamp(int64_t micros);

}  // namespace trainctl::client

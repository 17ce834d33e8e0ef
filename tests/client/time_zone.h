// The time zone of a test.
#pragma once

#include <cstdlib>
#include <ctime>

namespace trainctl::client {

// One of its own, which needs no database of zones; UTC after it.
class TimeZone {
 public:
  explicit TimeZone(const char* zone) { Set(zone); }
  ~TimeZone() { Set("UTC0"); }
  TimeZone(const TimeZone&) = delete;
  TimeZone& operator=(const TimeZone&) = delete;

  void Set(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }
};

}  // namespace trainctl::client

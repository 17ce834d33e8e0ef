// How much devices and hosts had to do in the last minutes. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "client/top/site_view.h"

namespace trainctl::client {

class LoadHistory {
 public:
  // What is seen now; a view may come as often as it likes.
  void Add(const SiteView& site);

  // Of each device by its worker's name, and of each host by its own.
  std::map<std::string, LoadCurve> Curves() const;

 private:
  struct Bucket {
    int64_t number = -1;  // since the epoch
    double total = 0;
    int count = 0;
  };
  void Note(const std::string& name, double percent);

  int64_t now_ = 0;  // the bucket's number
  std::map<std::string, std::array<Bucket, kLoadBuckets>> buckets_;
};

// "▁▁▃▇█": a column each bucket, a blank where nothing was seen. Empty of fewer than two.
std::string SparkLine(const LoadCurve& curve, bool unicode);

}  // namespace trainctl::client

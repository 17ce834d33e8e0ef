// The load of the last minutes in a word's width. Pure.
#pragma once

#include <string>

#include "client/top/site_view.h"

namespace trainctl::client {

// "▁▁▃▇█": a column for each of the last so many buckets, a blank where nothing was seen. Empty of
// fewer than two.
std::string SparkLine(const LoadCurve& curve, bool unicode, int buckets = kLoadBuckets);

}  // namespace trainctl::client

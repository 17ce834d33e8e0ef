// Arrow's errors as ours.
#pragma once

#include <arrow/status.h>

#include <string>

#include "common/base/result.h"
#include "common/base/utf8.h"

namespace trainctl::tables {

inline constexpr size_t kMostErrorBytes = 300;

// place: what was read.
inline base::Error ErrorOf(const arrow::Status& status, const std::string& place) {
  const base::Code code = status.IsOutOfMemory() || status.IsCapacityError()
                              ? base::Code::kExhausted
                          : status.IsIOError() ? base::Code::kIo
                                               : base::Code::kInvalid;
  return {code, place + ": " + base::Excerpt(status.message(), kMostErrorBytes)};
}

}  // namespace trainctl::tables

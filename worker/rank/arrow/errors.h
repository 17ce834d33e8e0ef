// Arrow's errors as ours.
#pragma once

#include <arrow/status.h>
#include <arrow/util/io_util.h>

#include <string>

#include "common/base/result.h"
#include "common/base/utf8.h"

namespace trainctl::tables {

inline constexpr size_t kMostErrorBytes = 300;

// place: what was read. What Arrow calls an error of I/O is mostly a broken file; only one with the
// operating system's number is none.
inline base::Error ErrorOf(const arrow::Status& status, const std::string& place) {
  base::Code code = base::Code::kInvalid;
  if (status.IsOutOfMemory() || status.IsCapacityError()) code = base::Code::kExhausted;
  if (arrow::internal::ErrnoFromStatus(status) != 0) code = base::Code::kIo;
  return {code, place + ": " + base::Excerpt(status.message(), kMostErrorBytes)};
}

}  // namespace trainctl::tables

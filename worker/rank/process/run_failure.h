// A user's or the world's error that ends a rank's run before its outcome is known. Examples are a
// model that is not there and data that are too few. It is thrown inside RunRank only, and turned
// into an outcome by outcome_of.h.
#pragma once

#include <string>
#include <utility>

#include "common/base/result.h"

namespace trainctl::train {

struct RunFailure {
  std::string
      message;  // begins with the job's field or the thing that it is about: "model.path: …"
};

// The value, or throws its error as a RunFailure of `what`.
template <class T>
T Take(base::Result<T> result, const std::string& what) {
  if (!result) throw RunFailure{what + ": " + result.error().message};
  return std::move(result).value();
}

}  // namespace trainctl::train

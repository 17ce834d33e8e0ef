// Numbers of an earlier run of a lab, as `trainctl export` wrote them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::client {

class ReferenceResults {
 public:
  // Of comparison.json; source names it in messages. kInvalid: it is none.
  static base::Result<ReferenceResults> Read(const std::string& text, const std::string& source);

  bool Has(const std::string& experiment) const { return numbers_.contains(experiment); }
  // By a row's key, as compare has it. Nothing where the experiment, or its number, is not there.
  std::optional<double> Number(const std::string& experiment, std::string_view key) const;

 private:
  std::map<std::string, std::map<std::string, double, std::less<>>> numbers_;  // by experiment
};

}  // namespace trainctl::client

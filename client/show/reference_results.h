// Numbers of earlier runs of a lab, as `trainctl export` wrote them. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::client {

class ReferenceResults {
 public:
  // Of a comparison.json; source names it in messages. kInvalid: it is none. What an earlier one
  // has of an experiment is replaced.
  base::Status Add(const std::string& text, const std::string& source);

  bool Has(const std::string& experiment) const { return experiments_.contains(experiment); }
  // When and on what it was measured, as the comparison's "measured" says it, else the id of the
  // job. Empty where the experiment is not there.
  std::string Origin(const std::string& experiment) const;
  // By a row's key, as compare has it. Nothing where the experiment, or its number, is not there.
  std::optional<double> Number(const std::string& experiment, std::string_view key) const;

 private:
  struct Experiment {
    std::string origin;
    std::map<std::string, double, std::less<>> numbers;  // by the row's key
  };
  std::map<std::string, Experiment> experiments_;  // those with a number
};

}  // namespace trainctl::client

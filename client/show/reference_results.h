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
  // For people: where the comparison does not say it, its source: "lab/comparison.json, on NVIDIA
  // H200".
  std::string DescribedOrigin(const std::string& experiment) const;
  // "NVIDIA H200"; empty where it is not known.
  std::string DeviceName(const std::string& experiment) const;
  // By a row's key, as compare has it. Nothing where the experiment, or its number, is not there.
  std::optional<double> Number(const std::string& experiment, std::string_view key) const;

 private:
  struct Experiment {
    std::string origin, described_origin, device_name;
    std::map<std::string, double, std::less<>> numbers;  // by the row's key
  };
  // Empty where it is not there.
  const Experiment& Find(const std::string& experiment) const;

  std::map<std::string, Experiment> experiments_;  // those with a number
};

}  // namespace trainctl::client

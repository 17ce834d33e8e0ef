// Which jobs a command is about, besides those that it names: --state, --user, --tag, --group.
#pragma once

#include <string>
#include <vector>

#include "client/arguments.h"
#include "client/context.h"

namespace trainctl::client {

class JobFilter {
 public:
  void Declare(Arguments& arguments);

  // Jobs that are named may be there and not pass. --group is no such condition.
  bool IsNarrow() const { return !states_.empty() || !users_.empty() || !tags_.empty(); }
  bool IsGiven() const { return IsNarrow() || !group_.empty(); }

  // Where --group is given: of the jobs that are named, those of the group; of none, the group.
  // kNotFound: there is no such group, or it has none of them.
  base::Status KeepJobsOfGroup(Context& context, Api& api, std::vector<std::string>* jobs) const;

  // For these jobs, or of none for all. kInvalid: there is no such state.
  base::Result<v1::ListRequest> Request(const std::vector<std::string>& jobs) const;

 private:
  std::string states_, users_, tags_, group_;
};

}  // namespace trainctl::client

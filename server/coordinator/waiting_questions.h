// How many questions wait, of all and of each user. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "common/base/result.h"

namespace trainctl::coordinator {

class WaitingQuestions {
 public:
  WaitingQuestions(size_t most, size_t most_of_user) : most_(most), most_of_user_(most_of_user) {}

  // kExhausted: too many wait, or too many of this user. "" is no user.
  base::Status Enter(const std::string& user) {
    const std::lock_guard lock(mutex_);
    if (all_ >= most_) {
      return base::Error{base::Code::kExhausted, std::to_string(most_) +
                                                     " questions wait already: try again in a "
                                                     "moment"};
    }
    if (!user.empty()) {
      size_t& of_user = of_user_[user];
      if (of_user >= most_of_user_) {
        return base::Error{base::Code::kExhausted,
                           user + " has " + std::to_string(most_of_user_) +
                               " questions that wait already, and may not have more: try again "
                               "when some are answered"};
      }
      ++of_user;
    }
    ++all_;
    return base::Ok{};
  }
  void Leave(const std::string& user) {
    const std::lock_guard lock(mutex_);
    --all_;
    const auto found = of_user_.find(user);
    if (found != of_user_.end() && --found->second == 0) of_user_.erase(found);
  }

 private:
  const size_t most_, most_of_user_;
  std::mutex mutex_;
  size_t all_ = 0;
  std::map<std::string, size_t> of_user_;  // none is 0
};

}  // namespace trainctl::coordinator

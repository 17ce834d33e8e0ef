// Watch: the jobs' views, now and after each change, until all are FINISHED.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/trainctl.pb.h"
#include "server/rpc/backend.h"
#include "server/rpc/write_stream.h"

namespace trainctl::rpc {

class WatchStream : public WriteStream<v1::WatchRequest, v1::JobView> {
 public:
  explicit WatchStream(Backend& backend);
  ~WatchStream() override;

 protected:
  void Pump() override;

 private:
  void Find();
  void ReadChanged();

  Backend& backend_;
  std::optional<coordinator::ChangeFeed::Subscription> subscription_;
  std::set<base::JobId> unfinished_;
  // A client that reads nothing keeps few of them.
  static constexpr size_t kMostViews = 16;
  std::set<base::JobId> changed_;  // to be read again
  std::deque<v1::JobView> views_;  // to be written: at most one for each job, and kMostViews
  bool waiting_ = false;           // for an answer of the store
};

}  // namespace trainctl::rpc

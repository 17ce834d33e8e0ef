// Renews this host's certificate at the coordinator, long before it expires. Runs on the
// io_context's thread, where it is made and destroyed too.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace grpc {
class Status;
}

namespace trainctl::agent {

struct RenewalOptions {
  std::string keys;                                         // the folder
  std::function<base::Result<std::string>()> read_address;  // of the coordinator, HOST:PORT
  std::chrono::milliseconds period{std::chrono::minutes(10)};
};

class Renewal {
 public:
  Renewal(boost::asio::io_context& io, const base::Clock& clock, RenewalOptions options);
  ~Renewal();

  // Looks at the certificate now and after each period.
  void Start();
  // Once a call has ended: Ok, or why the certificate is still the old one. For tests.
  std::function<void(const base::Status&)> on_end;

 private:
  struct Call;

  void Ask(const std::string& address);
  void Answered(const grpc::Status& status, const Call& call);
  base::Status Keep(const Call& call) const;
  void Ended(const base::Status& status);

  boost::asio::io_context& io_;
  const base::Clock& clock_;
  const RenewalOptions options_;
  boost::asio::steady_timer timer_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<Call> call_;  // the one under way
  std::string last_fault_;      // said once in the log
};

}  // namespace trainctl::agent

// What the connections of one server share. The server's thread only, but for `handler`.
#pragma once

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <set>
#include <utility>

#include "server/auth/call_rate.h"
#include "server/auth/unix_policy.h"
#include "server/coordinator/event_log.h"
#include "server/web/http.h"
#include "server/web/server.h"

namespace trainctl::web {

// Ends what is open when the server stops.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void Close() = 0;
};

// Shared by what waits for it, also by answers on other threads; it is deleted on the server's.
template <class T, class Executor>
std::shared_ptr<T> OwnedBy(const Executor& executor, std::unique_ptr<T> connection) {
  return {connection.release(), [executor](T* last) {
            boost::asio::dispatch(executor, [owner = std::unique_ptr<T>(last)] {});
          }};
}

struct Shared {
  Handler& handler;  // any thread
  coordinator::EventLog& log;
  auth::CallRate& rate;
  const auth::UnixPolicy policy;
  const Limits limits;
  std::set<Connection*> open = {};
  int live_streams = 0;
};

// Who is at the other end, proven. kDenied, kIo.
base::Result<auth::Caller> CallerAt(const boost::asio::ip::tcp::socket& socket,
                                    const auth::UnixPolicy& policy);

}  // namespace trainctl::web

// What the connections of one server share. The server's thread only, but for `handler`.
#pragma once

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "server/auth/call_rate.h"
#include "server/auth/unix_policy.h"
#include "server/coordinator/event_log.h"
#include "server/web/door.h"
#include "server/web/http.h"
#include "server/web/server.h"

namespace trainctl::web {

// One that is open.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void Close() = 0;  // when the server stops
  // What the bounds go by.
  virtual const std::string& host() const = 0;  // where it comes from: "10.0.0.7"
  virtual std::string live_user() const = 0;    // whose live stream it is; empty: it is none
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
  Door* const door;  // any thread; null: loopback without TLS
  const Limits limits;
  std::set<Connection*> open = {};

  int Open(const std::string& host) const {
    return static_cast<int>(std::ranges::count(open, host, &Connection::host));
  }
  // Of a user, or of all.
  int LiveStreams(const std::string& user = "") const {
    return static_cast<int>(std::ranges::count_if(open, [&user](const Connection* one) {
      return user.empty() ? !one->live_user().empty() : one->live_user() == user;
    }));
  }
};

// "127.0.0.1:40001"; empty: its peer is gone.
std::string AddressOf(const boost::asio::ip::tcp::socket& socket);

// Who is at the other end, proven. kDenied, kIo.
base::Result<auth::Caller> CallerAt(const boost::asio::ip::tcp::socket& socket,
                                    const auth::UnixPolicy& policy);

}  // namespace trainctl::web

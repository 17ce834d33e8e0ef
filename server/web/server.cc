#include "server/web/server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/web/connection.h"
#include "server/web/session.h"
#include "server/web/streams.h"

namespace trainctl::web {
namespace {

using boost::asio::ip::tcp;

constexpr std::chrono::milliseconds kAcceptPause{100};  // out of file descriptors

}  // namespace

// `shared` outlives what io holds.
struct Server::Asio {
  explicit Asio(const Parts& parts)
      : shared{parts.handler, parts.log, parts.rate, parts.policy, parts.door, parts.limits} {}

  base::Status Listen(auth::ListenAddress* address);
  void Accept();
  void OnAccepted(boost::system::error_code error, tcp::socket socket);

  Shared shared;
  std::optional<boost::asio::ssl::context> tls;  // of its connections, with TLS
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{io.get_executor()};
  tcp::acceptor acceptor{io};
  boost::asio::steady_timer pause{io};
  std::thread thread;
};

base::Status Server::Asio::Listen(auth::ListenAddress* address) {
  boost::system::error_code error;
  const tcp::endpoint endpoint(boost::asio::ip::make_address(address->host, error),
                               static_cast<unsigned short>(address->port));
  const auto step = [&error](auto&& act) {
    if (!error) act();
  };
  step([&] { acceptor.open(endpoint.protocol(), error); });
  step([&] { acceptor.set_option(tcp::acceptor::reuse_address(true), error); });
  step([&] { acceptor.bind(endpoint, error); });
  step([&] { acceptor.listen(boost::asio::socket_base::max_listen_connections, error); });
  if (error) {
    const bool is_taken = error == boost::asio::error::address_in_use;
    return base::Error{is_taken ? base::Code::kConflict : base::Code::kIo,
                       (address->tls ? "--dashboard-tls " : "--dashboard ") +
                           auth::ToString(*address) + ": " + error.message() +
                           ": choose another port, or port 0"};
  }
  address->port = acceptor.local_endpoint().port();
  return base::Ok{};
}

void Server::Asio::Accept() {
  acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
    OnAccepted(error, std::move(socket));
  });
}

void Server::Asio::OnAccepted(boost::system::error_code error, tcp::socket socket) {
  if (error == boost::asio::error::operation_aborted) return;
  if (error) {
    shared.log.Warning("dashboard_can_not_accept", {{"error", error.message()}});
    pause.expires_after(kAcceptPause);
    return pause.async_wait([this](boost::system::error_code stopped) {
      if (!stopped) Accept();
    });
  }
  const std::string address = AddressOf(socket);
  if (static_cast<int>(shared.open.size()) < shared.limits.connections &&
      shared.Open(address.substr(0, address.rfind(':'))) < shared.limits.connections_of_host)
    ServeConnection(std::move(socket), tls ? &*tls : nullptr, shared);
  Accept();
}

Server::Server() = default;

base::Result<std::unique_ptr<Server>> Server::Start(const auth::ListenAddress& address,
                                                    const Parts& parts) {
  CHECK(address.tls == (parts.door != nullptr)) << auth::ToString(address);
  std::unique_ptr<Server> server(new Server());
  server->address_ = address;
  server->asio_ = std::make_unique<Asio>(parts);
  if (address.tls) {
    auto context = MakeTlsContext(parts.door->keys());
    if (!context) return context.error();
    server->asio_->tls = std::move(*context);
  }
  const base::Status listens = server->asio_->Listen(&server->address_);
  if (!listens) return listens.error();
  server->asio_->Accept();
  server->asio_->thread = std::thread([asio = server->asio_.get()] { asio->io.run(); });
  return server;
}

Server::~Server() { Stop(); }

void Server::Stop() {
  if (!asio_ || !asio_->thread.joinable()) return;
  boost::asio::post(asio_->io, [asio = asio_.get()] {
    asio->acceptor.close();
    asio->pause.cancel();
    const std::vector<Connection*> open(asio->shared.open.begin(), asio->shared.open.end());
    for (Connection* connection : open) connection->Close();
    asio->io.stop();
  });
  asio_->thread.join();
}

}  // namespace trainctl::web

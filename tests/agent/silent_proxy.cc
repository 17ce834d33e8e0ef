#include "tests/agent/silent_proxy.h"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

namespace trainctl::tests {

using boost::asio::ip::tcp;
using boost::system::error_code;

struct SilentProxy::Connection {
  using Pointer = std::shared_ptr<Connection>;

  Connection(tcp::socket accepted, boost::asio::io_context& io)
      : client(std::move(accepted)), server(io) {}

  static void Forward(const Pointer& connection, tcp::socket& from, tcp::socket& to,
                      std::array<char, 4096>& bytes) {
    from.async_read_some(boost::asio::buffer(bytes),
                         [=, &from, &to, &bytes](error_code error, size_t size) {
                           if (connection->silent) return;
                           if (error) return connection->Close();
                           boost::asio::write(to, boost::asio::buffer(bytes, size), error);
                           if (error) return connection->Close();
                           Forward(connection, from, to, bytes);
                         });
  }

  void Close() {
    error_code ignored;
    client.close(ignored);
    server.close(ignored);
  }

  tcp::socket client, server;
  std::array<char, 4096> upward = {}, downward = {};
  bool silent = false;
};

SilentProxy::SilentProxy(const std::string& to)
    : to_(boost::asio::ip::make_address("127.0.0.1"),
          static_cast<uint16_t>(std::stoi(to.substr(to.rfind(':') + 1)))),
      acceptor_(io_, tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), 0)) {
  Accept();
  thread_ = std::thread([this] { io_.run(); });
}

SilentProxy::~SilentProxy() {
  io_.stop();
  thread_.join();
}

std::string SilentProxy::address() const {
  return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
}

void SilentProxy::FallSilent() {
  boost::asio::post(io_, [this] {
    for (const auto& connection : connections_) connection->silent = true;
  });
}

void SilentProxy::Accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket accepted) {
    if (error) return;
    const auto connection = std::make_shared<Connection>(std::move(accepted), io_);
    connections_.push_back(connection);
    connection->server.connect(to_, error);
    if (error) connection->Close();
    Connection::Forward(connection, connection->client, connection->server, connection->upward);
    Connection::Forward(connection, connection->server, connection->client, connection->downward);
    Accept();
  });
}

}  // namespace trainctl::tests

// A network between a worker and its coordinator that can go dead: a TCP proxy on loopback that
// forwards until it falls silent. Connections that were open then stay open and nothing goes
// through them any more, as where packets are dropped; later ones are forwarded again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace trainctl::tests {

class SilentProxy {
 public:
  // to: "127.0.0.1:port".
  explicit SilentProxy(const std::string& to);
  ~SilentProxy();

  std::string address() const;
  void FallSilent();

 private:
  struct Connection;
  void Accept();

  boost::asio::io_context io_;
  const boost::asio::ip::tcp::endpoint to_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<Connection>> connections_;  // the thread's
  std::thread thread_;
};

}  // namespace trainctl::tests

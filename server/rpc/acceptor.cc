#include "server/rpc/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "common/peer/socket_address.h"

namespace trainctl::rpc {
namespace {

constexpr int kRestMillis = 100;  // while no descriptor is left

base::Error CanNotListen(const auth::ListenAddress& address) {
  const std::string text = auth::ToString(address) + ": can't listen there";
  if (errno == EADDRINUSE) {
    return {base::Code::kConflict,
            text + "; another process has the port: choose another one, or port 0"};
  }
  const bool is_full = errno == EMFILE || errno == ENFILE;
  return {is_full ? base::Code::kExhausted : base::Code::kIo, text + ": " + std::strerror(errno)};
}

void SetOption(const peer::OpenFile& file, int level, int option) {
  const int on = 1;
  setsockopt(file.get(), level, option, &on, sizeof on);
}

}  // namespace

base::Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const auth::ListenAddress& address) {
  const auto endpoint = peer::ParseEndpoint(auth::ToString(address));
  CHECK(endpoint.has_value()) << auth::ToString(address);
  peer::OpenFile listener(
      socket(peer::FamilyOf(*endpoint), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.get() < 0) return CanNotListen(address);
  SetOption(listener, SOL_SOCKET, SO_REUSEADDR);
  sockaddr_storage own{};
  const socklen_t size = peer::ToSocketAddress(*endpoint, &own);
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&own), size) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0)
    return CanNotListen(address);
  const auto bound = peer::OwnEnd(listener.get());
  peer::OpenFile end(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bound || end.get() < 0) return CanNotListen(address);
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(listener), std::move(end), bound->port));
}

void Acceptor::Start(Take take) {
  thread_ = std::thread([this, take = std::move(take)] { Run(take); });
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    eventfd_write(end_.get(), 1);
    thread_.join();
  }
  listener_.Close();
}

void Acceptor::Run(const Take& take) {
  pollfd ready[] = {{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  while (true) {
    poll(ready, 2, -1);
    if (ready[0].revents != 0) return;
    if (ready[1].revents == 0) continue;
    peer::OpenFile connection(
        accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int error = errno;
    if (connection.get() >= 0) {
      SetOption(connection, IPPROTO_TCP, TCP_NODELAY);
      take(std::move(connection));
    } else if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
      poll(ready, 1, kRestMillis);
    }
  }
}

}  // namespace trainctl::rpc

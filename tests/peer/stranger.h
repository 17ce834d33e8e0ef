// A listener on loopback of a user of its own, who takes connections and reads what they send.
// Only root can make one.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

namespace trainctl::peer {

class Stranger {
 public:
  explicit Stranger(uid_t user) {
    std::thread([this, user] {
      setfsuid(user);  // of this thread alone
      file_ = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof address;
      bind(file_, reinterpret_cast<sockaddr*>(&address), size);
      listen(file_, 8);
      getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);
      port_ = ntohs(address.sin_port);
    }).join();
    thread_ = std::thread([this, user] {
      setfsuid(user);
      Serve();
    });
  }
  ~Stranger() {
    shutdown(file_, SHUT_RDWR);
    thread_.join();
    close(file_);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int taken() const { return taken_; }  // connections that have ended again
  size_t bytes() const { return bytes_; }

 private:
  // Until the listener is shut down: one connection at a time, to its end.
  void Serve() {
    constexpr int kEndMillis = 5000;
    for (int connection = accept(file_, nullptr, nullptr); connection >= 0;
         connection = accept(file_, nullptr, nullptr)) {
      char buffer[4096];
      pollfd ready{connection, POLLIN, 0};
      while (poll(&ready, 1, kEndMillis) == 1) {
        const ssize_t got = read(connection, buffer, sizeof buffer);
        if (got <= 0) break;
        bytes_ += static_cast<size_t>(got);
      }
      close(connection);
      ++taken_;
    }
  }

  int file_ = -1;
  int port_ = 0;
  std::atomic<int> taken_ = 0;
  std::atomic<size_t> bytes_ = 0;
  std::thread thread_;
};

}  // namespace trainctl::peer

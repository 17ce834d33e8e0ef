#include "tests/web/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/fsuid.h>
#include <sys/socket.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace trainctl::web_test {

HttpClient::HttpClient(const std::string& address, uid_t user) : tls_(nullptr, SSL_free) {
  const size_t colon = address.rfind(':');
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &server.sin_addr);
  setfsuid(user);  // of this thread alone
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setfsuid(geteuid());
  const timeval deadline{.tv_sec = 60, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
  EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&server), sizeof server), 0) << address;
}

HttpClient::HttpClient(const std::string& address, const std::string& ca_file)
    : HttpClient(address) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                             SSL_CTX_free);
  EXPECT_EQ(SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr), 1) << ca_file;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  tls_.reset(SSL_new(context.get()));
  SSL_set_fd(tls_.get(), socket_);
  EXPECT_EQ(SSL_connect(tls_.get()), 1) << address;
}

HttpClient::~HttpClient() { close(socket_); }

void HttpClient::Send(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const char* piece = bytes.data() + sent;
    const size_t size = bytes.size() - sent;
    const ssize_t count = tls_ ? SSL_write(tls_.get(), piece, static_cast<int>(size))
                               : send(socket_, piece, size, MSG_NOSIGNAL);
    if (count <= 0) return;  // the other side has ended it
    sent += static_cast<size_t>(count);
  }
}

bool HttpClient::Fill() {
  char piece[4096];
  const ssize_t count =
      tls_ ? SSL_read(tls_.get(), piece, sizeof piece) : recv(socket_, piece, sizeof piece, 0);
  if (count <= 0) return false;
  received_.append(piece, static_cast<size_t>(count));
  return true;
}

std::string HttpClient::ReceiveUntil(const std::string& text) {
  size_t found = received_.find(text);
  while (found == std::string::npos) {
    if (!Fill()) return "";
    found = received_.find(text);
  }
  const std::string taken = received_.substr(0, found + text.size());
  received_.erase(0, taken.size());
  return taken;
}

Reply HttpClient::Receive(bool head_only) {
  Reply reply;
  std::istringstream head(ReceiveUntil("\r\n\r\n"));
  std::string line, version;
  std::getline(head, line);
  std::istringstream(line) >> version >> reply.status;
  while (std::getline(head, line) && line.find(':') != std::string::npos) {
    const size_t colon = line.find(':');
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = line.substr(colon + 2, line.size() - colon - 3);
  }
  const auto length = reply.headers.find("content-length");
  if (head_only || length == reply.headers.end()) return reply;
  const auto bytes = static_cast<size_t>(std::stoul(length->second));
  while (received_.size() < bytes && Fill()) continue;
  reply.body = received_.substr(0, bytes);
  received_.erase(0, bytes);
  return reply;
}

std::string HttpClient::ReceiveToEnd() {
  while (Fill()) continue;
  return std::exchange(received_, "");
}

std::string GetText(const std::string& address, const std::string& target,
                    const std::string& more_lines) {
  return "GET " + target + " HTTP/1.1\r\nHost: " + address + "\r\n" + more_lines + "\r\n";
}

Reply Ask(HttpClient& client, const std::string& text) {
  client.Send(text);
  return client.Receive();
}

Reply Get(const std::string& address, const std::string& target, const std::string& more_lines) {
  HttpClient client(address);
  return Ask(client, GetText(address, target, more_lines));
}

}  // namespace trainctl::web_test

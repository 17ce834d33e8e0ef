// A client of HTTP that sends what the test says and reads what comes, whole answers or piece by
// piece.
#pragma once

#include <unistd.h>

#include <map>
#include <memory>
#include <string>

struct ssl_st;

namespace trainctl::web_test {

struct Reply {
  int status = 0;                              // 0: none came
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

class HttpClient {
 public:
  // address: "127.0.0.1:40001". user: whose the socket is (tests/rpc/user_channel.h). Fails the
  // test where nobody listens.
  explicit HttpClient(const std::string& address, uid_t user = geteuid());
  // Over TLS, with a server that this authority (a PEM file) has certified. Fails the test where it
  // has not.
  HttpClient(const std::string& address, const std::string& ca_file);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void Send(const std::string& bytes);
  // One answer, by its length; of a HEAD without its body.
  Reply Receive(bool head_only = false);
  // What comes until the text is in it, that included; "" where the other side ends before.
  std::string ReceiveUntil(const std::string& text);
  // What comes until the other side ends the connection.
  std::string ReceiveToEnd();

 private:
  bool Fill();

  int socket_ = -1;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> tls_;  // null: without
  std::string received_;
};

// "GET /target" with the Host of the address, and a head's further lines.
std::string GetText(const std::string& address, const std::string& target,
                    const std::string& more_lines = "");

// One request of a client, as GetText; its answer.
Reply Ask(HttpClient& client, const std::string& text);

// One GET on a connection of its own.
Reply Get(const std::string& address, const std::string& target,
          const std::string& more_lines = "");

}  // namespace trainctl::web_test

#include "worker/agent/uplink.h"

#include <spdlog/spdlog.h>

#include <boost/asio/ip/udp.hpp>
#include <utility>

#include "common/base/file.h"
#include "common/peer/dial.h"
#include "common/tls/handshake.h"
#include "proto/trainctl.pb.h"

namespace trainctl::agent {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using boost::system::error_code;

// The address of this host that packets to the endpoint leave from. Nothing is sent.
std::string LocalAddress(asio::io_context& io, const tcp::endpoint& coordinator) {
  error_code error;
  udp::socket socket(io);
  socket.connect(udp::endpoint(coordinator.address(), coordinator.port()), error);
  const udp::endpoint local = error ? udp::endpoint() : socket.local_endpoint(error);
  return error ? "127.0.0.1" : local.address().to_string();
}

base::Result<peer::Connection> DialLoopback(const tcp::endpoint& endpoint,
                                            const UplinkOptions& options) {
  const std::string host = endpoint.address().to_string();
  const std::string text = (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
                           std::to_string(endpoint.port());
  const auto listener = peer::FindLoopback(text);
  if (!listener) return base::Error{base::Code::kInvalid, text + ": no address of loopback"};
  return peer::DialTrusted(*listener, {.also_trusted = options.coordinator_user,
                                       .how_to_trust = "--coordinator-user ",
                                       .patience = options.patience});
}

// gRPC tells only that a handshake failed.
base::Error WithCause(const CoordinatorAddress& coordinator, const base::Error& reason,
                      std::chrono::milliseconds patience) {
  if (!coordinator.keys || reason.code != base::Code::kUnavailable) return reason;
  const base::Status tried = tls::TryHandshake({.address = coordinator.text,
                                                .authority = coordinator.keys->authority,
                                                .patience = patience});
  if (tried || tried.error().code != base::Code::kDenied) return reason;
  return {reason.code, tried.error().message};
}

}  // namespace

base::Result<std::string> ReadAddress(const UplinkOptions& options) {
  if (!options.coordinator.empty()) return options.coordinator;
  base::Result<std::string> text = base::ReadFile(options.coordinator_file, 4096);
  if (!text) return text.error();
  text->erase(text->find_last_not_of(" \r\n\t") + 1);
  return text;
}

base::Result<HostPort> ParseHostPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  HostPort parts;
  if (colon != std::string::npos) parts = {text.substr(0, colon), text.substr(colon + 1)};
  if (parts.host.starts_with('[') && parts.host.ends_with(']'))
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  const bool is_number =
      !parts.port.empty() && parts.port.find_first_not_of("0123456789") == std::string::npos;
  if (parts.host.empty() || !is_number)
    return base::Error{base::Code::kInvalid, "'" + text + "' is no address: expected host:port"};
  return parts;
}

Uplink::Uplink(asio::io_context& io, UplinkOptions options, Callbacks callbacks)
    : io_(io),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      resolver_(io),
      timer_(io),
      backoff_(options_.first_retry, options_.last_retry, options_.seed) {}

Uplink::~Uplink() { *alive_ = false; }

void Uplink::Dial() {
  const base::Result<std::string> address = ReadAddress(options_);
  if (!address) return DialLater(address.error().message);
  const base::Result<HostPort> parts = ParseHostPort(*address);
  if (!parts) return DialLater(parts.error().message);
  // As the coordinator reads it: elsewhere localhost may be [::1], where anybody may listen.
  const std::string host = parts->host == "localhost" ? "127.0.0.1" : parts->host;
  resolver_.async_resolve(
      host, parts->port,
      [this, alive = alive_, address = *address](error_code error, const auto& endpoints) {
        if (!*alive) return;
        if (error || endpoints.empty())
          return DialLater("cannot resolve " + address + ": " + error.message());
        Open(address, endpoints);
      });
}

void Uplink::Open(const std::string& address, const tcp::resolver::results_type& endpoints) {
  const tcp::endpoint first = endpoints.begin()->endpoint();
  auto coordinator = Reach(address, first);
  if (!coordinator) return DialLater(coordinator.error().message);
  reached_ = *coordinator;
  CoordinatorStream::Callbacks callbacks{
      .on_message = callbacks_.on_message,
      .on_writable = callbacks_.on_writable,
      .on_closed = [this](const base::Error& reason) { Closed(reason); }};
  stream_ =
      std::make_unique<CoordinatorStream>(io_, reached_, options_.keep_alive, std::move(callbacks));
  callbacks_.on_up(LocalAddress(io_, first));
}

base::Result<CoordinatorAddress> Uplink::Reach(const std::string& address,
                                               const tcp::endpoint& endpoint) const {
  CoordinatorAddress coordinator{address, std::nullopt, std::nullopt};
  if (!options_.keys.empty()) {
    auto keys = ReadHostKeys(options_.keys);
    if (!keys) return keys.error();
    coordinator.keys = std::move(*keys);
  } else if (endpoint.address().is_loopback()) {
    // Connected here and not by gRPC, so that the connection which is proven is the one used.
    const auto connection = DialLoopback(endpoint, options_);
    if (!connection) return connection.error();
    coordinator.connected = connection->file;
  } else {
    return base::Error{base::Code::kDenied,
                       address +
                           " is not on this host: over the network a worker needs --keys, "
                           "which trainworker join makes"};
  }
  return coordinator;
}

void Uplink::Closed(const base::Error& reason) {
  const base::Error kept =
      WithCause(reached_, reason, options_.patience);  // the reason is the stream's
  stream_.reset();
  callbacks_.on_down(kept);
  DialLater(kept.message);
}

void Uplink::DialLater(const std::string& reason) {
  if (std::exchange(last_reason_, reason) != reason)
    spdlog::warn("no connection to the coordinator: {}; trying again", reason);
  timer_.expires_after(backoff_.Next());
  timer_.async_wait([this, alive = alive_](error_code error) {
    if (*alive && !error) Dial();
  });
}

void Uplink::Send(v1::WorkerMessage message) {
  if (stream_) stream_->Send(std::move(message));
}

}  // namespace trainctl::agent

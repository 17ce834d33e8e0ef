#include "server/web/connection.h"

#include <unistd.h>

#include <string>

#include "common/peer/socket_owner.h"

namespace trainctl::web {
namespace {

std::optional<peer::Endpoint> EndpointOf(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return peer::ParseEndpoint((endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
                             std::to_string(endpoint.port()));
}

}  // namespace

std::string AddressOf(const boost::asio::ip::tcp::socket& socket) {
  boost::system::error_code gone;
  const auto remote = socket.remote_endpoint(gone);
  const auto client = gone ? std::nullopt : EndpointOf(remote);
  return client ? peer::ToString(*client) : "";
}

base::Result<auth::Caller> CallerAt(const boost::asio::ip::tcp::socket& socket,
                                    const auth::UnixPolicy& policy) {
  boost::system::error_code gone;
  const auto remote = socket.remote_endpoint(gone);
  const auto local = gone ? boost::asio::ip::tcp::endpoint() : socket.local_endpoint(gone);
  const auto client = gone ? std::nullopt : EndpointOf(remote);
  const auto server = gone ? std::nullopt : EndpointOf(local);
  if (!client || !server) return base::Error{base::Code::kDenied, "who calls is not known"};
  const auto id = peer::OwnerOfSocket(*client, *server);
  if (!id) return id.error();
  auth::Caller caller = auth::CallerOf({*id, peer::UserName(*id)}, geteuid(), policy);
  caller.address = peer::ToString(*client);
  return caller;
}

}  // namespace trainctl::web

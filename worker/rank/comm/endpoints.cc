#include "worker/rank/comm/endpoints.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "worker/rank/comm/comm_error.h"
#include "worker/rank/comm/hex.h"

namespace trainctl::comm {
namespace {

// Whether it is numeric, the resolver finds out. A scope may stand behind it: "fe80::1%eth0".
bool IsText(std::string_view address) {
  return !address.empty() &&
         std::ranges::all_of(address, [](char c) { return c > ' ' && c < '\x7f'; });
}

uint16_t PortOf(std::string_view text) {
  uint16_t port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? port : uint16_t{0};
}

}  // namespace

WireEndpoint ToWire(const Endpoint& endpoint) {
  WireEndpoint wire;
  if (endpoint.address.size() >= wire.address.size()) {
    throw CommError("the address '" + endpoint.address + "' is too long");
  }
  std::ranges::copy(endpoint.address, wire.address.begin());
  wire.port = endpoint.port;
  return wire;
}

Endpoint FromWire(const WireEndpoint& wire, const std::string& whose) {
  const std::string_view address(wire.address.data(),
                                 strnlen(wire.address.data(), wire.address.size()));
  if (address.size() == wire.address.size() || !IsText(address) || wire.port == 0) {
    throw CommError("where " + whose + " listens is malformed: expected an address and a port");
  }
  return {std::string(address), wire.port};
}

std::string ToBlob(const Invitation& invitation) {
  return invitation.rank0.address + ":" + std::to_string(invitation.rank0.port) + ":" +
         ToHex(invitation.secret);
}

Invitation FromBlob(std::string_view blob) {
  Invitation invitation;
  const size_t before_secret = blob.rfind(':');
  const size_t before_port = before_secret == blob.npos || before_secret == 0
                                 ? blob.npos
                                 : blob.rfind(':', before_secret - 1);
  if (before_port == blob.npos) {
    throw CommError("the rendezvous blob is not 'address:port:secret'");
  }
  const std::string_view address = blob.substr(0, before_port);
  invitation.rank0.port = PortOf(blob.substr(before_port + 1, before_secret - before_port - 1));
  if (invitation.rank0.port == 0 || !IsText(address) ||
      address.size() >= sizeof(WireEndpoint::address) ||
      !FromHex(blob.substr(before_secret + 1), invitation.secret)) {
    throw CommError("the rendezvous blob is not 'address:port:secret': one of them is malformed");
  }
  invitation.rank0.address = address;
  return invitation;
}

bool IsOfGroup(const Hello& hello, int64_t first, int64_t world_size) {
  if (hello.world_size != world_size) {
    throw CommError("rank " + std::to_string(hello.rank) + " joins a group of " +
                    std::to_string(hello.world_size) + ", this one has " +
                    std::to_string(world_size) + " ranks");
  }
  return hello.rank >= first && hello.rank < world_size;
}

}  // namespace trainctl::comm

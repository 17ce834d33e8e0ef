// One connection of this host, asked of the kernel by netlink (sock_diag(7)): it costs the same
// however many connections there are.
#pragma once

#include <optional>

#include "common/base/result.h"
#include "common/peer/socket_owner.h"

namespace trainctl::peer {

// As FindSocket, of the kernel itself. kUnavailable: this system answers no such questions.
base::Result<std::optional<SocketRecord>> AskForSocket(const Endpoint& local,
                                                       const Endpoint& remote);

}  // namespace trainctl::peer

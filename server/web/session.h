// A connection: requests one after the other, each answered before the next is read. It owns
// itself. A request for /api/live/… makes it a live stream (live_stream.h).
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include "server/web/connection.h"

namespace trainctl::web {

void ServeConnection(boost::asio::ip::tcp::socket socket, Shared& shared);

}  // namespace trainctl::web

// A connection: requests one after the other, each answered before the next is read. It owns
// itself. A request for /api/live/… makes it a live stream (live_stream.h).
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "server/web/connection.h"

namespace trainctl::web {

// tls: null: without. It outlives the connection.
void ServeConnection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
                     Shared& shared);

}  // namespace trainctl::web

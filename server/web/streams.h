// What a connection's bytes go through: TCP alone, or TLS over it.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <type_traits>

#include "server/auth/site_keys.h"

namespace trainctl::web {

using PlainStream = boost::beast::tcp_stream;
using TlsStream = boost::beast::ssl_stream<boost::beast::tcp_stream>;

template <class Stream>
inline constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;

// With the coordinator's certificate, TLS 1.2 and later. kInvalid: what OpenSSL says of it.
base::Result<boost::asio::ssl::context> MakeTlsContext(const auth::SiteKeys& keys);

}  // namespace trainctl::web

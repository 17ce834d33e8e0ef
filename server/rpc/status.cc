#include "server/rpc/status.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/utf8.h"
#include "common/wire/grpc_code.h"

namespace trainctl::rpc {
namespace {

// Of the 8 KiB that gRPC's peers take of headers in all.
constexpr size_t kMaxEncodedBytes = 6 << 10;

// As gRPC writes a status message: what is not printable ASCII, and '%', takes three bytes.
size_t EncodedBytes(std::string_view text) {
  const auto plain = std::ranges::count_if(
      text, [](char byte) { return byte >= ' ' && byte <= '~' && byte != '%'; });
  return text.size() * 3 - static_cast<size_t>(plain) * 2;
}

std::string Bounded(std::string_view message) {
  size_t shown = 0, encoded = 0;
  while (shown < message.size()) {
    const size_t end = std::min(message.find('\n', shown), message.size() - 1) + 1;
    encoded += EncodedBytes(message.substr(shown, end - shown));
    if (encoded > kMaxEncodedBytes) break;
    shown = end;
  }
  if (shown == message.size()) return std::string(message);
  if (shown == 0) return base::Excerpt(message, kMaxEncodedBytes / 3);
  const auto left = std::ranges::count(message.substr(shown, message.size() - shown - 1), '\n') + 1;
  return std::string(message.substr(0, shown)) + "… and " + std::to_string(left) + " lines more";
}

}  // namespace

grpc::Status ToGrpc(const base::Error& error) {
  return grpc::Status(static_cast<grpc::StatusCode>(wire::ToGrpcCode(error.code)),
                      Bounded(error.message));
}

}  // namespace trainctl::rpc

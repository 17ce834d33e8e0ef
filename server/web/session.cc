#include "server/web/session.h"

#include <boost/asio/dispatch.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/web/guard.h"
#include "server/web/live_stream.h"
#include "server/web/response_headers.h"
#include "server/web/streams.h"

namespace trainctl::web {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr size_t kLingerBytes = 16 << 10;
constexpr std::string_view kLiveFolder = "/api/live/";

std::string_view Text(beast::string_view text) { return {text.data(), text.size()}; }

template <class Stream>
class Session : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  // more: what a stream takes beside its socket.
  template <class... More>
  Session(Shared& shared, boost::asio::ip::tcp::socket socket, More&... more)
      : stream_(std::move(socket), more...),
        shared_(shared),
        address_(AddressOf(tcp().socket())),
        host_(address_.substr(0, address_.rfind(':'))) {
    shared_.open.insert(this);
  }
  ~Session() override { shared_.open.erase(this); }

  void Start() {
    if constexpr (kIsTls<Stream>) {
      tcp().expires_after(shared_.limits.patience);
      stream_.async_handshake(boost::asio::ssl::stream_base::server,
                              [self = shared_from_this()](beast::error_code error) {
                                if (!error) self->Read();
                              });
    } else {
      Read();
    }
  }

  void Close() override { tcp().close(); }
  const std::string& host() const override { return host_; }
  std::string live_user() const override { return ""; }

 private:
  using Head = http::request<http::empty_body>;
  using std::enable_shared_from_this<Session>::shared_from_this;

  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }

  void Read() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_.limits.head_bytes));
    tcp().expires_after(shared_.limits.patience);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, size_t) { self->OnRead(error); });
  }

  void OnRead(beast::error_code error) {
    tcp().expires_never();
    if (!error) return OnRequest();
    keep_alive_ = false;
    if (error == http::error::header_limit)
      return Write({431, "text/plain", "the request's head is too long\n"});
    const bool is_http = error.category() == make_error_code(http::error::bad_target).category();
    if (is_http && error != http::error::end_of_stream)
      return Write({400, "text/plain", "no request of HTTP/1.1 without a body\n"});
  }

  void OnRequest() {
    const Head& head = parser_->get();
    keep_alive_ = head.keep_alive();
    head_only_ = head.method() == http::verb::head;
    const base::Status fit = CheckHeaders(
        {Text(head.method_string()), Text(head[http::field::host]), Text(head[http::field::origin]),
         Text(head["Sec-Fetch-Site"]), Text(head["Sec-Fetch-Mode"]), Text(head.target())},
        shared_.door == nullptr ? nullptr : &shared_.door->keys().hosts());
    if (!fit) return Write(ErrorResponse(fit.error()));
    auto target = ParseTarget(Text(head.target()));
    if (!target) return Write(ErrorResponse(target.error()));
    auto caller = Identify(head);
    const auth::Caller unknown{.address = address_, .tls = shared_.door != nullptr};
    if (const auto refusal = shared_.rate.Take(auth::PayerOf(caller ? *caller : unknown))) {
      Response response = ErrorResponse(refusal->error);
      response.status = kTooManyRequests;
      return Write(std::move(response));
    }
    if (!caller && shared_.door == nullptr) return Write(ErrorResponse(caller.error()));
    Ask({.target = std::move(*target),
         .caller = caller ? *caller : unknown,
         .posted = head.method() == http::verb::post,
         .known = caller ? base::Status(base::Ok{}) : caller.error()});
  }

  // Over TLS by what comes with the request; else by whose the connection is.
  base::Result<auth::Caller> Identify(const Head& head) {
    if (shared_.door != nullptr) {
      return shared_.door->CallerBy(
          {Text(head[http::field::authorization]), Text(head[http::field::cookie])}, address_);
    }
    if (!owner_) {
      auto owner = CallerAt(tcp().socket(), shared_.policy);
      if (!owner) return owner;
      owner_ = std::move(*owner);
    }
    return *owner_;
  }

  void Ask(Request request) {
    if (request.target.path.starts_with(kLiveFolder)) {
      request.target.path = "/api/" + request.target.path.substr(kLiveFolder.size());
      if (request.known) return GoLive(std::move(request));
    }
    shared_.handler.Handle(std::move(request), [self = shared_from_this()](Response response) {
      auto& stream = self->stream_;
      boost::asio::dispatch(
          stream.get_executor(),
          [self, response = std::move(response)]() mutable { self->Write(std::move(response)); });
    });
  }

  void GoLive(Request request) {
    const std::string& user = request.caller.name;
    const bool is_full = shared_.LiveStreams() >= shared_.limits.live_streams;
    if (is_full || shared_.LiveStreams(user) >= shared_.limits.live_streams_of_user) {
      return Write(ErrorResponse(
          {base::Code::kExhausted, is_full ? "all live pages that there may be are open: try later"
                                           : user + " has as many live pages open as may be: close "
                                                    "one"}));
    }
    request.live = true;
    StreamLive(std::move(stream_), host_, std::move(request), shared_);
  }

  void Write(Response response) {
    response_ = MakeMessage(std::move(response), keep_alive_);
    serializer_.emplace(*response_);
    tcp().expires_after(shared_.limits.patience);
    const auto written = [self = shared_from_this()](beast::error_code error, size_t) {
      self->OnWritten(error);
    };
    if (head_only_) return http::async_write_header(stream_, *serializer_, written);
    http::async_write(stream_, *serializer_, written);
  }

  void OnWritten(beast::error_code error) {
    if (error) return;
    if (keep_alive_) return Read();
    tcp().expires_after(shared_.limits.patience);
    if constexpr (kIsTls<Stream>) {
      stream_.async_shutdown([self = shared_from_this()](beast::error_code) { self->End(); });
    } else {
      End();
    }
  }

  void End() {
    beast::error_code gone;
    tcp().socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, gone);
    Linger();
  }

  // Until the peer has ended it too: what it still sends would make the kernel drop the answer.
  void Linger() {
    buffer_.clear();
    tcp().async_read_some(buffer_.prepare(kLingerBytes),
                          [self = shared_from_this()](beast::error_code error, size_t) {
                            if (!error) self->Linger();
                          });
  }

  Stream stream_;
  Shared& shared_;
  const std::string address_, host_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<Message> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::optional<auth::Caller> owner_;  // without TLS, once a request was fit
  bool keep_alive_ = false;
  bool head_only_ = false;
};

}  // namespace

void ServeConnection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
                     Shared& shared) {
  const auto executor = socket.get_executor();
  if (tls == nullptr) {
    using Plain = Session<PlainStream>;
    OwnedBy(executor, std::make_unique<Plain>(shared, std::move(socket)))->Start();
  } else {
    using Tls = Session<TlsStream>;
    OwnedBy(executor, std::make_unique<Tls>(shared, std::move(socket), *tls))->Start();
  }
}

}  // namespace trainctl::web

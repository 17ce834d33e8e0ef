#include "server/web/session.h"

#include <boost/asio/dispatch.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "server/web/guard.h"
#include "server/web/live_stream.h"
#include "server/web/response_headers.h"

namespace trainctl::web {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr size_t kLingerBytes = 16 << 10;
constexpr int kTooManyRequests = 429;
constexpr std::string_view kLiveFolder = "/api/live/";

std::string_view Text(beast::string_view text) { return {text.data(), text.size()}; }

class Session : public Connection, public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::ip::tcp::socket socket, Shared& shared)
      : stream_(std::move(socket)), shared_(shared) {
    shared_.open.insert(this);
  }
  ~Session() override { shared_.open.erase(this); }

  void Start() { Read(); }

  void Close() override { stream_.close(); }

 private:
  void Read() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_.limits.head_bytes));
    stream_.expires_after(shared_.limits.patience);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, size_t) { self->OnRead(error); });
  }

  void OnRead(beast::error_code error) {
    stream_.expires_never();
    if (!error) return OnRequest();
    keep_alive_ = false;
    if (error == http::error::header_limit)
      return Write({431, "text/plain", "the request's head is too long\n"});
    const bool is_http = error.category() == make_error_code(http::error::bad_target).category();
    if (is_http && error != http::error::end_of_stream)
      return Write({400, "text/plain", "no request of HTTP/1.1 without a body\n"});
  }

  void OnRequest() {
    const auto& head = parser_->get();
    keep_alive_ = head.keep_alive();
    head_only_ = head.method() == http::verb::head;
    const base::Status fit = CheckHeaders(
        {Text(head.method_string()), Text(head[http::field::host]), Text(head[http::field::origin]),
         Text(head["Sec-Fetch-Site"]), Text(head["Sec-Fetch-Mode"])});
    if (!fit) return Write(ErrorResponse(fit.error()));
    auto target = ParseTarget(Text(head.target()));
    if (!target) return Write(ErrorResponse(target.error()));
    if (!caller_) {
      auto caller = CallerAt(stream_.socket(), shared_.policy);
      if (caller) caller_ = std::move(*caller);
      unknown_ = caller ? base::Status(base::Ok{}) : caller.error();
    }
    if (const auto refusal =
            shared_.rate.Take(caller_ ? caller_->name : auth::CallRate::kUnknown)) {
      Response response = ErrorResponse(refusal->error);
      response.status = kTooManyRequests;
      return Write(std::move(response));
    }
    if (!caller_) return Write(ErrorResponse(unknown_.error()));
    Request request{std::move(*target), *caller_};
    if (request.target.path.starts_with(kLiveFolder)) return GoLive(std::move(request));
    shared_.handler.Handle(std::move(request), [self = shared_from_this()](Response response) {
      auto& stream = self->stream_;
      boost::asio::dispatch(
          stream.get_executor(),
          [self, response = std::move(response)]() mutable { self->Write(std::move(response)); });
    });
  }

  void GoLive(Request request) {
    if (shared_.live_streams >= shared_.limits.live_streams) {
      return Write(
          ErrorResponse({base::Code::kExhausted, std::to_string(shared_.limits.live_streams) +
                                                     " live pages are open already: close one"}));
    }
    request.live = true;
    request.target.path = "/api/" + request.target.path.substr(kLiveFolder.size());
    StreamLive(std::move(stream_), std::move(request), shared_);
  }

  void Write(Response response) {
    response_ = MakeMessage(std::move(response), keep_alive_);
    serializer_.emplace(*response_);
    stream_.expires_after(shared_.limits.patience);
    const auto written = [self = shared_from_this()](beast::error_code error, size_t) {
      self->OnWritten(error);
    };
    if (head_only_) return http::async_write_header(stream_, *serializer_, written);
    http::async_write(stream_, *serializer_, written);
  }

  void OnWritten(beast::error_code error) {
    if (error) return;
    if (keep_alive_) return Read();
    stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
    stream_.expires_after(shared_.limits.patience);
    Linger();
  }

  // Until the peer has ended it too: what it still sends would make the kernel drop the answer.
  void Linger() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kLingerBytes),
                            [self = shared_from_this()](beast::error_code error, size_t) {
                              if (!error) self->Linger();
                            });
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<Message> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::optional<auth::Caller> caller_;  // once a request was fit
  base::Status unknown_ = base::Ok{};   // why there is none
  bool keep_alive_ = false;
  bool head_only_ = false;
};

}  // namespace

void ServeConnection(boost::asio::ip::tcp::socket socket, Shared& shared) {
  const auto executor = socket.get_executor();
  OwnedBy(executor, std::make_unique<Session>(std::move(socket), shared))->Start();
}

}  // namespace trainctl::web

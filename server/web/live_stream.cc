#include "server/web/live_stream.h"

#include <algorithm>
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/serializer.hpp>
#include <memory>
#include <sstream>
#include <utility>

#include "server/web/response_headers.h"

namespace trainctl::web {
namespace {

constexpr int kQuietPeriods = 10;  // without news until the peer is told that we live

// The head of an answer whose length is not known yet.
std::string LiveHead() {
  Message message = MakeMessage({200, "text/event-stream", ""}, /*keep_alive=*/false);
  message.erase(boost::beast::http::field::content_length);
  std::ostringstream text;
  text << message.base();
  return text.str();
}

// The body is a document on one line.
std::string EventText(const Response& response) {
  const std::string body = response.body.substr(0, response.body.find_last_not_of('\n') + 1);
  std::string text = response.status == 200 ? "" : "event: problem\n";
  size_t begin = 0;
  while (begin <= body.size()) {
    const size_t end = std::min(body.find('\n', begin), body.size());
    text += "data: " + body.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text + "\n";
}

template <class Stream>
class LiveStream : public Connection, public std::enable_shared_from_this<LiveStream<Stream>> {
 public:
  LiveStream(Stream stream, std::string host, Request request, Shared& shared)
      : stream_(std::move(stream)),
        host_(std::move(host)),
        timer_(stream_.get_executor()),
        request_(std::move(request)),
        shared_(shared) {
    shared_.open.insert(this);
  }
  ~LiveStream() override { shared_.open.erase(this); }

  void Start() {
    WatchForEnd();
    Write(LiveHead());
  }

  void Close() override {
    closed_ = true;
    timer_.cancel();
    tcp().close();
  }
  const std::string& host() const override { return host_; }
  std::string live_user() const override { return request_.caller.name; }

 private:
  using std::enable_shared_from_this<LiveStream>::shared_from_this;

  boost::beast::tcp_stream& tcp() { return boost::beast::get_lowest_layer(stream_); }

  // A peer says nothing more: what comes is its end.
  void WatchForEnd() {
    stream_.async_read_some(boost::asio::buffer(unwanted_),
                            [self = shared_from_this()](boost::system::error_code error, size_t) {
                              if (error && !self->closed_) self->Close();
                              if (!error) self->WatchForEnd();
                            });
  }

  void Look() {
    if (closed_) return;
    const base::Status holds =
        shared_.door == nullptr ? base::Ok{} : shared_.door->StillHolds(request_.caller);
    if (!holds) return OnLooked(ErrorResponse(holds.error()));
    shared_.handler.Handle(request_, [self = shared_from_this()](Response response) {
      auto& stream = self->stream_;
      boost::asio::dispatch(stream.get_executor(),
                            [self, response = std::move(response)] { self->OnLooked(response); });
    });
  }

  void OnLooked(const Response& response) {
    if (closed_) return;
    failed_ = response.status != 200;
    if (failed_ || response.body != last_) {
      last_ = response.body;
      quiet_periods_ = 0;
      return Write(EventText(response));
    }
    if (++quiet_periods_ % kQuietPeriods == 0) return Write(":\n\n");
    Wait();
  }

  void Write(std::string text) {
    text_ = std::move(text);
    tcp().expires_after(shared_.limits.patience);
    boost::asio::async_write(stream_, boost::asio::buffer(text_),
                             [self = shared_from_this()](boost::system::error_code error, size_t) {
                               self->tcp().expires_never();
                               if (self->closed_) return;
                               if (error || self->failed_) return self->Close();
                               self->Wait();
                             });
  }

  // The first look follows the head at once.
  void Wait() {
    timer_.expires_after(std::exchange(looked_, true) ? shared_.limits.live_period
                                                      : std::chrono::milliseconds(0));
    timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error) self->Look();
    });
  }

  Stream stream_;
  const std::string host_;
  boost::asio::steady_timer timer_;
  const Request request_;
  Shared& shared_;
  std::array<char, 256> unwanted_{};
  std::string text_, last_;
  int quiet_periods_ = 0;
  bool looked_ = false, failed_ = false, closed_ = false;
};

}  // namespace

template <class Stream>
void StreamLive(Stream stream, std::string host, Request request, Shared& shared) {
  const auto executor = stream.get_executor();
  OwnedBy(executor, std::make_unique<LiveStream<Stream>>(std::move(stream), std::move(host),
                                                         std::move(request), shared))
      ->Start();
}

template void StreamLive(PlainStream, std::string, Request, Shared&);
template void StreamLive(TlsStream, std::string, Request, Shared&);

}  // namespace trainctl::web

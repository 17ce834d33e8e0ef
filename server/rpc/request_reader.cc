#include "server/rpc/request_reader.h"

#include "server/rpc/parse_request.h"

namespace trainctl::rpc {
namespace {

base::Error Late() {
  return {base::Code::kUnavailable, "the request did not come whole within " +
                                        std::to_string(RequestReader::kDeadline.count()) +
                                        " s: try again"};
}

// gRPC does not say which.
base::Error NotWhole() {
  return {base::Code::kExhausted, "the request did not come whole, or has more than " +
                                      std::to_string(RequestBudget::kLargest) + " bytes"};
}

base::Error Cancelled() { return {base::Code::kUnavailable, "the client has cancelled the call"}; }

}  // namespace

void RequestReader::Read(const std::string& user, std::string_view rpc,
                         google::protobuf::Message* request) {
  rpc_ = rpc;
  request_ = request;
  const auto entered = budget_.Enter(user);
  if (!entered) return call_.OnRequest(entered.error());
  entry_ = *entered;
  budget_.Reserve(*entry_, [this] { Start(); });
}

// Nothing of this is touched once the read has begun: its end may delete it.
void RequestReader::Start() {
  alarm_.Set(std::chrono::system_clock::now() + kDeadline,
             [&call = call_, undecided = undecided_](bool rings) {
               if (rings && undecided->exchange(false)) call.OnRequest(Late());
             });
  call_.StartReadRequest(&bytes_);
}

void RequestReader::OnReadDone(bool ok) {
  if (!undecided_->exchange(false)) return;
  alarm_.Cancel();
  if (!ok) return call_.OnRequest(NotWhole());
  const auto size = static_cast<int64_t>(bytes_.Length());
  const base::Status parsed = ParseRequest(&bytes_, MaxRequestBytes(rpc_), request_);
  bytes_.Clear();
  budget_.Shrink(*entry_, parsed ? size : 0);
  call_.OnRequest(parsed);
}

// A read that is on its way fails by itself.
void RequestReader::OnCancel() {
  if (entry_ && budget_.Withdraw(*entry_)) call_.OnRequest(Cancelled());
}

void RequestReader::Leave() {
  if (entry_) budget_.Leave(*entry_);
}

}  // namespace trainctl::rpc

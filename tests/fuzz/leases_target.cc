// Clients' requests about leases, one after another, of a small site that grants them. Each is a
// byte for its kind and its user, a byte for its length, and the message: its place in kRequests.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/job/constraint.h"
#include "common/wire/valid_text.h"
#include "proto/trainctl.pb.h"
#include "server/core/lease_wish.h"
#include "server/core/step.h"
#include "server/rpc/decode_lease.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {
namespace {

constexpr int kMostRequests = 64;
constexpr size_t kMostErrorBytes = 4096;
constexpr base::WallMicros kStart = 1'000'000'000'000'000;
constexpr std::array kUsers = {"ann", "bob", "eve"};

// What each may have is bounded otherwise.
core::SitePolicy Policy() {
  core::SitePolicy policy;
  policy.users["bob"].max_leased_devices = 2;
  policy.users["eve"].max_lease_seconds.reset();
  return policy;
}

bool Parse(google::protobuf::Message* message, std::string_view bytes) {
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  wire::MakeTextValid(message);
  return true;
}

// A refusal's words go to the client as they are.
bool Refuse(const base::Error& error) {
  CHECK(!error.message.empty() && error.message.size() < kMostErrorBytes) << error.message;
  return false;
}

bool RefuseField(const base::Error& error) {
  const size_t colon = error.message.find(':');
  const std::string field = error.message.substr(0, colon);
  CHECK(error.code == base::Code::kInvalid && colon != std::string::npos) << error.message;
  CHECK(field == "request_id" || field == "wish.start" || field == "wish.seconds" ||
        field == "seconds" || field.starts_with("a lease for "))
      << error.message;
  return Refuse(error);
}

// Two hosts with two devices each, and one of another model.
class Site {
 public:
  Site() {
    state_.options.policy = Policy();
    for (const char* name : {"a/0", "a/1", "b/0", "b/1", "c/0"}) Connect(name);
  }

  void ComeFrom(const char* user) { user_ = user; }
  bool Create(std::string_view bytes);
  bool Find(std::string_view bytes);
  bool Extend(std::string_view bytes);
  bool Delete(std::string_view bytes);
  bool SetClock(std::string_view bytes);
  void Check() const;

 private:
  void Connect(const std::string& name);
  void Feed(const core::Event& event) { Step(state_, event, now_); }
  void CheckDevices(const core::LeaseWish& wish, const std::vector<std::string>& workers) const;
  int64_t LongestUs(const std::string& user) const;

  core::State state_;
  core::Now now_{kStart, kStart};
  std::string user_;
};

void Site::Connect(const std::string& name) {
  core::WorkerHello hello;
  hello.worker.name = name;
  hello.worker.host = name.substr(0, 1);
  hello.worker.boot_id = "boot";
  hello.worker.device.kind = job::DeviceKind::kCuda;
  hello.worker.device.index = name.back() - '0';
  hello.worker.device.name = name.starts_with("c") ? "NVIDIA H100" : "NVIDIA H200";
  hello.worker.device.memory_bytes = int64_t{80} << 30;
  hello.device_free = true;
  Feed(hello);
}

int64_t Site::LongestUs(const std::string& user) const {
  const auto seconds = state_.options.policy.Of(user).max_lease_seconds;
  return seconds ? *seconds * 1'000'000 : core::kFarthestLeaseUs;
}

void Site::CheckDevices(const core::LeaseWish& wish,
                        const std::vector<std::string>& workers) const {
  CHECK(static_cast<int64_t>(workers.size()) == wish.devices) << wish.devices;
  for (const std::string& name : workers) {
    const core::WorkerRow& worker = state_.workers.at(name).row;
    CHECK(wish.host.empty() || worker.host == wish.host) << name << ", not on " << wish.host;
    CHECK(job::IsInModel(wish.model, worker.device.name)) << name << ", no " << wish.model;
  }
}

bool Site::Create(std::string_view bytes) {
  v1::CreateLeaseRequest message;
  if (!Parse(&message, bytes)) return false;
  auto request = rpc::DecodeLease(message);
  if (!request) return RefuseField(request.error());
  request->wish.user = user_;
  const auto row = core::NewLease(state_, request->wish, request->name, now_);
  if (!row) return Refuse(row.error());
  CheckDevices(request->wish, row->workers);
  CHECK(!request->request_id.empty());
  CHECK(row->start >= now_.wall && row->start <= now_.wall + core::kFarthestLeaseUs) << row->start;
  CHECK(row->end - row->start == message.wish().seconds() * 1'000'000) << row->end - row->start;
  const size_t before = state_.leases.size();
  Feed(core::LeaseMade{*row});
  CHECK(state_.leases.size() == before + 1) << "what NewLease allows, Step takes";
  return true;
}

bool Site::Find(std::string_view bytes) {
  v1::FindLeaseRequest message;
  if (!Parse(&message, bytes)) return false;
  auto wish = rpc::DecodeWish(message.wish());
  if (!wish) return RefuseField(wish.error());
  wish->user = user_;
  const auto block = core::FindBlock(state_, *wish, now_);
  if (!block) return Refuse(block.error());
  CheckDevices(*wish, block->workers);
  CHECK(block->start >= wish->start && block->start >= now_.wall) << block->start;
  CHECK(block->start <= now_.wall + core::kFarthestLeaseUs) << block->start;
  wish->start = block->start;
  const auto row = core::NewLease(state_, *wish, "", now_);
  CHECK(row.ok()) << "what was found can't be had: " << row.error().message;
  return true;
}

bool Site::Extend(std::string_view bytes) {
  v1::ExtendLeaseRequest message;
  if (!Parse(&message, bytes)) return false;
  const auto request = rpc::DecodeExtension(message);
  if (!request) return RefuseField(request.error());
  const core::Lease* lease = core::FindLease(state_, message.name());
  if (lease == nullptr) return false;
  const auto end = core::LaterEnd(state_, *lease, *request);
  if (!end) return Refuse(end.error());
  if (*end == lease->row.end) {
    CHECK(*end == request->end_was + request->more_us) << *end << ", which was not asked for";
    return true;
  }
  CHECK(*end > lease->row.end) << *end;
  CHECK(request->end_was == 0 || request->end_was == lease->row.end) << request->end_was;
  const int64_t id = lease->row.id;
  Feed(core::LeaseExtended{id, *end});
  CHECK(core::FindLease(state_, id)->row.end == *end) << "what LaterEnd allows, Step takes";
  return true;
}

bool Site::Delete(std::string_view bytes) {
  v1::DeleteLeaseRequest message;
  if (!Parse(&message, bytes)) return false;
  const core::Lease* lease = core::FindLease(state_, message.name());
  if (lease == nullptr) return false;
  Feed(core::LeaseDeleted{lease->row.id, user_});
  return true;
}

// By so many seconds on, or back. Time goes on even so.
bool Site::SetClock(std::string_view bytes) {
  int32_t seconds = 0;
  if (bytes.size() != sizeof seconds) return false;
  std::memcpy(&seconds, bytes.data(), sizeof seconds);
  now_.wall = std::max(kStart, now_.wall + seconds * int64_t{1'000'000});
  now_.steady += 1'000'000;
  Feed(core::Tick{});
  return true;
}

// Whose leases there are, and when.
void Site::Check() const {
  std::set<std::string> names;
  std::map<std::string, std::map<base::WallMicros, base::WallMicros>> taken;
  for (const auto& [id, lease] : state_.leases) {
    const core::LeaseRow& row = lease.row;
    CHECK(row.id == id && names.insert(row.name).second) << row.name;
    CHECK(lease.closing || row.start < row.end) << row.name;
    CHECK(row.end - row.start <= LongestUs(row.user)) << row.name << " of " << row.user;
    CHECK(!row.workers.empty()) << row.name;
    for (const std::string& worker : row.workers) {
      CHECK(state_.workers.contains(worker)) << row.name << " has " << worker;
      CHECK(taken[worker].emplace(row.start, row.end).second) << worker << " twice";
    }
  }
  for (const auto& [worker, spans] : taken) {
    base::WallMicros last = 0;
    for (const auto& [start, end] : spans) {
      CHECK(start >= last) << worker << " is leased twice at " << start;
      last = end;
    }
  }
}

// In the order of LEASE_REQUESTS in seeds.py.
constexpr std::array kRequests = {&Site::Create, &Site::Find, &Site::Extend, &Site::Delete,
                                  &Site::SetClock};

}  // namespace

bool ReadLeases(std::string_view bytes) {
  Site site;
  bool understood = false;
  for (int count = 0; count < kMostRequests && bytes.size() >= 2; ++count) {
    const size_t kind = static_cast<unsigned char>(bytes[0]);
    const std::string_view message = bytes.substr(2, static_cast<unsigned char>(bytes[1]));
    bytes.remove_prefix(2 + message.size());
    site.ComeFrom(kUsers[kind / kRequests.size() % kUsers.size()]);
    understood |= (site.*kRequests[kind % kRequests.size()])(message);
    site.Check();
  }
  return understood;
}

}  // namespace trainctl::fuzz

// Durable submissions over loopback: a coordinator in this process, concurrent clients, each
// waiting for its answer.
//   submit_bench [SUBMISSIONS] [CLIENTS] [tls]
// With `tls` the clients come over TLS, with a token.
// Bars: 500 submissions/s, p99 below 20 ms, reads again within 2 s of a restart.
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proto/trainctl.grpc.pb.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/tls_site.h"

namespace trainctl::rpc_test {
namespace {

using Steady = std::chrono::steady_clock;

double Milliseconds(Steady::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

v1::SubmitRequest MakeRequest(int client, int i) {
  v1::SubmitRequest request;
  request.set_request_id("bench " + std::to_string(client) + "/" + std::to_string(i));
  request.add_jobs()->set_job_json(JobJson("bench"));
  request.mutable_jobs(0)->set_inspection_json(InspectionJson());
  return request;
}

// How clients reach the site.
struct Door {
  std::string address;
  std::string authority, token;  // empty: without TLS
};

std::shared_ptr<grpc::Channel> Connect(const Door& door) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto credentials = grpc::InsecureChannelCredentials();
  if (!door.authority.empty())
    credentials = grpc::SslCredentials({.pem_root_certs = door.authority});
  return grpc::CreateCustomChannel(door.address, credentials, arguments);
}

// The latencies of one client's submissions, one after another over its own connection.
std::vector<double> SubmitMany(const Door& door, int client, int count) {
  const auto stub = v1::Coordinator::NewStub(Connect(door));
  std::vector<double> latencies_ms;
  for (int i = 0; i < count; ++i) {
    const v1::SubmitRequest request = MakeRequest(client, i);
    grpc::ClientContext context;
    if (!door.token.empty()) context.AddMetadata("authorization", "Bearer " + door.token);
    v1::SubmitResponse response;
    const auto start = Steady::now();
    const grpc::Status status = stub->Submit(&context, request, &response);
    CHECK(status.ok()) << status.error_message();
    latencies_ms.push_back(Milliseconds(Steady::now() - start));
  }
  return latencies_ms;
}

double Percentile(const std::vector<double>& sorted, double fraction) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(fraction * static_cast<double>(sorted.size())))];
}

// Prints the rate of so many.
void Submit(const Door& door, int submissions, int clients) {
  std::mutex mutex;
  std::vector<double> latencies_ms;
  std::vector<std::thread> threads;
  const auto start = Steady::now();
  for (int client = 0; client < clients; ++client) {
    threads.emplace_back([&, client] {
      const auto own = SubmitMany(door, client, submissions / clients);
      const std::lock_guard lock(mutex);
      latencies_ms.insert(latencies_ms.end(), own.begin(), own.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = Milliseconds(Steady::now() - start) / 1000;
  std::sort(latencies_ms.begin(), latencies_ms.end());
  std::cout << clients << " clients: " << static_cast<double>(latencies_ms.size()) / seconds
            << " submissions/s, p50 " << Percentile(latencies_ms, 0.5) << " ms, p99 "
            << Percentile(latencies_ms, 0.99) << " ms\n";
}

void RunTls(int submissions, int clients) {
  TlsSite site(TlsSite::Now(), "127.0.0.1:0", {.queued_jobs = submissions + 1});
  std::cout << "over TLS, ";
  Submit({site.address(), base::ReadFile(site.ca(), 1 << 20).value(),
          base::ReadSecretFile(site.admin()).value()},
         submissions, clients);
}

void Run(int submissions, int clients) {
  TestSite site({}, {.queued_jobs = submissions + 1});
  Submit({.address = site.address()}, submissions, clients);
  site.Stop();
  const auto restart = Steady::now();
  site.Start();
  site.Submit("after the restart");
  std::cout << "restart with " << submissions / clients * clients
            << " queued jobs: the first submission is answered after "
            << Milliseconds(Steady::now() - restart) << " ms\n";
}

}  // namespace
}  // namespace trainctl::rpc_test

int main(int argc, char** argv) {
  const int submissions = argc > 1 ? std::atoi(argv[1]) : 4000;
  const int clients = argc > 2 ? std::atoi(argv[2]) : 8;
  if (submissions < 1 || clients < 1 || clients > submissions) {
    std::cerr << "usage: submit_bench [SUBMISSIONS] [CLIENTS] [tls]\n";
    return 2;
  }
  const bool is_tls = argc > 3 && std::string(argv[3]) == "tls";
  (is_tls ? trainctl::rpc_test::RunTls : trainctl::rpc_test::Run)(submissions, clients);
}

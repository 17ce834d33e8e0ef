// A job that a site's worker trains: how most tests of a job's life begin.
#pragma once

#include <string>

#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {

struct TrainingJob {
  std::string id;  // "j1"
  job::RankKey rank;
};

// Connects the worker, submits a job of this name, which is placed there, and begins its training.
inline TrainingJob Train(TestSite& site, FakeWorker& worker, const std::string& name) {
  worker.Connect(site.channel());
  const std::string id = site.Submit(name);
  const job::RankKey rank = worker.Start();
  worker.BeginTraining(rank);
  return {id, rank};
}

}  // namespace trainctl::rpc_test

#include "server/rpc/watch_stream.h"

#include "server/coordinator/overlay.h"
#include "server/coordinator/questions.h"
#include "server/rpc/decode_question.h"
#include "server/views/encode_job.h"

namespace trainctl::rpc {

WatchStream::WatchStream(Backend& backend) : WriteStream(backend), backend_(backend) {}

WatchStream::~WatchStream() {
  if (subscription_) backend_.coordinator.job_changes().Unsubscribe(*subscription_);
}

void WatchStream::Pump() {
  if (waiting_) return;
  if (!subscription_) return Find();
  if (!views_.empty()) {
    v1::JobView view = std::move(views_.front());
    views_.pop_front();
    return Write(std::move(view));
  }
  if (!changed_.empty()) return ReadChanged();
  if (unfinished_.empty()) Close(grpc::Status::OK);
}

void WatchStream::Find() {
  const std::vector<std::string> names(request_.jobs().begin(), request_.jobs().end());
  if (names.empty() || names.size() > size_t{kMaxNames}) {
    return Close({grpc::StatusCode::INVALID_ARGUMENT, "jobs: " + std::to_string(names.size()) +
                                                          " names: expected from 1 to " +
                                                          std::to_string(kMaxNames)});
  }
  waiting_ = true;
  backend_.reads.Ask<std::vector<base::JobId>>(
      user(), [names](store::Reader& reader) { return coordinator::FindJobs(reader, names); },
      Later<std::vector<base::JobId>>([this](const std::vector<base::JobId>& jobs) {
        waiting_ = false;
        unfinished_ = changed_ = {jobs.begin(), jobs.end()};
        subscription_ = backend_.coordinator.job_changes().Subscribe(
            jobs, [this](const std::set<base::JobId>& changed) {
              changed_.insert(changed.begin(), changed.end());
              PumpIfIdle();
            });
      }));
}

void WatchStream::ReadChanged() {
  using Jobs = std::vector<store::StoredJob>;
  waiting_ = true;
  std::vector<base::JobId> jobs;
  while (!changed_.empty() && jobs.size() < kMostViews)
    jobs.push_back(changed_.extract(changed_.begin()).value());
  backend_.reads.Ask<Jobs>(
      user(), [jobs](store::Reader& reader) { return coordinator::ReadJobs(reader, jobs); },
      Later<Jobs>([this](Jobs stored) {
        waiting_ = false;
        const coordinator::Coordinator& coordinator = backend_.coordinator;
        for (store::StoredJob& job : stored) {
          const auto snapshot = coordinator::Snapshot(coordinator, std::move(job));
          if (snapshot.job.status.state == job::JobState::kFinished)
            unfinished_.erase(snapshot.job.row.id);
          views_.push_back(views::EncodeJob(snapshot));
        }
      }));
}

}  // namespace trainctl::rpc

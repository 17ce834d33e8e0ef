#include "worker/agent/patient_gpu_library.h"

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace trainctl::agent {
namespace {

using Library = base::Result<std::unique_ptr<GpuLibrary>>;

base::Error NoAnswer() {
  return {base::Code::kUnavailable, "the NVIDIA driver does not answer: it hangs"};
}

// Shared with the thread, which may outlive who asks.
class Questions {
 public:
  using Question = std::function<void(Library&)>;

  // False: an earlier answer is overdue.
  bool Put(Question question) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return overdue_ || !busy_; });
    if (overdue_) return false;
    busy_ = true;
    question_ = std::move(question);
    changed_.notify_all();
    return true;
  }

  // The answer to the last question is not waited for any more.
  void GiveUp() {
    const std::lock_guard lock(mutex_);
    overdue_ = busy_;
  }

  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  // The thread's own.
  void Answer(Library& library) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ended_ || question_; });
      if (ended_) return;
      const Question question = std::exchange(question_, nullptr);
      lock.unlock();
      question(library);
      lock.lock();
      busy_ = overdue_ = false;
      changed_.notify_all();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Question question_;
  bool busy_ = false;
  bool overdue_ = false;
  bool ended_ = false;
};

// The driver tells each once, though perhaps too late for who asked. Thread-safe; shared as above.
class UntoldXids {
 public:
  void Add(int64_t index, const std::vector<int64_t>& xids) {
    const std::lock_guard lock(mutex_);
    std::vector<int64_t>& of_gpu = xids_[index];
    of_gpu.insert(of_gpu.end(), xids.begin(), xids.end());
  }

  std::vector<int64_t> Take(int64_t index) {
    const std::lock_guard lock(mutex_);
    return std::exchange(xids_[index], {});
  }

 private:
  std::mutex mutex_;
  std::map<int64_t, std::vector<int64_t>> xids_;  // by the GPU's number
};

class PatientGpuLibrary : public GpuLibrary {
 public:
  explicit PatientGpuLibrary(DriverPatience patience) : patience_(patience) {}
  ~PatientGpuLibrary() override { questions_->End(); }

  base::Status Open(OpenGpuLibrary open) {
    std::promise<base::Status> opened;
    std::future<base::Status> answer = opened.get_future();
    std::thread([questions = questions_, open = std::move(open),
                 opened = std::move(opened)]() mutable {
      Library library = open();
      opened.set_value(library ? base::Status(base::Ok{}) : base::Status(library.error()));
      if (library) questions->Answer(library);
    }).detach();
    if (answer.wait_for(patience_.opening) != std::future_status::ready) return NoAnswer();
    return answer.get();
  }

  std::string DriverVersion() override {
    return Ask<std::string>([](GpuLibrary& library) { return library.DriverVersion(); })
        .value_or("");
  }
  std::vector<Gpu> Gpus() override {
    return Ask<std::vector<Gpu>>([](GpuLibrary& library) { return library.Gpus(); })
        .value_or(std::vector<Gpu>());
  }
  base::Result<job::DeviceSample> Sample(int64_t index) override {
    using Answer = base::Result<job::DeviceSample>;
    auto sample = Ask<Answer>([index](GpuLibrary& library) { return library.Sample(index); });
    return sample ? std::move(*sample) : Answer(NoAnswer());
  }
  base::Result<std::vector<GpuProcess>> Processes(int64_t index) override {
    using Answer = base::Result<std::vector<GpuProcess>>;
    auto found = Ask<Answer>([index](GpuLibrary& library) { return library.Processes(index); });
    return found ? std::move(*found) : Answer(NoAnswer());
  }
  std::optional<GpuFaults> Faults(int64_t index) override {
    using Answer = std::optional<GpuFaults>;
    const auto answer = Ask<Answer>([index, untold = untold_xids_](GpuLibrary& library) {
      Answer faults = library.Faults(index);
      if (faults) untold->Add(index, std::exchange(faults->xids, {}));
      return faults;
    });
    const bool answered = answer && *answer;
    GpuFaults faults{untold_xids_->Take(index), answered ? (*answer)->reset_pending : std::nullopt};
    return answered || !faults.xids.empty() ? Answer(std::move(faults)) : std::nullopt;
  }
  job::LinkKind Link(int64_t from, int64_t to) override {
    return Ask<job::LinkKind>([from, to](GpuLibrary& library) { return library.Link(from, to); })
        .value_or(job::LinkKind::kUnknown);
  }

 private:
  // nullopt: the driver does not answer.
  template <class T, class Call>
  std::optional<T> Ask(Call call) {
    const auto promise = std::make_shared<std::promise<T>>();
    std::future<T> answer = promise->get_future();
    const bool asked =
        questions_->Put([promise, call](Library& library) { promise->set_value(call(**library)); });
    if (!asked) return std::nullopt;
    if (answer.wait_for(patience_.answer) != std::future_status::ready) {
      questions_->GiveUp();
      return std::nullopt;
    }
    return answer.get();
  }

  const DriverPatience patience_;
  const std::shared_ptr<Questions> questions_ = std::make_shared<Questions>();
  const std::shared_ptr<UntoldXids> untold_xids_ = std::make_shared<UntoldXids>();
};

}  // namespace

Library OpenPatiently(OpenGpuLibrary open, DriverPatience patience) {
  auto library = std::make_unique<PatientGpuLibrary>(patience);
  if (const base::Status opened = library->Open(std::move(open)); !opened) return opened.error();
  return std::unique_ptr<GpuLibrary>(std::move(library));
}

}  // namespace trainctl::agent

#include "worker/rank/process/reporter.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <sstream>
#include <thread>

#include "common/rank/rank_json.h"

namespace trainctl::train {
namespace {

constexpr size_t kPageBytes = 4096;

// A pipe to a worker that does not read. It has room for one page.
class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    const int flags = fcntl(ends_[1], F_GETFL);
    fcntl(ends_[1], F_SETFL, flags | O_NONBLOCK);
    const std::string page(kPageBytes, '\n');
    while (write(ends_[1], page.data(), page.size()) > 0) {
    }
    fcntl(ends_[1], F_SETFL, flags);
    full_bytes_ = HeldBytes();
    std::string read_page(kPageBytes, ' ');
    EXPECT_EQ(read(ends_[0], read_page.data(), read_page.size()), static_cast<ssize_t>(kPageBytes));
  }
  ~FullPipe() { close(ends_[0]); }
  FullPipe(const FullPipe&) = delete;

  int writer() const { return ends_[1]; }
  void CloseWriter() { close(ends_[1]); }
  void WaitUntilFull() const {
    while (HeldBytes() < full_bytes_) std::this_thread::yield();
  }
  std::string ReadAll() const {
    std::string text, some(1 << 16, ' ');
    for (ssize_t size = 0; (size = read(ends_[0], some.data(), some.size())) > 0;)
      text.append(some, 0, static_cast<size_t>(size));
    return text;
  }

 private:
  int HeldBytes() const {
    int bytes = 0;
    EXPECT_EQ(ioctl(ends_[0], FIONREAD, &bytes), 0);
    return bytes;
  }

  std::array<int, 2> ends_{};
  int full_bytes_ = 0;
};

std::vector<job::MetricPoint> PointsIn(const std::string& text) {
  std::vector<job::MetricPoint> points;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const base::Result<job::RankMessage> message = job::RankMessageFromLine(line);
    EXPECT_TRUE(message.ok());
    if (!message.ok()) continue;
    const auto* metrics = std::get_if<job::RankMetrics>(&*message);
    if (metrics != nullptr)
      points.insert(points.end(), metrics->points.begin(), metrics->points.end());
  }
  return points;
}

TEST(Reporter, WhereTheWorkerDoesNotReadAStepGoesOnAndTheOldestPointsAreCountedAndDropped) {
  constexpr int64_t kDropped = 1000;
  const base::SystemClock clock;
  FullPipe pipe;
  testing::internal::CaptureStderr();
  std::optional<Reporter> reporter;
  reporter.emplace(pipe.writer(), clock, 0);
  reporter->Send(job::RankNotice{std::string(2 * kPageBytes, 'x')});
  pipe.WaitUntilFull();  // it writes, and waits for the worker
  // One that waited for the pipe would never return.
  for (int64_t step = 0; step < static_cast<int64_t>(kMaxPendingPoints) + kDropped; ++step)
    reporter->Record(job::Metric::kLoss, step, 2.5);

  std::string text;
  std::thread worker([&] { text = pipe.ReadAll(); });
  reporter.reset();
  pipe.CloseWriter();
  worker.join();
  const std::vector<job::MetricPoint> points = PointsIn(text);
  ASSERT_EQ(points.size(), kMaxPendingPoints);
  EXPECT_EQ(points.front().step, kDropped);
  EXPECT_EQ(points.back().step, static_cast<int64_t>(kMaxPendingPoints) + kDropped - 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("1000 metric points dropped"));
}

}  // namespace
}  // namespace trainctl::train

#include "worker/rank/process/event_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/saved_folder.h"
#include "common/rank/run_names.h"
#include "common/track/tensorboard_events.h"

namespace trainctl::train {

EventFile::EventFile(std::string path)
    : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {}

base::Result<EventFile> EventFile::Make(const job::RankPlan& plan, int64_t first_step,
                                        base::WallMicros now) {
  const std::filesystem::path folder =
      std::filesystem::path(*plan.job.output.dir) / base::kTensorboardFolder;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  EventFile file(folder / job::CurvesFile(now / 1'000'000, plan.job_id, plan.attempt));
  const base::Status begun =
      file.Write(track::EventFileHead(now) + track::SessionStart(first_step, now));
  if (!begun) return begun.error();
  return file;
}

base::Status EventFile::Add(const std::vector<job::MetricPoint>& points) {
  std::string events;
  for (const job::MetricPoint& point : points) {
    events += track::ScalarEvent(track::CurveName(point.name, point.rank, Name(point.phase)),
                                 point.step, point.value, point.time);
  }
  return Write(events);
}

base::Status EventFile::Write(const std::string& events) {
  errno = 0;
  file_.write(events.data(), static_cast<std::streamsize>(events.size())).flush();
  if (file_) return base::Ok{};
  const int error = errno;
  return base::Error{
      base::Code::kIo,
      path_ + (error == 0 ? ": can't be written" : std::string(": ") + std::strerror(error))};
}

}  // namespace trainctl::train

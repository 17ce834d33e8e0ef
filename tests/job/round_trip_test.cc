#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "common/base/utf8.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/job/random_job.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

// Members are compared through both forms: every key is in the canonical JSON and in the flat list.
RC_GTEST_PROP(RoundTrip, FromJsonUndoesToJson, ()) {
  const JobSpec job = *RandomJob();
  const auto read = FromJson(ToJson(job));
  RC_ASSERT(read.ok());
  RC_ASSERT(ToJson(*read) == ToJson(job));
  RC_ASSERT(Flatten(*read) == Flatten(job));
  RC_ASSERT(read->optimizer.lr == job.optimizer.lr);
  RC_ASSERT(read->resources.gpu_memory_limit_bytes == job.resources.gpu_memory_limit_bytes);
}

RC_GTEST_PROP(RoundTrip, AJobThatIsReadFromAFileIsReadBackEqual, ()) {
  const JobSpec job = *RandomJob();
  const ReadJob read = Read(ToJson(job));
  if (CheckJob(job).empty()) {
    RC_ASSERT(read.job.has_value());
    RC_ASSERT(ToJson(*read.job) == ToJson(job));
  } else {
    RC_ASSERT(!read.job && !read.problems.empty());
  }
}

RC_GTEST_PROP(Reader, SurvivesMutatedFiles, ()) {
  std::string text = ToJson(*RandomJob());
  const int64_t mutations = *rc::gen::inRange(1, 8);
  for (int64_t i = 0; i < mutations; ++i) {
    const auto at = *rc::gen::inRange<size_t>(0, text.size());
    const auto length = *rc::gen::inRange<size_t>(0, 4);
    text.replace(at, length,
                 *rc::gen::element<std::string>("", "{", "}", "[", "]", ",", ":", "\"", "null",
                                                "1e999", "\xff", "-", "\\u", "9"));
  }
  const ReadJob read = Read(text);
  RC_ASSERT(read.job.has_value() || read.lab.has_value() || !read.problems.empty());
  for (const Problem& problem : read.problems) RC_ASSERT(!base::FindInvalidUtf8(problem.value));
}

RC_GTEST_PROP(Reader, SurvivesAnyOverride, (const std::string& value)) {
  const auto settings = Flatten(SmallestJob());
  const auto at = *rc::gen::inRange<size_t>(0, settings.size());
  const ReadJob read = Read(kSmallestJob, {{settings[at].first, value}});
  RC_ASSERT(read.job.has_value() || !read.problems.empty());
}

}  // namespace
}  // namespace trainctl::job

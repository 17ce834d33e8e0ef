// Everything shipped that has to do with job files: the published schema, and each example job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/base/file.h"
#include "common/job/job_json.h"
#include "tests/checkout.h"
#include "tests/job/json_schema_validator.h"

namespace trainctl::job {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = 1 << 20;

std::vector<fs::path> ShippedJobs() {
  std::vector<fs::path> files;
  const fs::path folder = fs::path(checkout::File("deploy/recipes"));
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  return files;
}

TEST(ShippedSchema, IsWhatTheProgramPublishes) {
  const std::string path = checkout::File("deploy/job.schema.json");
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    const auto written = base::WriteFileAtomically(path, JsonSchema());
    ASSERT_TRUE(written.ok()) << written.error().message;
  }
  const auto shipped = base::ReadFile(path, kMaxBytes);
  ASSERT_TRUE(shipped.ok()) << shipped.error().message;
  EXPECT_EQ(*shipped, JsonSchema()) << "run with UPDATE_GOLDEN=1 to write the schema anew";
}

TEST(ShippedJobs, PassTheCheck) {
  for (const fs::path& file : ShippedJobs()) {
    const ReadJob read =
        ReadJobFile(*base::ReadFile(file, kMaxBytes), {.source = file,
                                                       .default_name = file.stem(),
                                                       .base_directory = file.parent_path(),
                                                       .overrides = {}});
    EXPECT_THAT(read.problems, testing::IsEmpty()) << Format(read.problems, file);
    EXPECT_NE(read.job.has_value(), read.lab.has_value()) << file;
  }
}

TEST(ShippedJobs, FitThePublishedSchema) {
  const auto schema = nlohmann::json::parse(JsonSchema());
  for (const fs::path& file : ShippedJobs()) {
    EXPECT_THAT(Validate(schema, nlohmann::json::parse(*base::ReadFile(file, kMaxBytes))),
                testing::IsEmpty())
        << file;
  }
}

}  // namespace
}  // namespace trainctl::job

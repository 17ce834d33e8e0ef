#include "worker/rank/state/file_growth.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>

namespace trainctl::train {
namespace {

constexpr auto kSoon = std::chrono::seconds(60);

// A file that somebody writes piece by piece, each when the one before was told.
TEST(FileGrowth, TellsTheBytesOfAllFilesWheneverTheyHaveChanged) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("file_growth_test." + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path draft = folder / "draft", whole = folder / "whole";
  std::promise<int64_t> told[2];
  int calls = 0;
  {
    const FileGrowth growth({whole, draft}, [&](int64_t bytes) {
      if (calls < 2) told[calls].set_value(bytes);
      ++calls;
    });
    const auto wait = [&told](int call) {
      std::future<int64_t> bytes = told[call].get_future();
      return bytes.wait_for(kSoon) == std::future_status::ready ? bytes.get() : -1;
    };
    std::ofstream(draft) << "12345" << std::flush;
    EXPECT_EQ(wait(0), 5);
    std::ofstream(whole) << "123" << std::flush;
    EXPECT_EQ(wait(1), 8);
  }
  EXPECT_EQ(calls, 2) << "what does not grow is not told again";
  fs::remove_all(folder);
}

}  // namespace
}  // namespace trainctl::train

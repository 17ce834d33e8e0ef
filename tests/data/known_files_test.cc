#include "worker/rank/data/known_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

constexpr int64_t kTwoSeconds = 2'000'000'000;  // ns; within them a file may change unnoticed

// A sparse file of this moment.
std::string Large(const ScratchDirectory& scratch, const std::string& name) {
  const std::string path = scratch.Write(name, "rows");
  std::filesystem::resize_file(path, KnownFiles::kLeastKeptBytes);
  return path;
}

TEST(KnownFiles, WhatIsChangedOrReplacedIsNoticed) {
  const ScratchDirectory scratch;
  const std::string path = scratch.Write("rows.jsonl", "one");
  const auto known = KnownFiles::Of({path});
  ASSERT_TRUE(known.ok());
  EXPECT_TRUE(known->CheckUnchanged().ok());
  std::filesystem::create_hard_link(path, scratch.path() + "/link");
  EXPECT_TRUE(known->CheckUnchanged().ok());
  std::filesystem::rename(scratch.Write("other", "two"), path);  // of as many bytes
  ASSERT_FALSE(known->CheckUnchanged().ok());
  EXPECT_EQ(known->CheckUnchanged().error().message.find(path + ": was changed or replaced"), 0u);
  std::filesystem::remove(path);
  EXPECT_FALSE(known->CheckUnchanged().ok());
  EXPECT_EQ(KnownFiles::Of({path}).error().code, base::Code::kNotFound);
}

TEST(KnownFiles, OfFilesThatMayChangeWithinTheSameTickNoDigestIsKept) {
  const ScratchDirectory scratch;
  const auto known = KnownFiles::Of({Large(scratch, "rows.jsonl")});
  ASSERT_TRUE(known.ok());
  known->KeepDigest(scratch.path() + "/cache", "xxh64:0123456789abcdef");
  EXPECT_FALSE(known->FindDigest(scratch.path() + "/cache"));
}

TEST(KnownFiles, ADigestIsKeptForTheSameFilesAlone) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path() + "/cache", digest = "xxh64:0123456789abcdef";
  std::vector<std::string> paths = {Large(scratch, "rows.jsonl")};
  const auto changed = files::IdentityOf(paths[0]);
  ASSERT_TRUE(changed.ok());
  const auto early = KnownFiles::Of(paths, changed->changed_ns + kTwoSeconds - 1);
  early->KeepDigest(folder, digest);
  ASSERT_FALSE(early->FindDigest(folder));
  const auto known = KnownFiles::Of(paths, changed->changed_ns + kTwoSeconds);
  ASSERT_TRUE(known.ok());
  known->KeepDigest(folder, digest);
  ASSERT_EQ(known->FindDigest(folder), digest);
  EXPECT_FALSE(known->FindDigest(""));
  paths.push_back(scratch.Write("one", "more"));
  EXPECT_FALSE(KnownFiles::Of(paths)->FindDigest(folder));
  const std::string kept = std::filesystem::directory_iterator(folder)->path().string();
  const std::string text = base::ReadFile(kept, 1 << 20).value();
  for (const size_t cut : {text.size() - 1, text.size() - 23, size_t{0}}) {
    ASSERT_TRUE(base::WriteFileAtomically(kept, text.substr(0, cut)).ok());
    EXPECT_FALSE(known->FindDigest(folder)) << cut;
  }
  ASSERT_TRUE(base::WriteFileAtomically(kept, text.substr(0, text.size() - 1) + "\n").ok());
  EXPECT_FALSE(known->FindDigest(folder));
}

}  // namespace
}  // namespace trainctl::data

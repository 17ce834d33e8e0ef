#include "worker/shim/cgroup_leaf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/base/file.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::shim {
namespace {

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(CgroupLeaf, WritesTheKernelsFiles) {
  const tests::TempFolder leaf_folder;  // a folder with a cgroup's files in it
  for (const char* name : {"/cgroup.procs", "/cgroup.kill"})
    WriteText(leaf_folder.path() + name, "");
  WriteText(leaf_folder.path() + "/cgroup.events", "populated 1\nfrozen 0\n");
  const CgroupLeaf leaf(leaf_folder.path());
  EXPECT_TRUE(leaf.Add(1234));
  EXPECT_TRUE(leaf.Kill());
  EXPECT_TRUE(leaf.Populated());
  EXPECT_EQ(*base::ReadFile(leaf_folder.path() + "/cgroup.procs", 100), "1234");
  EXPECT_EQ(*base::ReadFile(leaf_folder.path() + "/cgroup.kill", 100), "1");
  WriteText(leaf_folder.path() + "/cgroup.events", "populated 0\nfrozen 0\n");
  EXPECT_FALSE(leaf.Populated());
}

TEST(CgroupLeaf, IsRefusedWhereTheKernelCannotKillIt) {
  const tests::TempFolder plain;
  EXPECT_FALSE(CgroupLeaf::Create(plain.path(), "leaf"));
  EXPECT_FALSE(std::filesystem::exists(plain.path() + "/leaf"))
      << "the attempt leaves nothing behind";
  EXPECT_FALSE(CgroupLeaf::Create("", "leaf"));
}

TEST(CgroupLeaf, NeverSharesAnothersFolder) {
  const tests::TempFolder parent;
  std::filesystem::create_directory(parent.path() + "/leaf");
  WriteText(parent.path() + "/leaf/cgroup.kill", "");
  WriteText(parent.path() + "/leaf/cgroup.events", "");
  EXPECT_FALSE(CgroupLeaf::Create(parent.path(), "leaf"));
  EXPECT_TRUE(std::filesystem::exists(parent.path() + "/leaf"));
}

TEST(OomKills, AreReadFromEveryKindOfFile) {
  const tests::TempFolder folder;
  WriteText(folder.path() + "/memory.events",
            "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
  WriteText(folder.path() + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(ReadOomKills(folder.path() + "/memory.events"), 2);
  EXPECT_EQ(ReadOomKills(folder.path() + "/memory.oom_control"), 5);
  EXPECT_EQ(ReadOomKills(folder.path() + "/missing"), std::nullopt);
  EXPECT_TRUE(ReadOomKills("/proc/vmstat"));
}

}  // namespace
}  // namespace trainctl::shim

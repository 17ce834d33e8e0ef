#include "worker/rank/data/cache_folders.h"

#include <gtest/gtest.h>

namespace trainctl::data {
namespace {

TEST(CacheFolders, ModelsAreWhereHuggingFaceHubLooks) {
  EXPECT_EQ(CacheFoldersOf({"/a", "/b", "/c", "/d"}).models, "/a");
  EXPECT_EQ(CacheFoldersOf({"", "/b", "/c", "/d"}).models, "/b/hub");
  EXPECT_EQ(CacheFoldersOf({"", "", "/c", "/d"}).models, "/c/huggingface/hub");
  EXPECT_EQ(CacheFoldersOf({"", "", "", "/d"}).models, "/d/.cache/huggingface/hub");
  EXPECT_EQ(CacheFoldersOf({}).models, "");
}

TEST(CacheFolders, TokensAreInTheCacheOfTheUser) {
  EXPECT_EQ(CacheFoldersOf({"/a", "/b", "/c", "/d"}).tokens, "/c/trainctl/tokens");
  EXPECT_EQ(CacheFoldersOf({"", "", "relative", "/d"}).tokens, "/d/.cache/trainctl/tokens");
  EXPECT_EQ(CacheFoldersOf({"/a", "", "", ""}).tokens, "");
}

}  // namespace
}  // namespace trainctl::data

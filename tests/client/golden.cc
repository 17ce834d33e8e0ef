#include "tests/client/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/base/file.h"
#include "tests/checkout.h"

namespace trainctl::client {

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = checkout::File("tests/client/goldens/") + name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    const base::Status written = base::WriteFileAtomically(path, text);
    ASSERT_TRUE(written.ok()) << written.error().message;
    return;
  }
  const base::Result<std::string> expected = base::ReadFile(path, 1 << 20);
  ASSERT_TRUE(expected.ok()) << expected.error().message << "; UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(text, *expected) << "UPDATE_GOLDEN=1 accepts this";
}

}  // namespace trainctl::client

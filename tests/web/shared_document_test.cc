#include "server/web/shared_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::web {
namespace {

using ::testing::ElementsAre;

class SharedDocumentTest : public ::testing::Test {
 protected:
  void LookAt(base::SteadyMicros now) {
    document_.Look(
        now, [this](SharedDocument::Take made) { making_.push_back(std::move(made)); },
        [this](const base::Result<SharedDocument::Text>& text) {
          seen_.push_back(text ? **text : text.error().message);
        });
  }
  void Make(const std::string& text) { making_.back()(std::make_shared<const std::string>(text)); }

  SharedDocument document_;
  std::vector<SharedDocument::Take> making_;
  std::vector<std::string> seen_;
};

TEST_F(SharedDocumentTest, WhoLooksWhileItIsMadeWaitsForIt) {
  LookAt(0);
  LookAt(SharedDocument::kMoment * 2);
  EXPECT_EQ(making_.size(), 1u);
  EXPECT_FALSE(document_.IsOver(SharedDocument::kMoment * 9)) << "somebody waits";
  Make("one");
  EXPECT_THAT(seen_, ElementsAre("one", "one"));
}

TEST_F(SharedDocumentTest, IsMadeAnewOnceItIsOlderThanAMoment) {
  LookAt(0);
  Make("one");
  LookAt(SharedDocument::kMoment);
  EXPECT_THAT(seen_, ElementsAre("one", "one"));
  LookAt(SharedDocument::kMoment + 1);
  EXPECT_EQ(making_.size(), 2u);
  Make("two");
  EXPECT_THAT(seen_, ElementsAre("one", "one", "two"));
}

TEST_F(SharedDocumentTest, AnErrorIsToldAndNotKept) {
  LookAt(0);
  making_.back()(base::Error{base::Code::kIo, "no disk"});
  LookAt(1);
  Make("one");
  EXPECT_THAT(seen_, ElementsAre("no disk", "one"));
}

}  // namespace
}  // namespace trainctl::web

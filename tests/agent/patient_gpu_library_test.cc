#include "worker/agent/patient_gpu_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <utility>

#include "tests/agent/fake_gpu_library.h"

namespace trainctl::agent {
namespace {

using testing::HasSubstr;

constexpr DriverPatience kShort{std::chrono::milliseconds(50), std::chrono::milliseconds(50)};
constexpr DriverPatience kLong{std::chrono::minutes(5), std::chrono::minutes(5)};

// A driver that hangs in its samples and faults, or when it is opened, until it is let go. The
// thread that is given up holds it.
struct HangingDriver {
  tests::FakeDriver facts;
  std::promise<void> let_go;
  std::shared_future<void> gate = let_go.get_future().share();
  std::atomic<bool> hangs = false;
};

class HangingLibrary : public tests::FakeGpuLibrary {
 public:
  explicit HangingLibrary(std::shared_ptr<HangingDriver> driver)
      : FakeGpuLibrary(driver->facts), driver_(std::move(driver)) {}
  base::Result<job::DeviceSample> Sample(int64_t index) override {
    if (driver_->hangs) driver_->gate.wait();
    return FakeGpuLibrary::Sample(index);
  }

  std::optional<GpuFaults> Faults(int64_t index) override {
    std::optional<GpuFaults> faults = FakeGpuLibrary::Faults(index);
    if (driver_->hangs) driver_->gate.wait();
    return faults;
  }

 private:
  const std::shared_ptr<HangingDriver> driver_;
};

class PatientGpuLibraryTest : public testing::Test {
 protected:
  ~PatientGpuLibraryTest() override { LetGo(); }

  void LetGo() {
    if (!std::exchange(let_go_, true)) driver_->let_go.set_value();
  }

  base::Result<std::unique_ptr<GpuLibrary>> Open(DriverPatience patience) const {
    return OpenPatiently(
        [driver = driver_]() -> base::Result<std::unique_ptr<GpuLibrary>> {
          return std::unique_ptr<GpuLibrary>(std::make_unique<HangingLibrary>(driver));
        },
        patience);
  }

  const std::shared_ptr<HangingDriver> driver_ = std::make_shared<HangingDriver>();

 private:
  bool let_go_ = false;
};

TEST_F(PatientGpuLibraryTest, PassesAnswersOn) {
  const auto library = Open(kLong);
  ASSERT_TRUE(library);
  driver_->facts.xids = {79, 31};
  EXPECT_EQ((*library)->Faults(0)->xids, (std::vector<int64_t>{79, 31}));
  EXPECT_EQ((*library)->DriverVersion(), "580.95.05");
  EXPECT_EQ((*library)->Gpus().size(), 1u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ((*library)->Sample(0)->power_watts, 300);
  EXPECT_EQ((*library)->Link(0, 1), job::LinkKind::kNvlink);
  driver_->facts.Set([](auto& facts) { facts.answers = false; });
  EXPECT_THAT((*library)->Sample(0).error().message, HasSubstr("fell off the bus"));
}

TEST_F(PatientGpuLibraryTest, ADriverThatHangsIsGivenUp) {
  const auto library = Open({kLong.opening, kShort.answer});
  ASSERT_TRUE(library);
  driver_->hangs = true;
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT((*library)->Sample(0).error().message, HasSubstr("does not answer"));
  EXPECT_FALSE((*library)->Processes(0)) << "nothing more is asked";
}

TEST_F(PatientGpuLibraryTest, FaultsThatAreToldTooLateAreKept) {
  const auto library = Open({kLong.opening, kShort.answer});
  ASSERT_TRUE(library);
  driver_->facts.Set([](auto& facts) { facts.xids = {79, 154}; });
  driver_->hangs = true;
  EXPECT_FALSE((*library)->Faults(0)) << "not that there are none";
  driver_->hangs = false;
  LetGo();
  const auto xids = [&] {
    std::optional<GpuFaults> faults;
    while (!faults) faults = (*library)->Faults(0);
    return faults->xids;
  };
  EXPECT_EQ(xids(), (std::vector<int64_t>{79, 154}));
  EXPECT_TRUE(xids().empty()) << "each is told once";
}

TEST_F(PatientGpuLibraryTest, ADriverThatHangsWhenItIsOpenedIsGivenUp) {
  const auto library = OpenPatiently(
      [driver = driver_]() -> base::Result<std::unique_ptr<GpuLibrary>> {
        driver->gate.wait();
        return base::Error{base::Code::kNotFound, "too late"};
      },
      kShort);
  EXPECT_THAT(library.error().message, HasSubstr("does not answer"));
}

TEST_F(PatientGpuLibraryTest, TellsWhyThereIsNone) {
  const auto library = OpenPatiently(
      []() -> base::Result<std::unique_ptr<GpuLibrary>> {
        return base::Error{base::Code::kNotFound, "no NVIDIA driver here"};
      },
      kLong);
  EXPECT_EQ(library.error().code, base::Code::kNotFound);
}

}  // namespace
}  // namespace trainctl::agent

// OpenNvml with the real loader and a driver's library that the build makes (fake_nvml.cc). The
// loader takes a library that is there already for any other of its SONAME.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/check.h"
#include "tests/checkout.h"
#include "worker/agent/gpu_library.h"

namespace trainctl::agent {
namespace {

using ::testing::HasSubstr;

constexpr char kSoname[] = "libnvidia-ml.so.1";

// There while it lives, under the real one's name.
class Driver {
 public:
  explicit Driver(const std::string& name)
      : library_(::dlopen(checkout::TestProgram("fake_nvml/" + name + "/" + kSoname).c_str(),
                          RTLD_NOW | RTLD_LOCAL)) {
    CHECK(library_ != nullptr) << ::dlerror();
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() { ::dlclose(library_); }

  int& Number(const char* name) {
    void* const found = ::dlsym(library_, name);
    CHECK(found != nullptr) << name;
    return *static_cast<int*>(found);
  }

 private:
  void* library_;
};

TEST(OpenNvml, AFunctionThatADriverLacksIsNamed) {
  Driver driver("lacking");
  const auto library = OpenNvml();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, base::Code::kUnavailable);
  EXPECT_THAT(library.error().message, HasSubstr("lacks nvmlDeviceGetP2PStatus,"));
  EXPECT_EQ(driver.Number("fake_inits"), 0);
}

TEST(OpenNvml, ADriverThatDoesNotStartSaysWhy) {
  Driver driver("whole");
  driver.Number("fake_init_answer") = 9;
  const auto library = OpenNvml();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, base::Code::kUnavailable);
  EXPECT_THAT(library.error().message, HasSubstr("does not answer: Driver Not Loaded"));
  EXPECT_EQ(driver.Number("fake_shutdowns"), 0) << "it has not begun";
}

TEST(OpenNvml, FindsTheDriversGpusAndEndsItOnce) {
  Driver driver("whole");
  {
    const auto opened = OpenNvml();
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened.value()->DriverVersion(), "580.95.05");
    const std::vector<Gpu> gpus = opened.value()->Gpus();
    ASSERT_EQ(gpus.size(), 2u);
    EXPECT_EQ(gpus[0].uuid, "GPU-aaaa");
    EXPECT_EQ(gpus[0].name, "NVIDIA H200");
    EXPECT_EQ(gpus[0].memory_bytes, int64_t{1} << 36);
    EXPECT_EQ(gpus[0].compute_major, 9);
    EXPECT_EQ(gpus[0].compute_minor, 1);
    EXPECT_EQ(gpus[0].numa_node, std::nullopt);
    EXPECT_EQ(gpus[1].index, 1);
    EXPECT_EQ(gpus[1].uuid, "GPU-bbbb");
    EXPECT_EQ(gpus[1].name, "NVIDIA H100");
    EXPECT_EQ(gpus[1].memory_bytes, int64_t{2} << 36);
  }
  EXPECT_EQ(driver.Number("fake_inits"), 1);
  EXPECT_EQ(driver.Number("fake_shutdowns"), 1);
}

TEST(OpenNvml, ReadsWhatADriverTellsOfAGpu) {
  Driver driver("whole");
  const auto opened = OpenNvml();
  ASSERT_TRUE(opened) << opened.error().message;
  GpuLibrary& library = *opened.value();
  const auto sample = library.Sample(0);
  ASSERT_TRUE(sample) << sample.error().message;
  EXPECT_EQ(sample->memory_used_bytes, int64_t{5} << 20);
  EXPECT_EQ(sample->utilization_percent, 70);
  EXPECT_EQ(sample->power_watts, 350.5);
  EXPECT_EQ(sample->temperature_celsius, 61);
  EXPECT_EQ(sample->energy_joules, 7.5);
  EXPECT_EQ(library.Sample(1)->power_watts, std::nullopt) << "which it does not tell";
  EXPECT_THAT(library.Sample(2).error().message, HasSubstr("for GPU 2: Another Error"));
  const auto processes = library.Processes(1);
  ASSERT_TRUE(processes) << processes.error().message;
  ASSERT_EQ(processes->size(), 2u);
  EXPECT_EQ((*processes)[0].pid, 41);
  EXPECT_EQ((*processes)[0].memory_bytes, int64_t{1} << 30);
  EXPECT_EQ((*processes)[1].memory_bytes, 0);
  EXPECT_EQ(library.Link(0, 1), job::LinkKind::kHostBridge);
  const auto faults = library.Faults(0);  // whose functions it lacks
  ASSERT_TRUE(faults);
  EXPECT_TRUE(faults->xids.empty());
}

// The last one here: a real driver that was loaded once might stay.
TEST(OpenNvml, AHostWithoutTheLibraryHasNoDriver) {
  if (void* const real = ::dlopen(kSoname, RTLD_NOW | RTLD_LOCAL)) {
    ::dlclose(real);
    GTEST_SKIP() << "this host has an NVIDIA driver";
  }
  const auto library = OpenNvml();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, base::Code::kNotFound);
  EXPECT_THAT(library.error().message, HasSubstr("libnvidia-ml.so.1 is missing"));
}

}  // namespace
}  // namespace trainctl::agent

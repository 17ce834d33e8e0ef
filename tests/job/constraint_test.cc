#include "common/job/constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::job {
namespace {

const SiteDevice kGpu = {.kind = DeviceKind::kCuda,
                         .host = "node1",
                         .name = "NVIDIA H200",
                         .memory_bytes = int64_t{140} << 30,
                         .compute_capability = "9.0",
                         .labels = {{"rack", "r1"}}};
const SiteDevice kSlot = {.kind = DeviceKind::kCpu,
                          .host = "node1",
                          .name = "CPU slot 0",
                          .memory_bytes = int64_t{500} << 30,
                          .compute_capability = ""};

bool Met(const char* key, const char* text, const SiteDevice& device = kGpu) {
  const auto constraint = ParseConstraint(key, text);
  EXPECT_TRUE(constraint.ok()) << key << " " << text;
  return constraint.ok() && Meets(*constraint, device);
}

TEST(Constraint, ComparesMemoryInBytes) {
  EXPECT_TRUE(Met("gpu.memory", ">=140GiB"));
  EXPECT_FALSE(Met("gpu.memory", ">140GiB"));
  EXPECT_TRUE(Met("gpu.memory", ">=80GB"));
  EXPECT_TRUE(Met("gpu.memory", "< 141GiB"));
  EXPECT_TRUE(Met("gpu.memory", "<=140GiB"));
}

TEST(Constraint, ComparesCapabilitiesByTheirParts) {
  EXPECT_TRUE(Met("gpu.compute_capability", ">=8.0"));
  EXPECT_TRUE(Met("gpu.compute_capability", "=9"));
  EXPECT_TRUE(Met("gpu.compute_capability", "<10.0"));
  EXPECT_TRUE(Met("gpu.compute_capability", ">8.10"));
  EXPECT_FALSE(Met("gpu.compute_capability", "!=9.0"));
}

TEST(Constraint, ComparesNamesForEquality) {
  EXPECT_TRUE(Met("gpu.name", "=NVIDIA H200"));
  EXPECT_FALSE(Met("gpu.name", "!=NVIDIA H200"));
  EXPECT_TRUE(Met("host", "= node1"));
  EXPECT_TRUE(Met("host", "!=node2"));
}

TEST(Constraint, AModelIsAPartOfTheNameOrOneOfSeveral) {
  EXPECT_TRUE(Met("gpu.model", "=H200"));
  EXPECT_TRUE(Met("gpu.model", "=H100,h200"));
  EXPECT_TRUE(Met("gpu.model", "= NVIDIA H200"));
  EXPECT_FALSE(Met("gpu.model", "=H100"));
  EXPECT_FALSE(Met("gpu.model", "!=A100, H200"));
  EXPECT_TRUE(Met("gpu.model", "!=A100"));
  EXPECT_FALSE(Met("gpu.model", "!=A100", kSlot));
}

TEST(Constraint, AHostIsOneOfSeveralOrNoneOfThem) {
  EXPECT_TRUE(Met("host", "=node2,node1"));
  EXPECT_TRUE(Met("host", "= node2 , node1"));
  EXPECT_FALSE(Met("host", "=node2,node3"));
  EXPECT_FALSE(Met("host", "!=node2,node1"));
  EXPECT_TRUE(Met("host", "!=node2,node3"));
  EXPECT_FALSE(Met("host", "=node")) << "a part of a name is none";
}

TEST(Constraint, AWorkerWithoutTheLabelIsOfNoValue) {
  EXPECT_TRUE(Met("label.rack", "=r1"));
  EXPECT_TRUE(Met("label.rack", "=r2,r1"));
  EXPECT_FALSE(Met("label.rack", "!=r1"));
  EXPECT_FALSE(Met("label.zone", "=b"));
  EXPECT_TRUE(Met("label.zone", "!=b"));
  EXPECT_FALSE(Met("label.rack", "=r1", kSlot));
}

TEST(Constraint, ACpuSlotMeetsNoneOfAGpu) {
  EXPECT_FALSE(Met("gpu.memory", ">=1GiB", kSlot));
  EXPECT_FALSE(Met("gpu.name", "!=NVIDIA H200", kSlot));
  EXPECT_TRUE(Met("host", "=node1", kSlot));
}

TEST(Constraint, WhatIsNoneSaysWhatWasExpected) {
  const auto message = [](const char* key, const char* text) {
    const auto constraint = ParseConstraint(key, text);
    return constraint.ok() ? std::string("accepted") : constraint.error().message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(message("gpu.memory", "40GiB"), HasSubstr("\">=40GiB\""));
  EXPECT_THAT(message("gpu.memory", ">=much"), HasSubstr("\">=40GiB\""));
  EXPECT_THAT(message("gpu.compute_capability", ">=8.x"), HasSubstr("\">=8.0\""));
  EXPECT_THAT(message("gpu.compute_capability", ">="), HasSubstr("\">=8.0\""));
  EXPECT_THAT(message("gpu.name", ">=H200"), HasSubstr("= or !="));
  EXPECT_THAT(message("gpu.model", "H200"), HasSubstr("\"=H100,H200\""));
  EXPECT_THAT(message("gpu.model", "=H100,"), HasSubstr("\"=H100,H200\""));
  EXPECT_THAT(message("host", "="), HasSubstr("= or !="));
  EXPECT_THAT(message("host", "=a,,b"), HasSubstr("\"=node1,node2\""));
  EXPECT_THAT(message("host", "=a, label.x =b"), HasSubstr("\"=node1,node2\""));
  EXPECT_THAT(message("host", "<a"), HasSubstr("\"=node1,node2\""));
  EXPECT_THAT(message("label.rack", "r1"), HasSubstr("= or !="));
  EXPECT_THAT(message("label.", "=r1"), HasSubstr("\"label.rack\""));
  EXPECT_THAT(message("label.a b", "=r1"), HasSubstr("\"label.rack\""));
  EXPECT_THAT(message("gpu.memroy", ">=1GB"), HasSubstr("did you mean 'gpu.memory'?"));
}

bool LinkMet(const char* text, LinkKind link) {
  return MeetsLink(ParseConstraint("gpu.links", text).value(), link);
}

TEST(Constraint, LinksAreComparedFromTheFarthestToTheClosest) {
  using enum LinkKind;
  EXPECT_TRUE(LinkMet("=NVLink", kNvlink));
  EXPECT_TRUE(LinkMet("= nvlink", kNvlink));
  EXPECT_TRUE(LinkMet("=nv", kNvlink));
  EXPECT_FALSE(LinkMet("=NVLink", kOneSwitch));
  EXPECT_TRUE(LinkMet(">=PIX", kNvlink));
  EXPECT_TRUE(LinkMet(">=one PCIe switch", kOneSwitch));
  EXPECT_FALSE(LinkMet(">=PIX", kSwitches));
  EXPECT_TRUE(LinkMet("!=SYS", kNumaNode));
  EXPECT_FALSE(LinkMet("!=SYS", kBetweenSockets));
  EXPECT_TRUE(LinkMet("<PHB", kNumaNode));
  for (const char* text : {"!=NVLink", "<NVLink", ">=SYS"})
    EXPECT_FALSE(LinkMet(text, kUnknown)) << text;
}

TEST(Constraint, ThatIsOfNoKindOfLinkSaysWhichThereAre) {
  for (const char* text : {"NVLink", "=", ">=unknown", "=NV4", "=NVLink,PIX"}) {
    const auto constraint = ParseConstraint("gpu.links", text);
    ASSERT_FALSE(constraint.ok()) << text;
    EXPECT_THAT(constraint.error().message, testing::HasSubstr("SYS, NODE, PHB, PXB, PIX, NVLink"));
  }
}

TEST(Constraint, OfLinksIsMetByAnyGpuAlone) {
  EXPECT_TRUE(Met("gpu.links", "=NVLink"));
  EXPECT_FALSE(Met("gpu.links", "=NVLink", kSlot));
}

}  // namespace
}  // namespace trainctl::job

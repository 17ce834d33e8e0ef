#include "common/rank/rank_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "common/rank/rank_key.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;

const MemoryByKind kMemory = {.params = 1,
                              .grads = 2,
                              .optimizer = 3,
                              .optimizer_cpu = 4,
                              .other = 5,
                              .allocated = 6,
                              .peak_allocated = 7,
                              .reserved = 8};

// What comes out of one line is written as the same line again.
template <class Message>
void ExpectSameLine(const Message& message) {
  const std::string line = ToLine(RankMessage(message));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto read = RankMessageFromLine(line);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(std::holds_alternative<Message>(*read)) << line;
  EXPECT_EQ(ToLine(*read), line);
}

TEST(RankMessages, EveryKindIsReadBack) {
  ExpectSameLine(RankStarted{12, "abc", "2.11", "2.28", "580", "H200"});
  ExpectSameLine(RankPhase{RunPhase::kLoading, 10, 20});
  ExpectSameLine(RankRendezvous{"00ff"});
  ExpectSameLine(RankProgress{3, 2, 100, Stage::kCollective, 2.5, 99});
  ExpectSameLine(RankProgress{});
  ExpectSameLine(RankMetrics{{{"loss", 3, std::nullopt, std::nullopt, 2.5, 1000},
                              {"memory_params_bytes", 0, 1, Phase::kAfterForward, 7, 1001}}});
  ExpectSameLine(RankSaved{"final", "/out", 4096, "folder 1 2 boot\nfile 3 4 weights\n"});
  ExpectSameLine(RankSaved{"checkpoint", "/out/step-3", 1, "", {"/out/step-1", "/out/step-2"}});
  ExpectSameLine(RankNotice{"no checkpoint of step 5: disk full"});
  ExpectSameLine(RankContinuation{4, 1, "Once\nupon", " a \"time\""});
  ExpectSameLine(RankOutcome{Outcome::kSucceeded, "done", std::nullopt});
  ExpectSameLine(RankDropped{12});
  ExpectSameLine(RankOutcome{Outcome::kOomGpu, "out of memory",
                             OomDetail{1, {Work::kForward}, 100, 200, kMemory}});
}

TEST(RankMessages, AMetricPointKeepsItsFields) {
  const auto read = RankMessageFromLine(ToLine(
      RankMessage(RankMetrics{{{"memory_params_bytes", 5, 2, Phase::kAfterForward, 7.5, 1001}}})));
  const MetricPoint& point = std::get<RankMetrics>(*read).points.at(0);
  EXPECT_EQ(point.name, "memory_params_bytes");
  EXPECT_EQ(point.step, 5);
  EXPECT_EQ(point.rank, 2);
  EXPECT_EQ(point.phase, Phase::kAfterForward);
  EXPECT_EQ(point.value, 7.5);
  EXPECT_EQ(point.time, 1001);
}

TEST(RankMessages, ALossThatIsNoNumberArrives) {
  const auto read = RankMessageFromLine(
      ToLine(RankMessage(RankProgress{.loss = std::numeric_limits<double>::quiet_NaN()})));
  EXPECT_TRUE(std::isnan(std::get<RankProgress>(*read).loss.value()));
}

TEST(RankMessages, AMessageOfAnyBytesIsOneValidLine) {
  const auto read = RankMessageFromLine(
      ToLine(RankMessage(RankOutcome{Outcome::kFailed, "a\n\xff\x01", std::nullopt})));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::get<RankOutcome>(*read).message, "a\n\xEF\xBF\xBD\x01");
}

TEST(RankMessages, UnknownMembersAreSkipped) {
  EXPECT_TRUE(RankMessageFromLine(R"({"type":"rendezvous","blob":"00","new":[1]})").ok());
}

TEST(RankMessages, AFaultNamesTheKey) {
  const auto message = [](std::string_view line) {
    return RankMessageFromLine(line).error().message;
  };
  EXPECT_THAT(message(R"({"blob":"00"})"), HasSubstr("type: missing"));
  EXPECT_THAT(message(R"({"type":"what"})"), HasSubstr("type: 'what' is not known"));
  EXPECT_THAT(message(R"({"type":"rendezvous","blob":1})"), HasSubstr("blob: expected a string"));
  EXPECT_THAT(
      message(R"({"type":"metrics","points":[{"name":"loss","step":0,"value":true,"time":0}]})"),
      HasSubstr("points[0].value: expected a number"));
  EXPECT_THAT(message(R"({"type":"outcome","outcome":"GOOD","message":""})"),
              HasSubstr("outcome: 'GOOD' is not known"));
  EXPECT_THAT(message(R"({"type":"phase","phase":"idling","done":0,"total":0})"),
              HasSubstr("phase: 'idling' is not known"));
  EXPECT_THAT(message(R"({"type":"phase","phase":"loading","done":-1,"total":0})"),
              HasSubstr("done: -1: expected a number from 0"));
  EXPECT_THAT(message(R"({"type":"dropped","messages":-1})"),
              HasSubstr("messages: -1: expected a number"));
  EXPECT_THAT(message("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(message("{"), HasSubstr("valid JSON"));
}

TEST(RankMessages, ABadPointIsNamedByItsPlace) {
  const auto message = [](const MetricPoint& point) {
    return RankMessageFromLine(ToLine(RankMessage(RankMetrics{{{"loss", 0}, point}})))
        .error()
        .message;
  };
  EXPECT_THAT(message({"", 1}), HasSubstr("points[1].name: expected 1 to 128 bytes"));
  EXPECT_THAT(message({std::string(129, 'x'), 1}), HasSubstr("points[1].name: expected 1"));
  EXPECT_THAT(message({"loss", -1}), HasSubstr("points[1].step: -1: expected"));
  EXPECT_THAT(message({"loss", 1, kMaxRank + 1}), HasSubstr("points[1].rank: expected"));
  EXPECT_THAT(RankMessageFromLine(R"({"type":"metrics","points":[{"name":"loss","step":1,)"
                                  R"("value":0,"time":0,"phase":"afterwards"}]})")
                  .error()
                  .message,
              HasSubstr("points[0].phase: 'afterwards' is not known"));
}

TEST(OomDetailJson, IsReadBackAndNamesItsFaults) {
  const OomDetail oom{1, {Work::kForward}, 100, 200, kMemory};
  EXPECT_EQ(ToJson(*OomDetailFromJson(ToJson(oom))), ToJson(oom));
  OomDetail bad = oom;
  bad.memory.grads = -5;
  EXPECT_THAT(OomDetailFromJson(ToJson(bad)).error().message,
              HasSubstr("memory.grads: -5: expected"));
  bad = oom;
  bad.limit_bytes = -1;
  EXPECT_THAT(OomDetailFromJson(ToJson(bad)).error().message,
              HasSubstr("limit_bytes: -1: expected"));
}

// What earlier programs wrote, and stored.
TEST(OomDetailJson, ItsPhasesAreTheirNames) {
  for (const std::string phase : {"loading", "joining", "forward", "backward", "optimizer_step",
                                  "evaluation", "checkpoint", "saving", "trial backward"}) {
    const std::string text = R"({"rank":1,"phase":")" + phase +
                             R"(","requested_bytes":100,"limit_bytes":200,"memory":)" +
                             R"({"params":1,"grads":2,"optimizer":3,"optimizer_cpu":4,"other":5,)" +
                             R"("allocated":6,"peak_allocated":7,"reserved":8}})";
    const base::Result<OomDetail> read = OomDetailFromJson(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(ToJson(*read), text);
  }
  OomDetail trial{0, {Work::kForward, true}, 1, 2, {}};
  EXPECT_THAT(ToJson(trial), HasSubstr(R"("phase":"trial forward")"));
  const std::string unknown = R"({"rank":1,"phase":"trial","requested_bytes":1})";
  EXPECT_THAT(OomDetailFromJson(unknown).error().message, HasSubstr("phase: 'trial' is not known"));
}

TEST(RankMessages, TheStageOfProgressIsItsName) {
  const std::string line = ToLine(RankMessage(RankProgress{.stage = Stage::kCollective}));
  EXPECT_THAT(line, HasSubstr(R"("stage":"collective")"));
  std::string damaged = line;
  damaged.replace(damaged.find("collective"), 10, "compiling!");
  EXPECT_THAT(RankMessageFromLine(damaged).error().message,
              HasSubstr("stage: 'compiling!' is not known"));
}

TEST(RankCommands, EveryKindIsReadBack) {
  const auto peers = RankCommandFromLine(ToLine(RankCommand(PeersCommand{"00ff"})));
  ASSERT_TRUE(peers.ok());
  EXPECT_EQ(std::get<PeersCommand>(*peers).blob, "00ff");
  const auto stop = RankCommandFromLine(ToLine(RankCommand(StopCommand{})));
  ASSERT_TRUE(stop.ok());
  EXPECT_TRUE(std::holds_alternative<StopCommand>(*stop));
}

TEST(RankPlanJson, IsReadBack) {
  RankPlan plan{.job = SmallestJob(),
                .job_id = "j1",
                .attempt = 2,
                .rank = 3,
                .world_size = 4,
                .device = DeviceKind::kCuda,
                .device_index = 1};
  plan.ended_jobs = {"j7"};
  plan.trial = true;
  plan.device_uuid = "GPU-1";
  plan.host_place = 1;
  plan.host_devices = {0, 5};
  plan.cpus = "0-3,8";
  plan.threads = 8;
  plan.bind_address = "10.0.0.1";
  plan.directory = "/scratch";
  const auto read = RankPlanFromJson(ToJson(plan));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(ToJson(*read), ToJson(plan));
  EXPECT_EQ(ToJson(read->job), ToJson(plan.job));
  EXPECT_EQ(read->device, DeviceKind::kCuda);
  EXPECT_EQ(read->rank, 3);
  EXPECT_EQ(read->ended_jobs, plan.ended_jobs);
  EXPECT_EQ(read->host_place, 1);
  EXPECT_EQ(read->host_devices, (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(read->cpus, "0-3,8");
  EXPECT_TRUE(read->trial);
}

TEST(RankPlanJson, AFaultInTheJobIsNamed) {
  std::string text = ToJson(RankPlan{.job = SmallestJob()});
  text.replace(text.find("32-true"), 7, "64-true");
  const auto read = RankPlanFromJson(text);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("precision"));
}

TEST(InspectionJson, IsReadBack) {
  Inspection inspection;
  inspection.rows = 20;
  inspection.longest_row = 300;
  EXPECT_EQ(ToJson(inspection).find("sampled_rows"), std::string::npos);
  inspection.sampled_rows = 20;
  inspection.packed_sequences = 7;
  inspection.longest_sequence = 509;
  inspection.longest_validation_row = 301;
  inspection.full_rows = 3;
  inspection.untrained_rows = 2;
  inspection.data_digest = "sha256:00";
  inspection.model.layers = 2;
  inspection.model.tied_head = true;
  inspection.model.rope_theta = 1e5;
  const auto read = InspectionFromJson(ToJson(inspection));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(ToJson(*read), ToJson(inspection));
  EXPECT_EQ(read->model.rope_theta, 1e5);
  EXPECT_EQ(read->longest_row, 300);
  EXPECT_EQ(read->longest_validation_row, 301);
  EXPECT_EQ(read->sampled_rows, 20);
  EXPECT_EQ(read->packed_sequences, 7);
  EXPECT_EQ(read->longest_sequence, 509);
  EXPECT_EQ(read->full_rows, 3);
  EXPECT_EQ(read->untrained_rows, 2);
  inspection.full_rows = 21;
  EXPECT_THAT(InspectionFromJson(ToJson(inspection)).error().message, HasSubstr("full_rows"));
  inspection.full_rows = 3;
  EXPECT_EQ(read->model.layers, 2);
  EXPECT_EQ(ToJson(inspection).find("tokenizer_digest"), std::string::npos);
  inspection.tokenizer_digest = "xxh64:01";
  EXPECT_EQ(InspectionFromJson(ToJson(inspection))->tokenizer_digest, "xxh64:01");
  EXPECT_EQ(ToJson(inspection).find("waited_for"), std::string::npos);
  inspection.waited_for = "j7 (process 12)";
  EXPECT_EQ(InspectionFromJson(ToJson(inspection))->waited_for, "j7 (process 12)");
  inspection.sampled_rows = 20;
  EXPECT_EQ(ToJson(inspection).find("pictures"), std::string::npos);
  inspection.decoded_pictures = 36;
  inspection.broken_pictures = 2;
  EXPECT_EQ(InspectionFromJson(ToJson(inspection))->broken_pictures, 2);
  EXPECT_EQ(InspectionFromJson(ToJson(inspection))->decoded_pictures, 36);
  inspection.broken_pictures = 37;
  EXPECT_THAT(InspectionFromJson(ToJson(inspection)).error().message, HasSubstr("broken_pictures"));
  inspection.broken_pictures = 2;
  inspection.sampled_rows = 21;
  EXPECT_THAT(InspectionFromJson(ToJson(inspection)).error().message, HasSubstr("sampled_rows"));
}

TEST(InspectionJson, TheFirstRowAndTheRevisionAreReadBackAndAbsentWhereThereIsNone) {
  Inspection inspection;
  EXPECT_EQ(ToJson(inspection).find("first_row"), std::string::npos);
  EXPECT_EQ(ToJson(inspection).find("model_revision"), std::string::npos);
  inspection.first_row = ShownRow{9, 4, {{"<s>Hi\n", false}, {"Ho</s>", true}}, "has a date"};
  inspection.model_revision = "abc";
  const auto read = InspectionFromJson(ToJson(inspection));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->model_revision, "abc");
  EXPECT_EQ(read->first_row->tokens, 9);
  EXPECT_EQ(read->first_row->trained, 4);
  EXPECT_EQ(read->first_row->note, "has a date");
  ASSERT_EQ(read->first_row->pieces.size(), 2u);
  EXPECT_EQ(read->first_row->pieces[0].text, "<s>Hi\n");
  EXPECT_TRUE(read->first_row->pieces[1].trained);
}

TEST(InspectionJson, WhatAFamilyAddsIsReadBackAndAbsentWhereThereIsNone) {
  Inspection inspection;
  EXPECT_EQ(ToJson(inspection).find("head_norms"), std::string::npos);
  EXPECT_EQ(ToJson(inspection).find("rope_scaling"), std::string::npos);
  EXPECT_EQ(ToJson(inspection).find("image"), std::string::npos);
  EXPECT_EQ(ToJson(inspection).find("full_layers"), std::string::npos);
  ModelShape& model = inspection.model;
  model.qkv_bias = model.out_bias = model.mlp_bias = model.head_norms = true;
  model.sliding_window = 4096;
  model.full_layers = {0, 2};
  model.dropout = 0.1;
  model.image = ImageShape{.side = 56,
                           .patch = 8,
                           .token = 3,
                           .vision_layers = 4,
                           .vision_hidden = 64,
                           .vision_intermediate = 65,
                           .vision_heads = 7,
                           .vision_qkv_bias = false,
                           .vision_norm_eps = 0.25,
                           .queries = 9,
                           .qformer_layers = 10,
                           .qformer_hidden = 66,
                           .qformer_intermediate = 67,
                           .qformer_heads = 13,
                           .cross_every = 5,
                           .qformer_norm_eps = 0.5,
                           .qformer_dropout = 0.125,
                           .qformer_attention_dropout = 0.375};
  model.rope_scaling = RopeScaling{.type = RopeType::kYarn,
                                   .factor = 4,
                                   .original_positions = 32768,
                                   .low_freq_factor = 2,
                                   .high_freq_factor = 3,
                                   .beta_fast = 16,
                                   .beta_slow = 2,
                                   .attention_factor = 1.5,
                                   .truncates_correction = false};
  const auto read = InspectionFromJson(ToJson(inspection));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->model.rope_scaling, model.rope_scaling);
  EXPECT_EQ(read->model.sliding_window, 4096);
  EXPECT_EQ(read->model.full_layers, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(read->model.dropout, 0.1);
  EXPECT_EQ(read->model.image, model.image);
  EXPECT_TRUE(read->model.qkv_bias && read->model.out_bias && read->model.mlp_bias &&
              read->model.head_norms);
}

TEST(InspectionJson, AFaultNamesTheKey) {
  Inspection unsorted;
  unsorted.model.full_layers = {2, 0};
  EXPECT_THAT(InspectionFromJson(ToJson(unsorted)).error().message,
              HasSubstr("model.full_layers: expected layers in ascending order"));
  EXPECT_THAT(
      InspectionFromJson(R"({"model": {"family": "llama", "layers": "x"}})").error().message,
      HasSubstr("model.layers: expected an integer"));
}

TEST(MemoryEstimateJson, IsReadBack) {
  MemoryEstimate estimate{.phases = {}, .peak_allocated = 99, .sequence_length = 512};
  estimate.phases[1] = kMemory;
  const auto read = MemoryEstimateFromJson(ToJson(estimate));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(ToJson(*read), ToJson(estimate));
  EXPECT_EQ(read->phases[1].optimizer_cpu, 4);
}

}  // namespace
}  // namespace trainctl::job

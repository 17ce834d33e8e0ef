// Every verb, with -o json: its answer is one JSON object, or the option is refused.
#include <filesystem>
#include <set>
#include <tuple>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "client/verbs/verb.h"
#include "common/base/secret_file.h"
#include "common/tls/certificates.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

using Line = std::vector<std::string>;

class FormatsTest : public SubmitTest {
 protected:
  FormatsTest() {
    surroundings_.configuration_file = folder_ + "/config.json";
    surroundings_.environment_recipes = folder_ + "/recipes";
    std::filesystem::create_directory(folder_ + "/recipes");
    coordinator_.dashboard = "127.0.0.1:40001";
    coordinator_.jobs = {FinishedJob("j1", "done", "SUCCEEDED"),
                         FinishedJob("j2", "part", "FAILED")};
    coordinator_.jobs[1].set_step(31);
    coordinator_.comparison.add_jobs()->set_id("j1");
    coordinator_.workers.push_back(CpuWorker("gone/0", "LOST"));
    v1::MetricPoint& point = coordinator_.points.emplace_back();
    point.set_name("loss");
    point.set_value(2.5);
    WriteFiles();
    AddArtifacts();
  }

  void WriteFiles() {
    File("tiny.json", kJob);
    File("lab.json", kLab);
    File("recipes/lab.json", kLab);
    EXPECT_TRUE(
        base::WriteFileAtomically(
            folder_ + "/ca.pem",
            tls::MakeAuthority("a site", {0, int64_t{4'000'000'000} * 1'000'000})->certificate)
            .ok());
    EXPECT_TRUE(base::WriteSecretFile(folder_ + "/token", "trainctl_secret").ok());
  }

  // j1 has saved its model, and j2 a checkpoint on its way.
  void AddArtifacts() {
    job::JobSpec spec = job::FromJson(kJob).value();
    spec.output = {.dir = "/out/tiny", .save = job::Save::kFinal};
    spec.checkpoint.every_steps = 4;
    for (const auto& [id, kind, path] :
         {std::tuple("j1", "final", "/out/tiny"),
          std::tuple("j2", "checkpoint", "/part/checkpoints/step-4")}) {
      v1::JobDetail& detail = coordinator_.details[id];
      detail.set_job_json(job::ToJson(spec));
      v1::Artifact& artifact = *detail.add_artifacts();
      artifact.set_kind(kind);
      artifact.set_path(path);
      artifact.set_host("alpha");
      artifact.set_bytes(2);
      coordinator_.artifacts[path]["config.json"] = "{}";
    }
  }

  // In this order: what some make others end.
  std::vector<Line> Answered() const {
    const std::string job = folder_ + "/tiny.json", start = "2026-12-01 14:00 UTC";
    return {{"submit", job, "--name", "one"},
            {"submit", folder_ + "/lab.json"},
            {"submit", folder_ + "/lab.json", "--dry-run"},
            {"submit", job, "--matrix", "train.micro_batch_size=1,2"},
            {"sweep", job, "--matrix", "train.micro_batch_size=1,2"},
            {"sweep", job, "--matrix", "train.micro_batch_size=1,2", "--dry-run"},
            {"advise", job},
            {"recipes"},
            {"recipes", "ls", "lab"},
            {"recipes", "show", "micro-2"},
            {"recipes", "path", "micro-2"},
            {"recipes", "copy", "micro-2", folder_ + "/mine.json"},
            {"recipes", "submit", "micro-2"},
            {"status"},
            {"top", "-1"},
            {"ui", "--server", "127.0.0.1:7070"},
            {"ui", "--server", "gpu-host:7443"},
            {"describe", "j1"},
            {"logs", "j1"},
            {"wait", "j1"},
            {"cancel", "j1"},
            {"resume", "j2", "--output.dir", "/part"},
            {"compare"},
            {"class", folder_ + "/lab.json"},
            {"plot", "j1"},
            {"metrics", "j1"},
            {"export", "j1", folder_ + "/export"},
            {"artifacts", "ls", "j1"},
            {"artifacts", "get", "j1", folder_ + "/got"},
            {"rm", "j1", "--yes"},
            {"workers"},
            {"lease", "find", "--gpus", "1", "--for", "3h", "--start", start},
            {"lease", "create", "lab2", "--gpus", "1", "--for", "3h", "--start", start},
            {"lease", "ls"},
            {"lease", "describe", "lab2"},
            {"lease", "calendar"},
            {"lease", "extend", "lab2", "--for", "1h"},
            {"lease", "delete", "lab2"},
            {"drain", "alpha/0"},
            {"undrain", "alpha/0"},
            {"fence", "gone/0", "--yes"},
            {"workers", "remove", "gone/0"},
            {"context", "add", "lab", "--address", "gpu-host:7443", "--ca", folder_ + "/ca.pem",
             "--token-file", folder_ + "/token"},
            {"context", "use", "lab"},
            {"context", "ls"},
            {"config"},
            {"config", "get", "context"},
            {"config", "set", "server", "127.0.0.1:7070"},
            {"config", "unset", "server"},
            {"context", "rm", "lab"},
            {"admin", "audit"},
            {"admin", "token", "create", "anna", "--role", "user"},
            {"admin", "token", "create", "bob", "--role", "user", "--to", folder_ + "/bob.token"},
            {"admin", "token", "ls"},
            {"admin", "token", "revoke", "1"},
            {"admin", "worker-token", "gpu-1"},
            {"admin", "revoke-host", "alpha"},
            {"admin", "backup", "/backups/site.db"},
            {"doctor"},
            {"explain"},
            {"explain", "oom"},
            {"explain", "data.seed"},
            {"explain", "j2"}};
  }

  std::vector<Line> Refused() const {
    return {{"quickstart"},         {"local", "status"},
            {"slurm", "status"},    {"import", "litgpt", "config.yaml"},
            {"report", "j1"},       {"lease", "calendar", "--ics"},
            {"completion", "bash"}, {"manual", folder_ + "/man"}};
  }
};

TEST_F(FormatsTest, AnAnswerInJsonIsOneObject) {
  for (Line line : Answered()) {
    line.insert(line.end(), {"-o", "json"});
    const Ended ended = Trainctl(line);
    const std::string typed = testing::PrintToString(line);
    EXPECT_EQ(ended.code, kExitOk) << typed << ended.err;
    const Json json = Json::parse(ended.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(json.is_object() && !json.empty()) << typed << ended.out;
  }
}

TEST_F(FormatsTest, WhatGenerateMakesIsOneObjectToo) {
  v1::JobView made = FinishedJob("j3", "generate-j1", "SUCCEEDED");
  coordinator_.watchings = {{.told = {made}}};
  *coordinator_.details["j3"].mutable_view() = made;
  const Ended ended = Trainctl({"generate", "j1", "--prompt", "Once", "-o", "json"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_EQ(Json::parse(ended.out)["id"], "j3");
}

TEST_F(FormatsTest, WhereThereIsNoSuchAnswerTheOptionIsRefusedAndNothingIsDone) {
  for (const char* option : {"-o", "--output"}) {
    for (Line line : Refused()) {
      line.insert(line.end(), {option, "json"});
      const Ended ended = Trainctl(line);
      const std::string typed = testing::PrintToString(line);
      EXPECT_EQ(ended.code, kExitUsage) << typed;
      EXPECT_EQ(ended.out, "") << typed;
      EXPECT_NE(ended.err.find("-o"), std::string::npos) << typed << ended.err;
    }
  }
  EXPECT_EQ(Trainctl({"completion", "bash", "-o", "json"}).err,
            "trainctl: completion takes no -o: its answer has one form; see: trainctl completion "
            "--help\n");
  EXPECT_EQ(Trainctl({"completion", "--help"}).out.find("--output"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/man"));
}

TEST_F(FormatsTest, NoVerbIsLeftOut) {
  std::set<std::string> named = {"generate"};
  for (const std::vector<Line>& lines : {Answered(), Refused()}) {
    for (const Line& line : lines) named.insert(line.front());
  }
  for (const VerbRow& row : Verbs()) EXPECT_TRUE(named.contains(std::string(row.name))) << row.name;
}

TEST_F(FormatsTest, RecordsHaveTheFactsOfWhatWasDone) {
  const auto record = [this](Line line, const char* collection) {
    line.insert(line.end(), {"-o", "json"});
    return Json::parse(Trainctl(line).out)[collection][0];
  };
  EXPECT_EQ(record({"config", "set", "server", "127.0.0.1:7070"}, "settings"),
            (Json{{"key", "server"}, {"value", "127.0.0.1:7070"}}));
  EXPECT_EQ(record({"config", "unset", "server"}, "settings"),
            (Json{{"key", "server"}, {"value", nullptr}}));
  const Json added = record({"context", "add", "lab", "--address", "gpu-host:7443", "--ca",
                             folder_ + "/ca.pem", "--token-file", folder_ + "/token"},
                            "contexts");
  EXPECT_EQ(added["address"], "gpu-host:7443");
  EXPECT_EQ(added["used"], true);
  EXPECT_EQ(record({"context", "rm", "lab"}, "forgotten")["token_file"], folder_ + "/token");
  EXPECT_EQ(
      record({"admin", "worker-token", "gpu-1", "--to", folder_ + "/join"}, "tokens")["token_file"],
      folder_ + "/join");
  EXPECT_EQ(record({"admin", "revoke-host", "alpha"}, "revoked"),
            (Json{{"host", "alpha"}, {"connections", 2}, {"known", true}}));
  EXPECT_EQ(record({"ui", "--server", "gpu-host:7443"}, "dashboards"),
            (Json{{"url", "http://localhost:7080/"},
                  {"tunnel", "ssh -N -L 7080:127.0.0.1:40001 gpu-host"},
                  {"valid_seconds", nullptr}}));
  const Json got = record({"artifacts", "get", "j1", folder_ + "/got"}, "copied");
  EXPECT_EQ(got, (Json{{"job", "j1"},
                       {"name", "tiny"},
                       {"kind", "final"},
                       {"folder", folder_ + "/got"},
                       {"files", 1},
                       {"bytes", 2}}));
  EXPECT_EQ(record({"recipes", "path", "micro-2"}, "recipes")["path"],
            folder_ + "/recipes/lab.json");
}

TEST_F(FormatsTest, OneRecordIsATableOfItsMembers) {
  EXPECT_EQ(
      OneRecord("tokens", "token_file", {{"id", 7}, {"token_file", "a"}, {"jobs", {"x", "y"}}})
          .table.Markdown(),
      "| ID | TOKEN FILE | JOBS |\n|---:|---|---|\n| 7 | a | x, y |\n");
}

}  // namespace
}  // namespace trainctl::client

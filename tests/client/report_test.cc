#include <algorithm>
#include <filesystem>
#include <fstream>

#include "client/exit_code.h"
#include "client/page_file.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

constexpr const char* kHostile = "<script>alert('x')</script>|*a*";

class ReportTest : public ClientTest {
 protected:
  ReportTest() {
    AddJob("j1", "full", "SUCCEEDED");
    AddJob("j2", kHostile, "OOM_GPU");
    v1::CompareRow& lora = AddRow("changed", "lora.r");
    lora.mutable_values(1)->set_number(8);
    v1::CompareRow& memory = AddRow("memory", "peak");
    memory.set_unit("bytes");
    memory.mutable_values(0)->set_number(int64_t{2} << 30);
    memory.mutable_values(0)->set_best(true);
    coordinator_.comparison.add_same("model tiny");
    coordinator_.comparison.add_warnings("the device differs");
    coordinator_.comparison.add_warning_sections()->add_sections("memory");
  }

  void AddJob(const std::string& id, const std::string& name, const std::string& outcome) {
    v1::JobView& view = coordinator_.jobs.emplace_back(FinishedJob(id, name, outcome));
    view.set_group("g1");
    view.set_group_name("my-lab");
    view.set_message(outcome == "OOM_GPU" ? "rank 0 has no memory <left>" : "");
    v1::JobDetail& detail = coordinator_.details[id];
    job::JobSpec job{.name = name, .model = {.path = "/models/tiny"}, .data = {.path = "/rows"}};
    job.notes = "Does LoRA save memory & time?";
    job.train.micro_batch_size = 4;
    detail.set_job_json(job::ToJson(job));
    v1::AttemptView& attempt = *detail.add_attempts();
    for (int rank = 0; rank < 2; ++rank) {
      v1::RankView& view_of_rank = *attempt.add_ranks();
      view_of_rank.set_rank(rank);
      view_of_rank.set_host("alpha");
      view_of_rank.set_device_name("NVIDIA H200");
      view_of_rank.set_libtorch("2.11.0");
    }
    v1::ComparedJob& compared = *coordinator_.comparison.add_jobs();
    compared.set_id(id);
    compared.set_name(name);
    v1::MetricPoint point;
    point.set_name("loss");
    for (int step = 0; step < 3; ++step) {
      point.set_step(step);
      point.set_value(3.0 - step);
      coordinator_.job_points[id].push_back(point);
    }
  }

  v1::CompareRow& AddRow(const std::string& section, const std::string& key) {
    v1::CompareRow& row = *coordinator_.comparison.add_rows();
    row.set_section(section);
    row.set_key(key);
    row.set_label(key);
    row.add_values();
    row.add_values();
    return row;
  }

  std::string Written(const std::string& name) {
    const Ended ended = Trainctl({"report", "my-lab", "-o", folder_ / name});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_NE(ended.out.find("my-lab (g1)"), std::string::npos);
    return folder_.Read(name);
  }

  ScratchFolder folder_;
};

TEST_F(ReportTest, APageHasAllOfItAndLoadsNothing) {
  const std::string page = Written("report.html");
  for (const char* part :
       {"<h1>my-lab (g1)</h1>", "<p>Does LoRA save memory &amp; time?</p>", "<td>lora.r</td>",
        "<td class=\"bad\">OOM_GPU</td>", "rank 0 has no memory &lt;left&gt;",
        "<td class=\"good\">2.00 GiB *</td>", "Not comparable (memory): the device differs.",
        "memory (in part not comparable)", "<polyline class=\"c\"", "2 × NVIDIA H200",
        "trainctl submit lab.json", "&quot;experiments", "from fake:1"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  EXPECT_EQ(page.find("<script"), std::string::npos) << "a text of a job is never an element";
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("href="), std::string::npos);
}

TEST_F(ReportTest, TheEnvironmentHasTheRevisionsOfModelsOfTheHub) {
  EXPECT_EQ(Written("plain.html").find("Model revision"), std::string::npos);
  coordinator_.details["j2"].set_inspection_json(
      job::ToJson(job::Inspection{.rows = 9, .model_revision = "c1899de"}));
  const std::string page = Written("report.html");
  EXPECT_NE(page.find("Model revision"), std::string::npos);
  EXPECT_NE(page.find("<td>c1899de</td>"), std::string::npos) << page;
}

TEST_F(ReportTest, TextsKeepTheirLinesInASectionOfTheirOwn) {
  for (const std::string which : {"first", "last"}) {
    v1::CompareRow& row = AddRow("texts", "text_" + which + ".0");
    row.set_label("Tell <me>\na tale");
    v1::CompareValue& value = *row.mutable_values(0);
    value.set_text(which + " line\n  & the\x1b next");
    value.set_note(which == "first" ? "step 10" : "step 20");
  }
  const std::string page = Written("report.html");
  const std::string wanted =
      "<h2>Texts</h2>\n<p>Prompt</p>\n<pre>\nTell &lt;me&gt;\na tale</pre>\n"
      "<p>full (j1), step 10</p>\n<pre>\nfirst line\n  &amp; the\\u001b next</pre>\n"
      "<p>full (j1), step 20</p>\n<pre>\nlast line\n";
  EXPECT_NE(page.find(wanted), std::string::npos) << page;
  EXPECT_EQ(page.find("<td>Tell"), std::string::npos) << "it is no cell";
  const std::string text = Written("report.md");
  EXPECT_NE(text.find("\n## Texts\n\nPrompt\n\n```\nTell <me>\na tale\n```\n\nfull (j1), step 10\n"
                      "\n```\nfirst line\n  & the\\u001b next\n```\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(Trainctl({"compare", "j1", "j2", "-o", folder_ / "compared.html"}).code, 0);
  EXPECT_NE(folder_.Read("compared.html").find("<h2>Texts</h2>"), std::string::npos);
}

TEST_F(ReportTest, MarkdownSaysTheSame) {
  const std::string text = Written("report.md");
  for (const char* part : {"# my-lab (g1)\n", "## What was changed\n", "| lora.r | none | 8 |",
                           "\\<script\\>alert('x')\\</script\\>\\|\\*a\\* (j2)",
                           "a full (j1): 1 at the end", "## To run it again", "```\n{\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(ReportTest, CurvesAreOfTheMetricsThatAreNamed) {
  const std::string usual = Written("usual.md");
  EXPECT_EQ(usual.find("utilization"), std::string::npos) << usual;
  for (const int64_t rank : {0, 1, 2}) {
    v1::MetricPoint point;
    point.set_name("gpu_utilization_percent");
    point.set_rank(rank);
    for (const double value : {10.0, rank == 1 ? 90.0 : 20.0, 15.0}) {
      point.set_step(point.step() + 1);
      point.set_value(value);
      coordinator_.job_points["j1"].push_back(point);
    }
  }
  const Ended group = Trainctl(
      {"report", "my-lab", "--metric", "gpu_utilization_percent,val_loss", "-o", folder_ / "g.md"});
  EXPECT_EQ(group.code, 0) << group.err;
  EXPECT_NE(group.err.find("no points of validation loss"), std::string::npos) << group.err;
  const std::string of_group = folder_.Read("g.md");
  EXPECT_NE(of_group.find("full (j1), rank 1, the highest of 3"), std::string::npos) << of_group;
  EXPECT_EQ(of_group.find("rank 0"), of_group.find("rank 0 has no memory")) << of_group;
  EXPECT_EQ(of_group.find("rank 2"), std::string::npos) << of_group;
  EXPECT_EQ(of_group.find("a full (j1): 1 at the end"), std::string::npos) << "the loss";
  EXPECT_EQ(
      Trainctl({"report", "j1", "--metric", "gpu_utilization_percent", "-o", folder_ / "j.md"})
          .code,
      0);
  const std::string alone = folder_.Read("j.md");
  for (const char* rank : {"(j1), rank 0: ", "(j1), rank 1: ", "(j1), rank 2: "})
    EXPECT_NE(alone.find(rank), std::string::npos) << rank << alone;
}

TEST_F(ReportTest, AMetricThatIsMistypedIsNamed) {
  const Ended ended =
      Trainctl({"report", "my-lab", "--metric", "los", "-o", folder_ / "report.html"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("did you mean 'loss'?"), std::string::npos) << ended.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(ReportTest, OneJobHasItsOwnFileToRunAgain) {
  coordinator_.comparison.mutable_jobs()->RemoveLast();
  for (v1::CompareRow& row : *coordinator_.comparison.mutable_rows())
    row.mutable_values()->RemoveLast();
  EXPECT_EQ(Trainctl({"report", "j1", "-o", folder_ / "one.html"}).code, 0);
  EXPECT_NE(folder_.Read("one.html").find("trainctl submit job.json"), std::string::npos);
}

TEST_F(ReportTest, NothingIsReplacedUnasked) {
  const std::string path = folder_.Write("report.html", "mine");
  EXPECT_EQ(Trainctl({"report", "my-lab", "-o", path}).code, kExitFailure);
  EXPECT_EQ(folder_.Read("report.html"), "mine");
  EXPECT_EQ(Trainctl({"report", "my-lab", "-o", path, "--overwrite"}).code, 0);
  EXPECT_EQ(Trainctl({"report", "my-lab", "-o", folder_ / "report.odt"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"report", "my-lab"}).code, kExitUsage);
}

TEST_F(ReportTest, AFolderThatIsMissingIsNamed) {
  for (const char* file : {"none/report.html", "none/report.pdf", "none/report.md"}) {
    const Ended ended = Trainctl({"report", "my-lab", "-o", folder_ / file});
    EXPECT_EQ(ended.code, kExitNotFound);
    EXPECT_EQ(ended.err, "trainctl: cannot write " + folder_ / file + ": there is no folder " +
                             folder_ / "none" + "; make it: mkdir -p " + folder_ / "none" + "\n");
  }
}

TEST_F(ReportTest, APdfWithoutAChromiumSaysWhatIsMissing) {
  programs_["/bin/sh"] = {.exit_code = 127};
  const Ended ended = Trainctl({"report", "my-lab", "-o", folder_ / "report.pdf"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("apt-get install chromium"), std::string::npos) << ended.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(ReportTest, APdfReplacesNoFileThatCameWhileItWasPrinted) {
  surroundings_.run = [this](const std::vector<std::string>& command, const std::string&) {
    folder_.Write("report.pdf", "theirs");
    for (const std::string& word : command) {
      constexpr std::string_view kInto = "--print-to-pdf=";
      if (word.starts_with(kInto)) std::ofstream(word.substr(kInto.size())) << "%PDF";
    }
    return base::Result<ProgramOutput>(ProgramOutput{});
  };
  const std::string path = folder_ / "report.pdf";
  const base::Status late = WritePage(surroundings_, "<p>", path, /*overwrite=*/false);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, base::Code::kConflict);
  EXPECT_EQ(late.error().message, path + " is there already: --overwrite replaces it");
  EXPECT_EQ(folder_.Read("report.pdf"), "theirs");
  EXPECT_TRUE(WritePage(surroundings_, "<p>", path, /*overwrite=*/true).ok());
  EXPECT_EQ(folder_.Read("report.pdf"), "%PDF");
}

TEST_F(ReportTest, APdfTakesNoFileOfOthersThatLiesBesideIt) {
  for (const char* name : {"report.pdf.html", "report.pdf.new.pdf"}) folder_.Write(name, "mine");
  surroundings_.run = [](const std::vector<std::string>& command, const std::string&) {
    for (const std::string& word : command) {
      constexpr std::string_view kInto = "--print-to-pdf=";
      if (word.starts_with(kInto)) std::ofstream(word.substr(kInto.size())) << "%PDF";
    }
    return base::Result<ProgramOutput>(ProgramOutput{});
  };
  EXPECT_TRUE(WritePage(surroundings_, "<p>", folder_ / "report.pdf", /*overwrite=*/false).ok());
  EXPECT_EQ(folder_.Read("report.pdf"), "%PDF");
  for (const char* name : {"report.pdf.html", "report.pdf.new.pdf"})
    EXPECT_EQ(folder_.Read(name), "mine");
  EXPECT_EQ(std::ranges::distance(std::filesystem::directory_iterator(folder_.path()),
                                  std::filesystem::directory_iterator()),
            3);
}

}  // namespace
}  // namespace trainctl::client

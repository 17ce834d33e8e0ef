#include <algorithm>
#include <sstream>
#include <string>

#include "client/exit_code.h"
#include "client/show/format.h"
#include "client/show/output.h"
#include "common/rank/metric.h"
#include "tests/client/client_test.h"
#include "tests/client/decoded_png.h"
#include "tests/client/golden.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

v1::CompareValue* Add(v1::CompareRow* row, double number) {
  v1::CompareValue* value = row->add_values();
  value->set_number(number);
  return value;
}

v1::CompareRow* AddRow(v1::CompareResponse* response, const char* section, const char* key,
                       const char* label, const char* unit) {
  v1::CompareRow* row = response->add_rows();
  row->set_section(section);
  row->set_key(key);
  row->set_label(label);
  row->set_unit(unit);
  return row;
}

// Three runs of one setting, the last out of memory.
v1::CompareResponse ThreeRuns() {
  v1::CompareResponse response;
  const char* names[] = {"micro-2", "micro-4", "micro-64"};
  const char* outcomes[] = {"SUCCEEDED", "SUCCEEDED", "OOM_GPU"};
  for (int i = 0; i < 3; ++i) {
    v1::ComparedJob& job = *response.add_jobs();
    job.set_id("j" + std::to_string(i + 1));
    job.set_name(names[i]);
    job.set_state("FINISHED");
    job.set_outcome(outcomes[i]);
  }
  v1::CompareRow* micro =
      AddRow(&response, "changed", "train.micro_batch_size", "train.micro_batch_size", "");
  for (const double value : {2, 4, 64}) Add(micro, value);
  v1::CompareRow* norm = AddRow(&response, "changed", "train.max_norm", "train.max_norm", "");
  Add(norm, 1);
  norm->add_values();
  norm->add_values();
  v1::CompareRow* outcome = AddRow(&response, "outcome", "outcome", "outcome", "");
  for (const char* text : outcomes) outcome->add_values()->set_text(text);
  outcome->mutable_values(2)->set_note("as expected");
  v1::CompareRow* time = AddRow(&response, "time", "time_seconds", "time", "s");
  Add(time, 212);
  v1::CompareValue* faster = Add(time, 106);
  faster->set_delta(-0.5);
  faster->set_best(true);
  time->add_values();
  v1::CompareRow* memory =
      AddRow(&response, "memory", "memory_peak_allocated_bytes", "memory: peak allocated", "bytes");
  Add(memory, 62.0 * (1 << 30))->set_best(true);
  v1::CompareValue* more = Add(memory, 70.5 * (1 << 30));
  more->set_delta(0.137);
  more->set_note("the least of 2 ranks 99.3 % of it");
  memory->add_values();
  response.add_same("model TinyLlama-1.1B");
  response.add_same("bf16-true");
  response.add_warnings(
      "the device differs (A100, H200): time and memory are of different hardware");
  v1::SectionNames* doubtful = response.add_warning_sections();
  for (const char* section : {"time", "memory"}) doubtful->add_sections(section);
  return response;
}

class CompareTest : public ClientTest {
 protected:
  CompareTest() { coordinator_.comparison = ThreeRuns(); }
};

TEST_F(CompareTest, TheTableForPeople) {
  const Ended ended = Trainctl({"compare"});
  EXPECT_EQ(ended.code, 0);
  ExpectGolden("compare.txt", ended.out);
}

TEST_F(CompareTest, ANarrowTerminalGetsARowAJob) {
  SetTerminal(80);
  ExpectGolden("compare-transposed.txt", Trainctl({"compare"}).out);
}

TEST_F(CompareTest, ANarrowTerminalGetsBlocksBesideTheBaseWhereColumnsAreAsked) {
  SetTerminal(80);
  ExpectGolden("compare-80-columns.txt", Trainctl({"compare", "--no-transpose"}).out);
}

TEST_F(CompareTest, AWideTerminalGetsARowAJobOnlyWhereItIsAsked) {
  SetTerminal(200);
  EXPECT_NE(Trainctl({"compare"}).out.find("train.micro_batch_size  2 "), std::string::npos);
  EXPECT_NE(Trainctl({"compare", "--transpose"}).out.find("micro-2 (j1)   "), std::string::npos);
  EXPECT_EQ(Trainctl({"compare", "--transpose", "--no-transpose"}).code, kExitUsage);
}

// Six runs with every metric of the table.
v1::CompareResponse SixLongNames() {
  v1::CompareResponse response;
  for (int i = 0; i < 6; ++i) {
    v1::ComparedJob& job = *response.add_jobs();
    job.set_id("j" + std::to_string(100 + i));
    job.set_name("an-experiment-of-many-words-" + std::to_string(i));
  }
  v1::CompareRow* model = AddRow(&response, "changed", "model.path", "model.path", "");
  for (int i = 0; i < 6; ++i)
    model->add_values()->set_text("/shared/models/of/the/group/TinyLlama-" + std::to_string(i));
  for (const job::MetricInfo& metric : job::Metrics()) {
    const std::string section(job::Name(metric.section)), name(metric.name), label(metric.label),
        unit(metric.unit);
    v1::CompareRow* row =
        AddRow(&response, section.c_str(), name.c_str(), label.c_str(), unit.c_str());
    for (int i = 0; i < 6; ++i) {
      v1::CompareValue* value = Add(row, 1234567.0 * (i + 1));
      if (i > 0) value->set_delta(i);
      value->set_best(i == 5);
      value->set_note("the least of 8 ranks is " + std::to_string(90 + i % 2) + " % of it");
    }
  }
  return response;
}

TEST_F(CompareTest, SixJobsAreNoWiderThanTheTerminal) {
  coordinator_.comparison = SixLongNames();
  SetTerminal(100);
  const std::string out = Trainctl({"compare"}).out;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100) << line;
  EXPECT_NE(out.find("an-experiment-of-many-w… (j105)"), std::string::npos) << out;
  EXPECT_NE(out.find("of it (j101, j103, j105)"), std::string::npos) << out;
  EXPECT_NE(Trainctl({"compare", "-o", "json"}).out.find("many-words-5"), std::string::npos);
}

TEST_F(CompareTest, ARowWithoutValuesYetIsNoMistake) {
  auto* rows = coordinator_.comparison.mutable_rows();
  rows->erase(std::remove_if(rows->begin(), rows->end(),
                             [](const v1::CompareRow& row) { return row.section() == "loss"; }),
              rows->end());
  const Ended ended = Trainctl({"compare", "--only", "loss,outcome,val_loss", "-o", "csv"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "note: no run has a value yet of loss, val_loss\n");
  EXPECT_NE(ended.out.find("SUCCEEDED"), std::string::npos) << ended.out;
  for (const char* format : {"table", "md", "json"})
    EXPECT_EQ(Trainctl({"compare", "--only", "loss", "-o", format}).code, 0) << format;
}

TEST_F(CompareTest, OnlyTheRowsThatAreNamedAreShown) {
  EXPECT_EQ(Trainctl({"compare", "--only", "time_seconds,train,memory", "-o", "csv"}).out,
            "key,label,unit,section,j1,j2,j3\n"
            "train.micro_batch_size,train.micro_batch_size,,changed,2,4,64\n"
            "train.max_norm,train.max_norm,,changed,1,,\n"
            "time_seconds,time,s,time,212,106,\n"
            "memory_peak_allocated_bytes,memory: peak "
            "allocated,bytes,memory,66571993088,75698798592,\n");
  const Ended unknown = Trainctl({"compare", "--only", "outcom"});
  EXPECT_EQ(unknown.code, kExitUsage);
  EXPECT_NE(unknown.err.find("no row 'outcom': did you mean 'outcome'?"), std::string::npos)
      << unknown.err;
  const std::string section = Trainctl({"compare", "--only", "loss,memry"}).err;
  EXPECT_NE(section.find("no row 'memry': did you mean 'memory'?"), std::string::npos) << section;
  const std::string none = Trainctl({"compare", "--only", "wallclock"}).err;
  EXPECT_NE(none.find("there are changed, outcome, time, "), std::string::npos) << none;
}

TEST_F(CompareTest, DefinitionsAreThoseOfTheSectionsThatAreShown) {
  const auto says = [&](const std::string& only, const std::string& words) {
    return Trainctl({"compare", "--only", only}).out.find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("memory", "memory: the worst rank's"));
  EXPECT_FALSE(says("memory", "speed-up: samples/s"));
  EXPECT_TRUE(says("time", "speed-up: samples/s"));
  EXPECT_FALSE(says("time", "memory: the worst rank's"));
  EXPECT_TRUE(says("time", "* best of the runs"));
  EXPECT_FALSE(says("outcome", "* best of the runs"));
}

TEST_F(CompareTest, WarningsAreThoseOfTheSectionsThatAreShown) {
  const auto warns = [&](const std::string& only) {
    return Trainctl({"compare", "--only", only}).out.find("Not comparable") != std::string::npos;
  };
  EXPECT_TRUE(warns("memory"));
  EXPECT_FALSE(warns("loss,outcome"));
  coordinator_.comparison.mutable_warning_sections(0)->clear_sections();
  EXPECT_TRUE(warns("loss,outcome")) << "it is of all";
}

TEST_F(CompareTest, ASpreadsheetMayHaveALineAJob) {
  EXPECT_EQ(Trainctl({"compare", "--transpose", "--only", "time,outcome", "-o", "csv"}).out,
            "id,name,outcome,time_seconds\n"
            "j1,micro-2,SUCCEEDED,212\n"
            "j2,micro-4,SUCCEEDED,106\n"
            "j3,micro-64,OOM_GPU,\n");
  EXPECT_EQ(Trainctl({"compare", "--transpose", "--only", "time", "-o", "md"}).out.substr(0, 21),
            "|  | time |\n|---|---:");
}

TEST_F(CompareTest, TheBaseIsTheFirstColumn) {
  coordinator_.jobs = {FinishedJob("j1", "micro-2", "SUCCEEDED")};
  const Ended ended = Trainctl({"compare", "micro-2", "--base", "micro-4"});
  EXPECT_LT(ended.out.find("micro-4 (j2)"), ended.out.find("micro-2 (j1)"));
  EXPECT_EQ(coordinator_.compare_request.base(), "micro-4");
  EXPECT_EQ(coordinator_.compare_request.jobs(0), "micro-2");
}

TEST_F(CompareTest, MarkdownWithoutAStarEscapesNothing) {
  const std::string text = Trainctl({"compare", "--only", "outcome", "-o", "md"}).out;
  const size_t escape = text.find('\\');
  EXPECT_TRUE(escape == std::string::npos || text[escape + 1] == '*') << text;
}

TEST_F(CompareTest, Markdown) { ExpectGolden("compare.md", Trainctl({"compare", "-o", "md"}).out); }

TEST_F(CompareTest, APageHasItsTablesAndBarsItsNumbers) {
  const std::string page = Trainctl({"compare", "-o", "html"}).out;
  for (const char* part : {"<h1>micro-2 (j1), micro-4 (j2), micro-64 (j3)</h1>",
                           "<td>train.micro_batch_size</td>", "−50.0 %", "the device differs"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  const std::string bars = Trainctl({"compare", "-o", "svg"}).out;
  for (const char* note : {">Not comparable", ">* best of the runs that succeeded;"})
    EXPECT_NE(bars.find(note), std::string::npos) << note << "\n" << bars;
  ExpectGolden("compare.svg", bars);
  ScratchFolder folder;
  EXPECT_EQ(Trainctl({"compare", "-o", folder / "a.svg"}).code, 0);
  EXPECT_EQ(folder.Read("a.svg"), bars);
  EXPECT_EQ(Trainctl({"compare", "-o", folder / "a.svg"}).code, kExitFailure);
  EXPECT_EQ(Trainctl({"compare", "-o", folder / "a.png"}).code, 0);
  EXPECT_EQ(DecodePng(folder.Read("a.png")).width, 1800u);
  EXPECT_EQ(Trainctl({"compare", "-o", "gif"}).code, kExitUsage);
}

TEST_F(CompareTest, JsonIsTheContract) {
  const Json json = Json::parse(Trainctl({"compare", "-o", "json"}).out);
  EXPECT_EQ(json.begin().key(), "schema");
  EXPECT_EQ(json["jobs"][2], Json({{"id", "j3"},
                                   {"name", "micro-64"},
                                   {"state", "FINISHED"},
                                   {"outcome", "OOM_GPU"},
                                   {"device_name", nullptr}}));
  const Json& time = json["rows"][3];
  EXPECT_EQ(time["key"], "time_seconds");
  EXPECT_EQ(time["label"], "time");
  EXPECT_EQ(time["unit"], "s");
  EXPECT_EQ(time["values"], Json::array({212.0, 106.0, nullptr}));
  EXPECT_EQ(json["rows"][2]["values"], Json::array({"SUCCEEDED", "SUCCEEDED", "OOM_GPU"}));
  EXPECT_EQ(json["warnings"].size(), 1u);
  EXPECT_EQ(json["warning_sections"], Json::array({{"time", "memory"}}));
}

TEST_F(CompareTest, WhatRowsMeanIsSaidOfTheSectionsThatAreThere) {
  const auto says = [this](const std::string& start) {
    const std::string out = Trainctl({"compare"}).out;
    const Json lines = Json::parse(Trainctl({"compare", "-o", "json"}).out)["definitions"];
    const bool in_json = std::ranges::any_of(
        lines, [&](const Json& line) { return line.get<std::string>().starts_with(start); });
    EXPECT_EQ(out.find("\n" + start) != std::string::npos, in_json) << start << out;
    for (const Json& line : lines)
      EXPECT_NE(out.find("\n" + line.get<std::string>() + "\n"), std::string::npos) << line;
    return in_json;
  };
  EXPECT_TRUE(says("* best"));
  EXPECT_TRUE(says("time: "));
  EXPECT_TRUE(says("memory: the worst"));
  auto* rows = coordinator_.comparison.mutable_rows();
  rows->RemoveLast();  // of memory
  EXPECT_FALSE(says("memory: the worst"));
  EXPECT_TRUE(says("time: "));
}

TEST_F(CompareTest, ASectionThatIsComparedInPartSaysSo) {
  const auto json = [this] { return Json::parse(Trainctl({"compare", "-o", "json"}).out); };
  EXPECT_EQ(json()["doubtful_sections"],
            Json({{"time", "in part not comparable"}, {"memory", "in part not comparable"}}));
  for (v1::CompareRow& row : *coordinator_.comparison.mutable_rows()) {
    if (row.section() != "time") continue;
    row.mutable_values(1)->clear_delta();
    row.mutable_values(1)->clear_best();
  }
  EXPECT_EQ(json()["doubtful_sections"]["time"], "not comparable");
  EXPECT_EQ(json()["doubtful_sections"]["memory"], "in part not comparable");
  const std::string text = Trainctl({"compare"}).out;
  EXPECT_NE(text.find("\ntime (not comparable)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nmemory (in part not comparable)\n"), std::string::npos) << text;
}

TEST_F(CompareTest, AWarningSaysWhichSectionsItMakesDoubtfulAndTheseSaySo) {
  const std::string out = Trainctl({"compare"}).out;
  for (const char* part :
       {"\ntime (in part not comparable)\n", "\nmemory (in part not comparable)\n",
        "\nNot comparable (time, memory): the device differs"})
    EXPECT_NE(out.find(part), std::string::npos) << part << out;
  EXPECT_EQ(out.find("outcome (not"), std::string::npos) << out;
  coordinator_.comparison.mutable_warning_sections(0)->clear_sections();
  const std::string of_none = Trainctl({"compare"}).out;
  EXPECT_NE(of_none.find("\n\ntime  "), std::string::npos) << of_none;
  EXPECT_NE(of_none.find("\n\nmemory\n"), std::string::npos) << of_none;
  EXPECT_NE(of_none.find("\nNot comparable: the device differs"), std::string::npos) << of_none;
}

// It has no such field.
TEST_F(CompareTest, ACoordinatorBeforeThisVersionMayNotSayWhichSections) {
  coordinator_.comparison.clear_warning_sections();
  EXPECT_NE(Trainctl({"compare"}).out.find("\nNot comparable: the device differs"),
            std::string::npos);
  const Json json = Json::parse(Trainctl({"compare", "-o", "json"}).out);
  EXPECT_EQ(json["warning_sections"], Json::array({Json::array()})) << "as many as warnings";
}

TEST_F(CompareTest, CsvHasAColumnAJob) {
  EXPECT_EQ(
      Trainctl({"compare", "-o", "csv"}).out,
      "key,label,unit,section,j1,j2,j3\n"
      "train.micro_batch_size,train.micro_batch_size,,changed,2,4,64\n"
      "train.max_norm,train.max_norm,,changed,1,,\n"
      "outcome,outcome,,outcome,SUCCEEDED,SUCCEEDED,OOM_GPU\n"
      "time_seconds,time,s,time,212,106,\n"
      "memory_peak_allocated_bytes,memory: peak allocated,bytes,memory,66571993088,75698798592,\n");
}

TEST_F(CompareTest, RowsOfAnotherWidthThanTheJobsAreRefused) {
  coordinator_.comparison.mutable_rows(0)->mutable_values()->RemoveLast();
  EXPECT_EQ(Trainctl({"compare"}).code, 1);
}

}  // namespace
}  // namespace trainctl::client

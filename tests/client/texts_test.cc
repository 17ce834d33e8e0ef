// What models make of prompts, in describe and compare.
#include <string>
#include <vector>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "tests/client/client_test.h"
#include "tests/client/golden.h"

namespace trainctl::client {
namespace {

class TextsTest : public ClientTest {};

TEST_F(TextsTest, DescribeShowsTheTextsOfTheFirstAndTheLastEvaluation) {
  v1::JobView view;
  view.set_id("j1");
  view.set_name("big");
  coordinator_.jobs = {view};
  v1::JobDetail& detail = coordinator_.details["j1"];
  for (const int64_t step : {4, 9}) {
    for (const int64_t place : {0, 1}) {
      v1::Continuation& said = *detail.add_continuations();
      said.set_step(step);
      said.set_place(place);
      said.set_prompt(place == 0 ? "Once" : "Two\nlines");
      said.set_text(" of " + std::to_string(step) + "\n");
    }
  }
  EXPECT_NE(Trainctl({"describe", "big"})
                .out.find("\nTexts\n"
                          "  Once\n    step 4:  of 4\\n\n    step 9:  of 9\\n\n"
                          "  Two\\nlines\n    step 4:  of 4\\n\n    step 9:  of 9\\n\n"),
            std::string::npos)
      << Trainctl({"describe", "big"}).out;
  EXPECT_NE(Trainctl({"describe", "big", "-o", "md"}).out.find("| Once | 9 |  of 9"),
            std::string::npos);
  const Json json = Json::parse(Trainctl({"describe", "big", "-o", "json"}).out);
  const Json expected = {{"step", 9}, {"place", 1}, {"prompt", "Two\nlines"}, {"text", " of 9\n"}};
  EXPECT_EQ(json["jobs"][0]["continuations"][3], expected);
}

TEST_F(TextsTest, DescribeShowsTheTextsOfEachEvaluationThatIsKept) {
  v1::JobView view;
  view.set_id("j1");
  view.set_name("big");
  coordinator_.jobs = {view};
  v1::JobDetail& detail = coordinator_.details["j1"];
  const std::string hostile = "\x1b]0;title\a|\tupon\u202e\r\n";
  for (const int64_t step : {4, 9, 1014, 1019}) {
    detail.add_text_steps(step);
    v1::Continuation& said = *detail.add_continuations();
    said.set_step(step);
    said.set_prompt("<b>Once\x1b[2J");
    said.set_text(step == 9 ? hostile : " of " + std::to_string(step));
  }
  const auto texts = [this](std::vector<std::string> words) {
    words.insert(words.begin(), {"describe", "big"});
    const Ended ended = Trainctl(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out.substr(ended.out.find("\nTexts\n") + 1);
  };
  ExpectGolden("texts.txt", texts({}) + texts({"--texts", "all"}) + texts({"--texts", "9"}));
  EXPECT_EQ(Json::parse(Trainctl({"describe", "big", "-o", "json"}).out)["jobs"][0]["text_steps"],
            Json::parse("[4, 9, 1014, 1019]"));
  const std::string exact = Trainctl({"describe", "big", "--texts", "9", "-o", "json"}).out;
  EXPECT_EQ(Json::parse(exact)["jobs"][0]["continuations"][0]["text"], hostile);
  EXPECT_EQ(Trainctl({"describe", "big", "--texts", "-1"}).code, kExitUsage);
  const Ended none = Trainctl({"describe", "big", "--texts", "5"});
  EXPECT_EQ(none.code, kExitNotFound);
  EXPECT_EQ(none.err,
            "trainctl: no texts of step 5 are kept; they are of these steps: "
            "big (j1): 4, 9, 1,014, 1,019\n");
}

TEST_F(TextsTest, TextsStandBelowTheTableJobUnderJob) {
  v1::CompareResponse& response = coordinator_.comparison;
  for (const char* name : {"micro-2", "micro-4", "micro-8"}) {
    v1::ComparedJob& job = *response.add_jobs();
    job.set_id("j" + std::to_string(response.jobs_size()));
    job.set_name(name);
  }
  for (const char* key : {"text_first.0", "text_last.0"}) {
    v1::CompareRow* row = response.add_rows();
    row->set_section("texts");
    row->set_key(key);
    row->set_label("Once");
    for (int i = 0; i < 2; ++i) {
      const bool is_last = i == 0 && key == std::string("text_last.0");
      row->add_values()->set_text(is_last ? " last" : " first");
      row->mutable_values(i)->set_note(is_last ? "step 9" : "step 4");
    }
    row->add_values();
  }
  const std::string out = Trainctl({"compare"}).out;
  EXPECT_NE(out.find("\ntexts\n  Once\n"
                     "    micro-2 (j1), step 4:  first\n"
                     "    micro-2 (j1), step 9:  last\n"
                     "    micro-4 (j2), step 4:  first\n\n"),
            std::string::npos)
      << out;
  EXPECT_NE(Trainctl({"compare", "-o", "md"}).out.find(" last (step 9)"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::client

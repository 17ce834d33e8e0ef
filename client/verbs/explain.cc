#include <algorithm>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/explanations.h"
#include "client/show/format.h"
#include "client/show/job_reasons.h"
#include "client/show/key_text.h"
#include "client/show/site_time.h"
#include "client/submit/advice.h"
#include "client/verbs/verb.h"
#include "common/base/did_you_mean.h"
#include "common/base/ids.h"
#include "common/job/job_json.h"
#include "common/job/schema.h"

namespace trainctl::client {
namespace {

std::string Normalized(std::string words) {
  std::transform(words.begin(), words.end(), words.begin(), [](unsigned char c) {
    return c == '-' || c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  });
  return words;
}

const Explanation* Find(const std::string& topic) {
  for (const Explanation& explanation : Explanations()) {
    if (Normalized(std::string(explanation.topic)) == topic) return &explanation;
    for (const std::string_view other : explanation.also) {
      if (other == topic) return &explanation;
    }
  }
  return nullptr;
}

// `words`: as typed.
base::Error UnknownTopic(const std::string& words) {
  std::vector<std::string_view> topics, known;
  for (const Explanation& explanation : Explanations()) {
    topics.push_back(explanation.topic);
    known.insert(known.end(), explanation.also.begin(), explanation.also.end());
  }
  known.insert(known.begin(), topics.begin(), topics.end());
  for (const job::Field& field : job::Fields()) known.push_back(field.key);
  const std::string hint = base::DidYouMean(words, known);
  return {base::Code::kNotFound, base::WithHint("no topic or job '" + words + "'", hint,
                                                "there are " + Join(topics, ", "))};
}

Listing Topics() {
  Listing listing{
      .collection = "topics", .table = TextTable({{"TOPIC"}, {"ABOUT"}}), .name_key = "topic"};
  for (const Explanation& explanation : Explanations()) {
    listing.records.push_back({{"topic", explanation.topic}, {"about", explanation.about}});
    listing.table.AddRow({std::string(explanation.topic), std::string(explanation.about)});
  }
  return listing;
}

std::string Shown(const Explanation& explanation, OutputFormat format) {
  const Json record = {
      {"topic", explanation.topic}, {"text", explanation.text}, {"try", explanation.attempt}};
  switch (format) {
    case OutputFormat::kJson: return RenderDocument(record);
    case OutputFormat::kJsonl: return RenderLine(record);
    case OutputFormat::kCsv: return RenderCsv({record});
    case OutputFormat::kName: return std::string(explanation.topic) + "\n";
    case OutputFormat::kTable:
    case OutputFormat::kMarkdown: break;
  }
  return std::string(explanation.text) + "\nTry: " + std::string(explanation.attempt) + "\n";
}

// Ways to train the same with less memory than this job, which ran out of it. Not to be had: kinds
// of Advise's errors.
base::Result<Advice> LeanerWays(Context& context, const v1::JobDetail& detail) {
  constexpr size_t kMost = 3;
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  if (!job.ok()) return job.error();
  base::Result<Advice> advice = Advise(context, *job, {});
  if (!advice.ok()) return advice;
  std::vector<advice::Way> leaner = advice->ways.fitting;
  std::erase_if(leaner, [&](const advice::Way& way) {
    return way.peak_bytes() >= advice->ways.asked.peak_bytes();
  });
  std::vector<advice::Way>& shown = advice->shown;
  shown = advice::ParetoFront(leaner);
  if (shown.empty()) {  // their times are not known: those that change least
    shown = std::move(leaner);
    std::ranges::stable_sort(shown, {}, [&](const advice::Way& way) {
      return advice::OverridesOf(advice->job, way).size();
    });
  }
  if (shown.size() > kMost) shown.erase(shown.begin() + kMost, shown.end());
  return advice;
}

std::string WaysText(const Advice& advice, const TableLayout& layout) {
  if (advice.shown.empty()) {
    return "\nNo way to train the same is predicted to need less memory; trainctl advise --allow "
           "lora looks further.\n";
  }
  return "\nWhat is predicted to need less memory and to train the same:\n" +
         ListingOf(advice).table.Render(layout) +
         "Submit it again with CHANGES; trainctl advise shows all ways.\n";
}

Json WaysRecord(const Advice& advice) {
  Json ways = Json::array();
  for (const advice::Way& way : advice.shown) {
    ways.push_back({{"overrides", advice::OverridesOf(advice.job, way)},
                    {"peak_allocated_bytes", way.peak_bytes()}});
  }
  return ways;
}

class Explain : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB|TOPIC|KEY", &words_, "none: the list of topics",
                          /*required=*/false);
    arguments.Remark(
        "Of a key of the job file, as data.mask_prompt: what it means, its values and default.\n"
        "Of a job: why it waits, who has what it waits for, and what would help; or where it runs; "
        "or why it ended so, and after an OOM what would fit.\n"
        "Start and ends to come are predictions, by time limits and the pace of steps.");
  }

  int Run(Context& context) override {
    if (words_.empty()) return Print(context, Topics());
    const std::string words = Join(words_, " ");
    if (const Explanation* explanation = Find(Normalized(words))) {
      context.out << Shown(*explanation, context.format) << std::flush;
      return kExitOk;
    }
    if (words_.size() > 1) return Fail(context, UnknownTopic(words));
    const std::string& word = words_.front();
    const base::Result<v1::GetResponse> jobs = GetJobs(context, NewestMeant(context, word));
    if (jobs.ok()) return ExplainJobs(context, *jobs);
    if (base::ParseJobId(word) || base::ParseGroupId(word)) return Fail(context, jobs.error());
    const std::vector<std::string> keys = KeysMeant(word);
    return keys.empty() ? Fail(context, UnknownTopic(words)) : ExplainKeys(context, keys);
  }

 private:
  static int ExplainJobs(Context& context, const v1::GetResponse& response) {
    const TableLayout& layout = context.surroundings.out_terminal.layout;
    Listing listing{.collection = "jobs", .table = TextTable({{"JOB"}, {"STATE"}, {"WHY"}})};
    std::string text;
    for (const v1::JobDetail& detail : response.jobs()) {
      const v1::JobView& view = detail.view();
      const bool is_over = HasEnded(view);
      listing.table.AddRow(
          {view.id(), view.state(), InLocalTime(is_over ? view.message() : view.reason())});
      listing.records.push_back(ReasonsRecord(detail));
      text +=
          (text.empty() ? "" : "\n") + ReasonsText(detail, SiteTime(view, context.clock()), layout);
      if (!RanOutOfMemory(detail)) continue;
      const base::Result<Advice> ways = LeanerWays(context, detail);
      if (!ways.ok()) continue;
      text += WaysText(*ways, layout);
      listing.records.back()["leaner_ways"] = WaysRecord(*ways);
    }
    if (!context.for_people()) return Print(context, listing);
    context.out << text << std::flush;
    return kExitOk;
  }

  static int ExplainKeys(Context& context, const std::vector<std::string>& keys) {
    Listing listing{.collection = "keys",
                    .table = TextTable({{"KEY"}, {"DEFAULT"}, {"ABOUT"}}),
                    .name_key = "key"};
    std::string text;
    for (const std::string& key : keys) {
      const Json record = KeyRecord(key);
      const Json& value = record["default"];
      listing.table.AddRow({key, value.is_null() ? std::string() : value.get<std::string>(),
                            record["text"].get<std::string>()});
      listing.records.push_back(record);
      text += (text.empty() ? "" : "\n") + KeyText(record);
    }
    if (!context.for_people()) return Print(context, listing);
    context.out << text << std::flush;
    return kExitOk;
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> MakeExplain() { return std::make_unique<Explain>(); }

}  // namespace trainctl::client

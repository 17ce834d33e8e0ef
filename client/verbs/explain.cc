#include <algorithm>

#include "client/exit_code.h"
#include "client/show/explanations.h"
#include "client/show/format.h"
#include "client/verbs/verb.h"
#include "common/base/did_you_mean.h"

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

base::Error UnknownTopic(const std::string& topic) {
  std::vector<std::string_view> topics;
  for (const Explanation& explanation : Explanations()) topics.push_back(explanation.topic);
  const std::string hint = base::DidYouMean(topic, topics);
  return {base::Code::kNotFound, "no topic '" + topic + "'" + (hint.empty() ? "" : ": " + hint) +
                                     "; there are " + Join(topics, ", ")};
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

class Explain : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("TOPIC", &words_, "none: the list of topics", /*required=*/false);
  }

  int Run(Context& context) override {
    if (words_.empty()) return Print(context, Topics());
    const std::string topic = Normalized(Join(words_, " "));
    const Explanation* explanation = Find(topic);
    if (explanation == nullptr) return Fail(context, UnknownTopic(topic));
    context.out << Shown(*explanation, context.format) << std::flush;
    return kExitOk;
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> MakeExplain() { return std::make_unique<Explain>(); }

}  // namespace trainctl::client

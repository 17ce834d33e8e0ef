// A LitGPT configuration; behind a zero the words of a command line, one a line. What comes of it
// is checked as a job file is.
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/litgpt/command.h"
#include "client/litgpt/convert.h"
#include "client/litgpt/yaml.h"
#include "common/base/check.h"
#include "common/job/job_json.h"
#include "tests/fuzz/halves.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {

bool ReadLitgpt(std::string_view bytes) {
  const auto [text, line] = Halves(bytes);
  auto settings = client::ReadLitgptYaml(text, "config.yaml");
  std::istringstream lines{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; std::getline(lines, word);) words.push_back(word);
  const auto command = client::ReadLitgptCommand(words);
  if (!settings) return false;
  client::LitgptSource source{.settings = std::move(*settings), .name = "fuzzed"};
  if (command) {
    source.method = command->method;
    for (const auto& setting : command->overrides) source.settings.push_back(setting);
  }
  source.origin = "config.yaml";
  source.exists = [](const std::string& path) { return path.size() % 2 == 0; };
  source.place_path = [](const std::string& path) { return path; };
  const client::LitgptJob made = client::ConvertLitgpt(source);
  if (!made.problems.empty()) return false;
  const std::string json =
      made.job.dump(2, ' ', false, client::Json::error_handler_t::replace) + "\n";
  const job::ReadJob read = job::ReadJobFile(json, {.source = "the job", .base_directory = "/"});
  job::Format(read.problems, "the job");
  return read.problems.empty();
}

}  // namespace trainctl::fuzz

// A job file in the making out of LitGPT's settings: what was taken, what was said about the rest,
// what is wrong. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/litgpt/setting.h"
#include "client/show/output.h"

namespace trainctl::client {

class LitgptDraft {
 public:
  explicit LitgptDraft(const LitgptSettings& settings);

  // The setting's text; nullopt where it is not given, or null. Taken from then on.
  std::optional<std::string> Take(const std::string& key);
  // The same as a value of JSON: number, true, false, list or string; else LitGPT's own default.
  Json Value(const std::string& key, const Json& default_value);
  std::optional<int64_t> Whole(const std::string& key);  // refused where it is no whole number

  // A sentence for people: what has no counterpart, or is done otherwise.
  void Note(std::string text) { notes_.push_back(std::move(text)); }
  void NoteOf(const std::string& key,
              const std::string& text);  // "train.min_lr (config.yaml:9:3): …"
  void Refuse(const std::string& key,
              const std::string& expected);  // "config.yaml:4:12: precision: 16-true: expected …"

  // Notes of all that was not taken: by the table of what has no counterpart, or as unknown. An
  // unknown one of the command line is refused, as LitGPT does.
  void NoteTheRest();

  Json job = Json::object();
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::string Suggestion(const std::string& key) const;

  std::map<std::string, LitgptSetting> settings_;  // the last of each key
  std::set<std::string> taken_;
  std::vector<std::string> notes_, problems_;
};

}  // namespace trainctl::client

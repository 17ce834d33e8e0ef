// Lays layers of settings over a job: the file's object, then a lab's "set", then overrides from
// the command line; each is typed by the schema and each problem names its place. Remembers where
// every setting came from, so that what a later check finds has its line too. Copyable: the
// experiments of a lab are copies of its base.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/job/job.h"
#include "common/job/job_json.h"
#include "common/json/json_node.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct Field;
struct Section;

// Where a setting stands, as people see it: "experiments[1].set.train.epochs" in line 12.
struct Place {
  std::string path;
  int line = 0;
};

class JobBinder {
 public:
  // An object of keys. Its own place is that of the keys it does not have. Dotted keys
  // ("train.epochs") count where `dotted` says so.
  void ApplyObject(const JsonNode& object, const std::string& path, bool dotted,
                   std::vector<Problem>* problems);

  // One key of the schema with its value; a layer of its own.
  void ApplyValue(const std::string& key, const JsonNode& value, const std::string& path,
                  std::vector<Problem>* problems);

  // All together one layer. A value is typed by its key: JSON where that fits, else a bare string.
  void ApplyOverrides(const std::vector<Override>& overrides, std::vector<Problem>* problems);

  // Required keys that no layer had.
  void RequireAll(std::vector<Problem>* problems);

  // The problem of a check, at the place of the layer that set its key. Problems of keys that could
  // not be read at all have no place: nullopt.
  std::optional<Problem> Locate(Problem problem) const;

  bool IsSet(const std::string& key) const { return places_.contains(key); }
  JobSpec& job() { return job_; }
  const JobSpec& job() const { return job_; }

 private:
  // One source of settings. Two keys that exclude each other are a problem within a layer; across
  // layers the later one clears the other.
  struct Layer {
    bool dotted = false;
    std::vector<Problem>* problems = nullptr;
    std::set<std::string> given = {};  // not null
  };

  void Apply(const std::string& key, const JsonNode& value, const Place& place, Layer& layer);
  void ApplyMembers(const std::string& section, const JsonNode& object, const Place& place,
                    Layer& layer);
  void ApplySection(const Section& section, const JsonNode& value, const Place& place,
                    Layer& layer);
  void ApplyField(const Field& field, const JsonNode& value, const Place& place, Layer& layer);
  void ApplyMapEntry(const Field& field, const std::string& entry, const JsonNode& value,
                     const Place& place, Layer& layer);
  void SettleExclusive(const Field& field, const Place& place, Layer& layer);
  void Refuse(const std::string& key, const Place& place, std::string value, std::string expected,
              std::string hint, Layer& layer);

  JobSpec job_;
  std::map<std::string, Place> places_;  // by key; sections too, and "" for the whole
  std::set<std::string> unreadable_;     // keys whose value was refused, or is missing
};

}  // namespace trainctl::job

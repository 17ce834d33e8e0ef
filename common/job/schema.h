// The job file's schema: one table, and all that reads, overrides, writes, flattens, publishes or
// suggests keys goes through it. A key is dotted ("train.micro_batch_size"). To add one: a member
// in job.h and a row in schema.cc; then tests/job's goldens with UPDATE_GOLDEN=1.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/job/job.h"
#include "common/json/json_node.h"

namespace trainctl::job {

// One key that has a value.
struct Field {
  std::string key;
  std::string doc;       // one sentence, for editors
  std::string expected;  // its values in words
  JsonNode schema;       // its values as JSON Schema
  bool required = false;
  bool is_map = false;  // an object with keys of the user's own: tags.lab names one of its entries

  std::function<bool(const JsonNode&, JobSpec&)>
      read;  // false, and nothing is changed, where the value is not as expected
  std::function<JsonNode(const JobSpec&)> write;
  std::function<std::string(const JsonNode&)>
      hint;  // for a refused value: did you mean …; may be empty
  // What a text stands for that is typed without JSON: of a list "q,k", else the text itself.
  std::function<JsonNode(const std::string&)> typed;
};

// One key that has an object of fields. Only sections that may be null have the functions.
struct Section {
  std::string key;
  std::string doc;
  std::function<bool(const JobSpec&)> is_present = nullptr;
  std::function<void(JobSpec&, bool)> set_present =
      nullptr;  // true: with its defaults, unless it is there

  bool nullable() const { return set_present != nullptr; }
  bool IsPresent(const JobSpec& job) const { return !nullable() || is_present(job); }
};

// In the file's order; the fields of a section stand together.
std::span<const Field> Fields();
std::span<const Section> Sections();

const Field* FindField(std::string_view key);
const Section* FindSection(std::string_view key);
// Where its section is there. null is a default too; nullopt: the key is required.
std::optional<JsonNode> DefaultOf(const Field& field);
// Of "train.epochs" the section "train"; nullptr for a key of the top.
const Section* SectionOf(std::string_view key);
// "train" of "train.epochs", "" of "devices".
std::string_view Parent(std::string_view key);
// "epochs" of "train.epochs".
std::string_view LastPart(std::string_view key);
// Of "tags.lab" the field "tags"; nullptr for all other keys.
const Field* FindMapOfEntry(std::string_view key);

// The other one of two keys that exclude each other, e.g. of train.global_batch_size.
const Field* ExclusivePartner(std::string_view key);

}  // namespace trainctl::job

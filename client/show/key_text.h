// What `trainctl explain KEY` knows of a key of the job file: its row of common/job/schema.h. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/record/document.h"

namespace trainctl::client {

// The keys that a person may mean: the key or section of that name ("data.mask_prompt", "train"),
// and each whose last part it is ("mask_prompt", "seed"). Of "tags.lab" the map "tags".
std::vector<std::string> KeysMeant(std::string_view word);

// {"key", "text", "values", "default", "keys"}: values and default as texts, and a section's keys.
// What it has not is null: a section values and default, a key that is required its default.
// `key`: one of KeysMeant's.
record::Json KeyRecord(const std::string& key);

// Such a record for people, lines of at most 100 columns.
std::string KeyText(const record::Json& key);

}  // namespace trainctl::client

// The files that a job's data.path names, in the order of their rows.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"

namespace trainctl::data {

struct DataFiles {
  std::vector<std::string> paths;  // at least one; several are tables
  bool are_tables = false;         // Arrow or Parquet (tables/table.h)
};

// Of a file: itself. It is a table by its first bytes, unless the format is bin or plain. It must
// be one by the name *.arrow, *.feather or *.parquet. Of a folder, whichever comes first:
//   captions            metadata.jsonl or metadata.csv of an imagefolder (captions.h)
//   dataset_dict.json   of datasets' DatasetDict: the folder of its split, where it has one only
//   state.json          of datasets' save_to_disk: the files that it names
//   *.parquet, *.arrow  all of one kind, by name; beneath a folder data/ too, as on the hub. They
//                       are one split, and all of it (shard_names.h).
// With data.split: of a folder of that name within it; else of the tables, or the one file of JSON
// or CSV, that have its name (shard_names.h).
// Errors: kNotFound; kInvalid, which names the splits that there are; kIo.
base::Result<DataFiles> FindDataFiles(const job::DataSpec& data);

}  // namespace trainctl::data

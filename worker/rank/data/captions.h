// Pictures with captions: where their rows lie, and what stands before the caption's tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/model/model_shape.h"
#include "worker/rank/data/picture_list.h"
#include "worker/rank/data/picture_spool.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/images/picture_file.h"

namespace trainctl::data {

// The tokens at a row's begin in whose place a model puts the picture, as Blip2Processor of
// transformers makes them: before bos, and never cut off.
struct Placeholders {
  int64_t token = -1;
  int64_t count = 0;
};

// None of a model of words. kInvalid: captions for a model that takes no pictures, or other data
// for one that does.
base::Result<Placeholders> PlaceholdersOf(const job::DataSpec& data, const job::ModelShape& model);

// The file of rows of data.path: itself; of an imagefolder its metadata.jsonl, else metadata.csv.
// kNotFound: a folder that holds neither.
base::Result<std::string> CaptionsFile(const std::string& path);

// Where the pictures of rows are.
struct PictureSource {
  std::string rows_file;          // whose folder paths begin in
  PictureSpool* spool = nullptr;  // of tables alone: takes pictures that come as bytes
};

// The row's picture. Its key is what data.columns calls "image", else "image", else "file_name". A
// missing key is the row's fault, and what comes back means nothing. Of a table it may be a cell of
// a picture too (tables/table.h). Errors: those of PictureSpool::Append; kInvalid: no picture
// there.
base::Result<images::PictureFile> PictureOf(const job::DataSpec& data, const files::JsonObject& row,
                                            const PictureSource& source);

// How many pictures are looked at, evenly over the rows.
struct PictureSample {
  int64_t most_found = 20'000;  // is there such a file?
  int64_t most_decoded = 64;
  int64_t most_told = 3;     // of those that are bad
  bool has_all_rows = true;  // else they have no numbers that say anything
};

// Of rows that are a sample themselves: an answer is wanted soon, also where files are far away.
inline constexpr PictureSample kOfSample = {.most_found = 2'000, .has_all_rows = false};

struct PictureCounts {
  int64_t decoded = 0;
  int64_t broken = 0;  // of these, under skip
};

// kInvalid: names the first that are missing, or, but under skip, broken, with their rows; or none
// can be read.
base::Result<PictureCounts> CheckPictures(const PictureList& files, job::OnBrokenPicture on_broken,
                                          const PictureSample& sample = {});

}  // namespace trainctl::data

// How much of a large data set is looked at, where a few seconds are to do.
#pragma once

#include <cstdint>

namespace trainctl::data {

struct SampleSize {
  int64_t least_bytes = int64_t{512} << 20;  // data of fewer are read whole
  // The same of rows that name pictures: many rows, each of which costs a look at its picture.
  int64_t least_bytes_of_paths = int64_t{64} << 20;
  int64_t places = 16;  // evenly over the data, its begin among them
  int64_t bytes_of_place = 1 << 20;
  int64_t bytes_of_place_of_paths = 256 << 10;  // thousands of rows
  int64_t rows_of_place = 4096;                 // at most, of tables
  int64_t first_rows = 16'384;  // of a list, and of data of which max_rows asks for no more
};

}  // namespace trainctl::data

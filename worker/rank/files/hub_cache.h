// The Hugging Face cache as it lies on this host (huggingface_hub's "cache-system"). Nothing is
// ever fetched.
//   <cache>/models--Qwen--Qwen3-0.6B/refs/main          the newest revision's name
//                                    /snapshots/<rev>/   its files, as links into …
//                                    /blobs/
#pragma once

#include <string>

#include "common/base/result.h"

namespace trainctl::files {

struct FoundModel {
  std::string folder;
  std::string revision;  // "" of a model that is a folder itself
  std::string adapter;   // the folder of peft that is added to it; "": none
};

// The model that a job's model.path names: a folder, or a hub id in the cache, of this revision or,
// where it is "", of the newest. Of a folder of peft its base model, with the folder as its
// adapter. Errors: kNotFound (the model or its revision is not there, or only in part), kIo;
// kInvalid: a file in place of a folder; those of ReadAdapterConfig. The message says how to fetch
// it.
base::Result<FoundModel> FindModel(const std::string& path, const std::string& cache_folder,
                                   const std::string& revision = "");

}  // namespace trainctl::files

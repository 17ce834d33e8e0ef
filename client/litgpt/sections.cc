#include "client/litgpt/sections.h"

#include <algorithm>
#include <utility>

namespace trainctl::client {
namespace {

std::string ClassName(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// Data sets that LitGPT downloads: where its file lies, and the share that it keeps for validation.
struct DownloadedData {
  std::string_view name, folder, file, note;
  double val_split_fraction = 0;
};

constexpr DownloadedData kDownloaded[] = {
    {"Alpaca", "data/alpaca", "alpaca_data_cleaned_archive.json", "", 0.03865},
    {"AlpacaGPT4", "data/alpacagpt4", "alpacagpt4_data_cleaned_archive.json", "", 0.03847},
    {"Alpaca2k", "data/alpaca2k", "alpaca_2k.json",
     "LitGPT takes mhenrichsen/alpaca_2k_test from the hub's cache: save its rows as a JSON list "
     "to this file",
     0.05},
};

void TakeJson(LitgptDraft* draft, Json* data, const LitgptSource& source) {
  const std::optional<std::string> path = draft->Take("data.json_path");
  if (!path) return draft->Refuse("data.json_path", "the file of rows");
  const bool is_file = path->ends_with(".json") || path->ends_with(".jsonl");
  if (!is_file)
    draft->NoteOf(
        "data.json_path",
        "a folder: its train.json is taken; val.json has no counterpart, val_split_fraction has");
  (*data)["path"] = source.place_path(is_file ? *path : *path + "/train.json");
  (*data)["val_split_fraction"] = draft->Value("data.val_split_fraction", 0);
}

void TakeDownloaded(const DownloadedData& known, LitgptDraft* draft, Json* data,
                    const LitgptSource& source) {
  const std::string folder = draft->Take("data.download_dir").value_or(std::string(known.folder));
  const std::string path =
      folder + "/" + draft->Take("data.file_name").value_or(std::string(known.file));
  (*data)["path"] = source.place_path(path);
  (*data)["val_split_fraction"] = draft->Value("data.val_split_fraction", known.val_split_fraction);
  if (!known.note.empty())
    draft->NoteOf("data", path + ": " + std::string(known.note));
  else if (!source.exists(path))
    draft->NoteOf("data", path + " is not here; LitGPT would download it");
}

struct OptimizerDefaults {
  std::string_view class_name, name;
  double weight_decay = 0;
};

constexpr OptimizerDefaults kOptimizers[] = {{"AdamW", "adamw", 0.01},
                                             {"Adam", "adamw", 0},
                                             {"SGD", "sgd", 0},
                                             {"AdamW8bit", "adamw_8bit", 0.01}};

// Switches that change the arithmetic, and that only their off value has a counterpart of.
void RefuseOthers(LitgptDraft* draft) {
  for (const char* key :
       {"optimizer.amsgrad", "optimizer.nesterov", "optimizer.maximize", "optimizer.dampening"}) {
    const Json value = draft->Value(key, nullptr);
    if (!value.is_null() && value != false && value != 0)
      draft->Refuse(key, "false: it has no counterpart");
  }
}

}  // namespace

void ConvertLitgptData(const LitgptSource& source, LitgptDraft* draft) {
  const std::string name = ClassName(draft->Take("data").value_or("Alpaca"));
  Json data = {{"path", nullptr}, {"format", "alpaca"}};
  const auto known = std::find_if(std::begin(kDownloaded), std::end(kDownloaded),
                                  [&](const auto& row) { return row.name == name; });
  if (name == "JSON") {
    TakeJson(draft, &data, source);
  } else if (known != std::end(kDownloaded)) {
    TakeDownloaded(*known, draft, &data, source);
  } else {
    draft->Refuse("data",
                  "Alpaca, Alpaca2k, AlpacaGPT4 or JSON; other rows as JSON: --data JSON "
                  "--data.json_path FILE");
  }
  data["mask_prompt"] = draft->Value("data.mask_prompt", false);
  data["seed"] = draft->Value("data.seed", 42);
  const std::string style = ClassName(draft->Take("data.prompt_style").value_or("alpaca"));
  if (style != "alpaca" && style != "Alpaca") draft->Refuse("data.prompt_style", "alpaca");
  draft->job["data"] = std::move(data);
}

void ConvertLitgptOptimizer(LitgptDraft* draft) {
  const std::string name = ClassName(draft->Take("optimizer").value_or("AdamW"));
  const auto known = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                  [&](const auto& row) { return row.class_name == name; });
  if (known == std::end(kOptimizers)) {
    return draft->Refuse("optimizer",
                         "torch.optim.AdamW, torch.optim.SGD or bitsandbytes.optim.AdamW8bit");
  }
  Json optimizer = {{"name", known->name}, {"lr", draft->Value("optimizer.lr", 1e-3)}};
  optimizer["weight_decay"] = draft->Value("optimizer.weight_decay", known->weight_decay);
  if (known->name == "sgd") {
    optimizer["momentum"] = draft->Value("optimizer.momentum", 0);
  } else {
    optimizer["betas"] = draft->Value("optimizer.betas", Json::array({0.9, 0.999}));
    optimizer["eps"] = draft->Value("optimizer.eps", 1e-8);
  }
  if (name == "Adam" && optimizer["weight_decay"] != 0)
    draft->Refuse("optimizer.weight_decay", "0 with Adam, or AdamW");
  RefuseOthers(draft);
  draft->job["optimizer"] = std::move(optimizer);
}

}  // namespace trainctl::client

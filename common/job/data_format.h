// Names of data formats and chat templates, as job files spell them. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/job/job.h"

namespace trainctl::job {

inline constexpr std::pair<std::string_view, DataFormat> kDataFormats[] = {
    {"alpaca", DataFormat::kAlpaca},    {"text", DataFormat::kText},
    {"plain", DataFormat::kPlain},      {"bin", DataFormat::kBin},
    {"chat", DataFormat::kChat},        {"completion", DataFormat::kCompletion},
    {"captions", DataFormat::kCaptions}};

inline constexpr std::pair<std::string_view, ChatTemplate> kChatTemplates[] = {
    {"chatml", ChatTemplate::kChatml},   {"llama3", ChatTemplate::kLlama3},
    {"mistral", ChatTemplate::kMistral}, {"qwen", ChatTemplate::kQwen},
    {"zephyr", ChatTemplate::kZephyr},   {"alpaca", ChatTemplate::kAlpaca}};

constexpr std::string_view Name(DataFormat format) {
  for (const auto& [name, value] : kDataFormats) {
    if (value == format) return name;
  }
  return "";
}

constexpr std::string_view Name(ChatTemplate chat_template) {
  for (const auto& [name, value] : kChatTemplates) {
    if (value == chat_template) return name;
  }
  return "";
}

// The keys of a format's rows that data.columns may name otherwise.
inline std::span<const std::string_view> ColumnsOf(DataFormat format) {
  static constexpr std::string_view kInstructions[] = {"instruction", "input", "output"};
  static constexpr std::string_view kText[] = {"text"}, kTurns[] = {"messages"};
  static constexpr std::string_view kPrompts[] = {"prompt", "completion"};
  static constexpr std::string_view kPictures[] = {"image", "text"};
  switch (format) {
    case DataFormat::kAlpaca: return kInstructions;
    case DataFormat::kText: return kText;
    case DataFormat::kCompletion: return kPrompts;
    case DataFormat::kChat: return kTurns;
    case DataFormat::kCaptions: return kPictures;
    case DataFormat::kPlain:
    case DataFormat::kBin: break;
  }
  return {};
}

// Of a format's key, what the data file calls it.
inline std::string ColumnOf(const DataSpec& data, const std::string& key) {
  const auto named = data.columns.find(key);
  return named == data.columns.end() ? key : named->second;
}

}  // namespace trainctl::job

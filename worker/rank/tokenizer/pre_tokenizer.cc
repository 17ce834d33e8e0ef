#include "worker/rank/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "worker/rank/tokenizer/byte_level.h"
#include "worker/rank/tokenizer/read_pattern.h"

namespace trainctl::data {
namespace {

std::optional<SplitBehavior> ParseBehavior(const std::string& name) {
  static const std::map<std::string, SplitBehavior> behaviors = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  const auto found = behaviors.find(name);
  return found == behaviors.end() ? std::nullopt : std::optional(found->second);
}

// Each match joins its neighbour, where that is not a match that already joined: tokenizers' fold,
// forwards or backwards.
std::vector<Span> MergeMatches(std::vector<Span> spans, bool with_previous) {
  if (!with_previous) std::reverse(spans.begin(), spans.end());
  std::vector<Span> merged;
  bool previous_match = false;
  for (const Span& span : spans) {
    const bool joins = span.is_match && !previous_match && !merged.empty();
    if (!joins) {
      merged.push_back(span);
    } else if (with_previous) {
      merged.back().end = span.end;
    } else {
      merged.back().begin = span.begin;
    }
    previous_match = span.is_match;
  }
  if (!with_previous) std::reverse(merged.begin(), merged.end());
  return merged;
}

// Neighbours of one kind become one.
std::vector<Span> MergeRuns(const std::vector<Span>& spans) {
  std::vector<Span> merged;
  for (const Span& span : spans) {
    if (!merged.empty() && merged.back().is_match == span.is_match) {
      merged.back().end = span.end;
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

void ApplyBehavior(SplitBehavior behavior, std::vector<Span>* spans) {
  switch (behavior) {
    case SplitBehavior::kIsolated: return;
    case SplitBehavior::kRemoved:
      std::erase_if(*spans, [](const Span& span) { return span.is_match; });
      return;
    case SplitBehavior::kMergedWithPrevious: *spans = MergeMatches(std::move(*spans), true); return;
    case SplitBehavior::kMergedWithNext: *spans = MergeMatches(std::move(*spans), false); return;
    case SplitBehavior::kContiguous: *spans = MergeRuns(*spans); return;
  }
}

std::string ReplaceSpaces(std::string_view text, std::string_view with) {
  std::string replaced;
  replaced.reserve(text.size() + text.size() / 2);
  for (const char c : text) {
    if (c == ' ') {
      replaced += with;
    } else {
      replaced += c;
    }
  }
  return replaced;
}

}  // namespace

PreTokenizer PreTokenizer::Read(const files::JsonObject& tokenizer) {
  PreTokenizer pre_tokenizer;
  if (tokenizer.Get("pre_tokenizer") != nullptr)
    pre_tokenizer.AddStep(tokenizer.Object("pre_tokenizer"));
  return pre_tokenizer;
}

PreTokenizer PreTokenizer::ByteLevel(bool add_prefix_space) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.AddByteLevel(add_prefix_space, /*use_regex=*/true);
  return pre_tokenizer;
}

PreTokenizer PreTokenizer::Qwen2(bool add_prefix_space) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.steps_.emplace_back(SplitStep{Regex::Compile(kQwen2SplitPattern).value()});
  pre_tokenizer.AddByteLevel(add_prefix_space, /*use_regex=*/false);
  return pre_tokenizer;
}

void PreTokenizer::AddStep(const files::JsonObject& component) {
  const std::string type = component.Text("type");
  if (byte_level_) component.Fail("\"" + type + "\" after ByteLevel is not yet supported");
  if (type == "Sequence") {
    for (const files::JsonObject& step : component.Objects("pretokenizers")) AddStep(step);
  } else if (type == "ByteLevel") {
    AddByteLevel(component.Flag("add_prefix_space", true), component.Flag("use_regex", true));
  } else if (type == "Metaspace") {
    AddMetaspace(component);
  } else if (type == "Digits") {
    const bool individual = component.Flag("individual_digits", false);
    steps_.emplace_back(
        SplitStep{Regex::Compile("\\p{N}").value(),
                  individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
  } else if (type == "Split") {
    const auto behavior = ParseBehavior(component.Text("behavior"));
    if (!behavior)
      component.Expected("behavior",
                         "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
    steps_.emplace_back(SplitStep{ReadPattern(component),
                                  behavior.value_or(SplitBehavior::kIsolated),
                                  component.Flag("invert", false)});
  } else {
    component.Expected("type",
                       "Sequence, ByteLevel, Metaspace, Digits or Split; other pre-tokenizers are "
                       "not yet supported");
  }
}

void PreTokenizer::AddByteLevel(bool add_prefix_space, bool use_regex) {
  if (add_prefix_space) steps_.emplace_back(SpaceStep{.to = " ", .prefix = Prefix::kAlways});
  if (use_regex) steps_.emplace_back(SplitStep{Regex::Compile(kGpt2SplitPattern).value()});
  byte_level_ = true;
}

// add_prefix_space is the older spelling of prepend_scheme: false is "never".
void PreTokenizer::AddMetaspace(const files::JsonObject& component) {
  static const std::map<std::string, Prefix> schemes = {
      {"always", Prefix::kAlways}, {"first", Prefix::kFirst}, {"never", Prefix::kNever}};
  const bool legacy_prefix = component.Flag("add_prefix_space", true);
  const auto scheme =
      schemes.find(component.Text("prepend_scheme", legacy_prefix ? "always" : "never"));
  if (scheme == schemes.end())
    return component.Expected("prepend_scheme", "always, first or never");
  const std::string replacement = component.Text("replacement");
  steps_.emplace_back(SpaceStep{.to = replacement,
                                .replace_spaces = true,
                                .prefix = legacy_prefix ? scheme->second : Prefix::kNever});
  if (component.Flag("split", true))
    steps_.emplace_back(SplitStep{Regex::Literal(replacement), SplitBehavior::kMergedWithNext});
}

void PreTokenizer::Split(Pieces* pieces) const {
  for (const auto& step : steps_) {
    std::visit([&](const auto& one) { Apply(one, pieces); }, step);
  }
}

void PreTokenizer::Apply(const SplitStep& step, Pieces* pieces) {
  std::vector<Piece> split;
  std::vector<Span> spans;
  for (const Piece& piece : pieces->list) {
    step.pattern.Split(piece.text, &spans);
    if (step.invert) {
      for (Span& span : spans) span.is_match = !span.is_match;
    }
    ApplyBehavior(step.behavior, &spans);
    for (const Span& span : spans) {
      split.push_back({piece.text.substr(span.begin, span.end - span.begin),
                       piece.at_start && span.begin == 0});
    }
  }
  pieces->list = std::move(split);
}

void PreTokenizer::Apply(const SpaceStep& step, Pieces* pieces) {
  for (Piece& piece : pieces->list) {
    if (step.replace_spaces) piece.text = pieces->Own(ReplaceSpaces(piece.text, step.to));
    const bool wants_prefix =
        step.prefix == Prefix::kAlways || (step.prefix == Prefix::kFirst && piece.at_start);
    if (wants_prefix && !piece.text.starts_with(step.to))
      piece.text = pieces->Own(step.to + std::string(piece.text));
  }
}

}  // namespace trainctl::data

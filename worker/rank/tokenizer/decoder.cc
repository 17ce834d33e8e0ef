#include "worker/rank/tokenizer/decoder.h"

#include <numeric>
#include <optional>
#include <utility>

#include "worker/rank/tokenizer/byte_level.h"
#include "worker/rank/tokenizer/normalizer.h"
#include "worker/rank/tokenizer/read_pattern.h"
#include "worker/rank/tokenizer/utf8.h"

namespace trainctl::data {
namespace {

std::string Repaired(const std::string& text) {
  std::string storage;
  return std::string(RepairUtf8(text, &storage));
}

// −1: none.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte of "<0x0A>".
std::optional<char> ByteOfEntry(const std::string& entry) {
  if (entry.size() != 6 || !entry.starts_with("<0x") || !entry.ends_with('>')) return std::nullopt;
  const int high = HexDigit(entry[3]), low = HexDigit(entry[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

}  // namespace

Decoder Decoder::Read(const files::JsonObject& tokenizer) {
  Decoder decoder;
  if (tokenizer.Get("decoder") != nullptr) decoder.AddStep(tokenizer.Object("decoder"));
  return decoder;
}

Decoder Decoder::ByteLevel() {
  Decoder decoder;
  decoder.steps_.emplace_back(ByteLevelStep{});
  return decoder;
}

void Decoder::AddStep(const files::JsonObject& component) {
  constexpr int64_t kMost = 1 << 20;
  const std::string type = component.Text("type");
  if (type == "Sequence") {
    for (const files::JsonObject& step : component.Objects("decoders")) AddStep(step);
  } else if (type == "ByteLevel") {
    steps_.emplace_back(ByteLevelStep{});
  } else if (type == "ByteFallback") {
    steps_.emplace_back(ByteFallbackStep{});
  } else if (type == "Fuse") {
    steps_.emplace_back(FuseStep{});
  } else if (type == "Metaspace") {
    const bool prefix = component.Flag("add_prefix_space", true) &&
                        component.Text("prepend_scheme", "always") != "never";
    steps_.emplace_back(MetaspaceStep{component.Text("replacement"), prefix});
  } else if (type == "Replace") {
    steps_.emplace_back(ReplaceStep{ReadPattern(component), component.Text("content")});
  } else if (type == "Strip") {
    steps_.emplace_back(StripStep{component.Text("content"),
                                  static_cast<size_t>(component.Integer("start", 0, kMost)),
                                  static_cast<size_t>(component.Integer("stop", 0, kMost))});
  } else {
    component.Expected("type",
                       "Sequence, ByteLevel, ByteFallback, Fuse, Metaspace, Replace or Strip; "
                       "others are not yet supported");
  }
}

std::string Decoder::Decode(std::vector<std::string> entries) const {
  if (steps_.empty()) {
    for (size_t i = 1; i < entries.size(); ++i) entries[i].insert(0, " ");
  }
  for (const auto& step : steps_) {
    std::visit([&](const auto& one) { Apply(one, &entries); }, step);
  }
  Apply(FuseStep{}, &entries);
  return entries.empty() ? "" : entries.front();
}

void Decoder::Apply(const ByteLevelStep&, Entries* entries) {
  std::string bytes;
  for (const std::string& entry : *entries) bytes += BytesOfByteLevel(entry).value_or(entry);
  *entries = {Repaired(bytes)};
}

void Decoder::Apply(const ByteFallbackStep&, Entries* entries) {
  Entries decoded;
  std::string
      bytes;  // of the run of byte entries so far; each is U+FFFD where together they are not UTF-8
  const auto flush = [&] {
    std::string storage;
    const bool well_formed = RepairUtf8(bytes, &storage).data() == bytes.data();
    if (well_formed && !bytes.empty()) decoded.push_back(bytes);
    for (size_t i = 0; !well_formed && i < bytes.size(); ++i) decoded.push_back("\xEF\xBF\xBD");
    bytes.clear();
  };
  for (std::string& entry : *entries) {
    if (const auto byte = ByteOfEntry(entry)) {
      bytes.push_back(*byte);
    } else {
      flush();
      decoded.push_back(std::move(entry));
    }
  }
  flush();
  *entries = std::move(decoded);
}

void Decoder::Apply(const FuseStep&, Entries* entries) {
  *entries = {std::accumulate(entries->begin(), entries->end(), std::string())};
}

void Decoder::Apply(const MetaspaceStep& step, Entries* entries) {
  const Regex replacement = Regex::Literal(step.replacement);
  for (size_t i = 0; i < entries->size(); ++i) {
    std::string& entry = (*entries)[i];
    entry = ReplaceAll(replacement, entry, i == 0 && step.drop_first ? "" : " ");
  }
}

void Decoder::Apply(const ReplaceStep& step, Entries* entries) {
  for (std::string& entry : *entries) entry = ReplaceAll(step.pattern, entry, step.content);
}

void Decoder::Apply(const StripStep& step, Entries* entries) {
  if (step.content.empty()) return;
  for (std::string& entry : *entries) {
    for (size_t i = 0; i < step.start && entry.starts_with(step.content); ++i)
      entry.erase(0, step.content.size());
    for (size_t i = 0; i < step.stop && entry.ends_with(step.content); ++i)
      entry.erase(entry.size() - step.content.size());
  }
}

}  // namespace trainctl::data

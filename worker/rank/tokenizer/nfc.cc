#include "worker/rank/tokenizer/nfc.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "worker/rank/tokenizer/nfc_table.h"
#include "worker/rank/tokenizer/utf8.h"

namespace trainctl::data {
namespace {

constexpr char32_t kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11A7, kSyllable = 0xAC00;
constexpr char32_t kLeads = 19, kVowels = 21, kTrails = 28;
constexpr char32_t kSyllables = kLeads * kVowels * kTrails;
constexpr unsigned char kFirstThatMayChange = 0xCC;  // leads U+0300: what is below stays as it is

// The triple whose first is the last one up to the code; nullptr: none.
const char32_t* TripleUpTo(const std::vector<char32_t>& triples, char32_t code) {
  size_t low = 0, high = triples.size() / 3;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (triples[3 * middle] <= code)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? nullptr : &triples[3 * (low - 1)];
}

char32_t ClassOf(char32_t code) {
  const char32_t* run = TripleUpTo(nfc::kClasses, code);
  return run != nullptr && code <= run[1] ? run[2] : 0;
}

// Of a compatibility ideograph; else the code itself.
char32_t Ideograph(char32_t code) {
  for (const auto& [first, table] :
       {std::pair(char32_t{0xF900}, &nfc::kAtF900), std::pair(char32_t{0x2F800}, &nfc::kAt2F800)}) {
    if (code >= first && code - first < table->size()) return (*table)[code - first];
  }
  return code;
}

void Decompose(char32_t code, std::u32string* out) {
  if (code >= kSyllable && code < kSyllable + kSyllables) {
    const char32_t index = code - kSyllable;
    out->push_back(kLead + index / (kVowels * kTrails));
    out->push_back(kVowel + index % (kVowels * kTrails) / kTrails);
    if (index % kTrails != 0) out->push_back(kTrail + index % kTrails);
    return;
  }
  for (const std::vector<char32_t>* table : {&nfc::kComposing, &nfc::kOnlyDecomposing}) {
    const char32_t* triple = TripleUpTo(*table, code);
    if (triple == nullptr || triple[0] != code) continue;
    Decompose(triple[1], out);
    if (triple[2] != 0) Decompose(triple[2], out);
    return;
  }
  out->push_back(Ideograph(code));
}

// Marks behind a character, in the order of their classes.
void Order(std::u32string* text) {
  for (size_t begin = 0; begin < text->size(); ++begin) {
    if (ClassOf((*text)[begin]) == 0) continue;
    size_t end = begin;
    while (end < text->size() && ClassOf((*text)[end]) != 0) ++end;
    std::stable_sort(text->begin() + static_cast<ptrdiff_t>(begin),
                     text->begin() + static_cast<ptrdiff_t>(end),
                     [](char32_t a, char32_t b) { return ClassOf(a) < ClassOf(b); });
    begin = end;
  }
}

// 0: they do not compose.
char32_t ComposedOf(char32_t first, char32_t second) {
  if (first >= kLead && first < kLead + kLeads && second >= kVowel && second < kVowel + kVowels)
    return kSyllable + ((first - kLead) * kVowels + second - kVowel) * kTrails;
  if (first >= kSyllable && first < kSyllable + kSyllables && (first - kSyllable) % kTrails == 0 &&
      second > kTrail && second < kTrail + kTrails)
    return first + second - kTrail;
  static const std::map<std::pair<char32_t, char32_t>, char32_t> pairs = [] {
    std::map<std::pair<char32_t, char32_t>, char32_t> made;
    for (size_t i = 0; i < nfc::kComposing.size(); i += 3)
      made[{nfc::kComposing[i + 1], nfc::kComposing[i + 2]}] = nfc::kComposing[i];
    return made;
  }();
  const auto found = pairs.find({first, second});
  return found == pairs.end() ? 0 : found->second;
}

// A mark joins the last character of class 0, unless one of its own class or above is between.
std::u32string Compose(const std::u32string& text) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  std::u32string out;
  size_t starter = kNone;
  char32_t last_class = 0;
  for (const char32_t code : text) {
    const char32_t own = ClassOf(code);
    const bool is_next = starter != kNone && starter + 1 == out.size();
    const bool is_free = starter != kNone && (is_next || last_class < own);
    const char32_t composed = is_free ? ComposedOf(out[starter], code) : 0;
    if (composed != 0) {
      out[starter] = composed;
      continue;
    }
    if (own == 0) starter = out.size();
    last_class = own;
    out.push_back(code);
  }
  return out;
}

}  // namespace

std::string ToNfc(std::string_view text) {
  if (std::ranges::all_of(
          text, [](char c) { return static_cast<unsigned char>(c) < kFirstThatMayChange; }))
    return std::string(text);
  std::u32string decomposed;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Char next = FirstChar(rest);
    Decompose(next.code, &decomposed);
    rest.remove_prefix(next.length);
  }
  Order(&decomposed);
  std::string out;
  out.reserve(text.size());
  for (const char32_t code : Compose(decomposed)) AppendUtf8(code, &out);
  return out;
}

}  // namespace trainctl::data

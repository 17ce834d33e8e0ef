// What Unicode says of canonical composition, for nfc.h alone. Hangul is arithmetic, and not here.
#pragma once

#include <vector>

namespace trainctl::data::nfc {

// Triples, sorted by their first: a character and the two that it is composed of.
extern const std::vector<char32_t> kComposing;
// The same of characters that are decomposed and never composed again. A third of 0: of one only.
extern const std::vector<char32_t> kOnlyDecomposing;
// What stands for each compatibility ideograph from U+F900 and from U+2F800 on.
extern const std::vector<char32_t> kAtF900;
extern const std::vector<char32_t> kAt2F800;
// Triples, sorted: first and last character of a run, and its combining class.
extern const std::vector<char32_t> kClasses;

}  // namespace trainctl::data::nfc

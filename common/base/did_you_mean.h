// The nearest of a list of names to one that was mistyped, for hints: "did you mean
// 'micro_batch_size'?".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trainctl::base {

// The candidate with the fewest edits, the first of equals. An edit inserts, deletes or replaces a
// letter, or swaps neighbours; letter case is free. nullopt if that needs more edits than a third
// of the longer name's letters. One edit is always allowed. Work is bounded: names longer than 64
// bytes have no nearest.
std::optional<std::string_view> Closest(std::string_view name,
                                        std::span<const std::string_view> candidates);

// The only candidate that begins with the name; nullopt if there are none or several. Letter case
// is free. One letter begins nothing.
std::optional<std::string_view> OnlyBeginning(std::string_view name,
                                              std::span<const std::string_view> candidates);

// "did you mean 'x'?" or "": the closest, else the only one that the name is the beginning of.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

// "no key 'los': did you mean 'loss'? (there are loss, lr)", or without a hint "no key 'x'; there
// are loss, lr". what: "no key 'los'"; more: "there are loss, lr".
std::string WithHint(const std::string& what, const std::string& hint, const std::string& more);

}  // namespace trainctl::base

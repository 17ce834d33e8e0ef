// Sizes, durations and counts as people write and read them. Bytes and seconds are what the system
// stores; GiB, or a smaller unit where that fits, is what it shows. Pure, thread-safe; parsing
// never throws and never rounds a whole number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::base {

// "80GB" = 80e9, "80GiB" = 80·2^30, "512MiB", "1.5TB", "4096B", "4096". Units: B, kB/KB, MB, GB, TB
// (powers of 1,000) and KiB, MiB, GiB, TiB (powers of 1,024); one space may stand before the unit.
// nullopt for anything else, negative numbers and more than 2^63 − 1 bytes included.
std::optional<int64_t> ParseBytes(std::string_view text);

// Seconds. "2h", "10min", "90s", "1h30min", "2d", "1d 12h": units d, h, min, s, each at most once
// and in this order, whole numbers; one space may stand between the parts. A bare number is
// refused, since nobody could tell its unit. nullopt for anything else.
std::optional<int64_t> ParseDuration(std::string_view text);

// "44.20 GiB"; below 0.1 GiB "12.50 MiB", below 1 MiB "3.00 KiB", below 1 KiB "17 B".
// Two digits, so that columns compare at a glance. The one way in which sizes are shown.
std::string FormatBytes(int64_t bytes);

// The shortest spelling that ParseBytes reads back to the same number: "80GB", "40GiB", "1536MiB",
// "1000001B".
std::string SpellBytes(int64_t bytes);

// "0 s", "45 s", "3 min 32 s", "2 h", "1 d 2 h 5 min": the parts that are not zero. Negative: "-"
// in front. The one way in which whole seconds are shown.
std::string FormatDuration(int64_t seconds);

// "45s", "3min 32s", "2h": the same as it is written in a job file, which ParseDuration reads back.
std::string SpellDuration(int64_t seconds);

std::string WithThousands(int64_t value);  // "1,234,567"

}  // namespace trainctl::base

// The font of pictures: DejaVu Sans as the distribution has it, whose licence lies in it. It is a
// part of the program, since a host may have no font at all.
#pragma once

#include <cstdint>
#include <span>

namespace trainctl::client::drawn {

// A TrueType file.
std::span<const uint8_t> CarriedFont();

}  // namespace trainctl::client::drawn

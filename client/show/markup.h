// Texts of others within HTML, SVG and Markdown. Pure.
#pragma once

#include <string>
#include <string_view>

namespace trainctl::client {

// What a browser shows as this text, within an element or a quoted attribute. Control characters
// are spelled out (escaping.h).
std::string MarkupEscaped(std::string_view text);

// What Markdown shows as this text, in a paragraph or a cell. Marks that mean nothing where they
// stand, as in train.micro_batch_size, stay as they are.
std::string MarkdownEscaped(std::string_view text);

}  // namespace trainctl::client

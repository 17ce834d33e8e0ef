// Which built-in chat template a tokenizer's own one is, by its Jinja text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "worker/rank/data/chat_form.h"

namespace trainctl::data {

// nullopt: the text writes turns in another way, or does more than the built-in ones: it writes bos
// or eos elsewhere, or sets a default system turn of its own. What models
// of one template do in ways of their own is in the form: a default system turn (Qwen 2.5,
// SmolLM2), Llama 3.1's dates, Qwen 3's thoughts, Mistral's spaces. What stands between {%
// generation %} marks is not asked: trained are the assistant's words and the token that ends them.
// Llama 3.2 writes today's date; here it is the one that Llama 3.1 always writes, so that data stay
// the same. The form's note tells of it.
std::optional<ChatForm> RecognizeTemplate(std::string_view jinja, const BoundaryTexts& texts);

// The Jinja text of the tokenizer in the directory: chat_template.jinja, else "chat_template" of
// tokenizer_config.json (of a list, the one named "default"). nullopt: it has none.
// Errors: kIo, kInvalid (a broken tokenizer_config.json).
base::Result<std::optional<std::string>> ReadOwnTemplate(const std::string& model_directory);

}  // namespace trainctl::data

// The turns of a conversation, as chat data sets hold them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/rank/files/json_object.h"

namespace trainctl::data {

enum class Role { kSystem, kUser, kAssistant };

struct Message {
  Role role = Role::kUser;
  std::string content;
  std::optional<std::string> thoughts = {};  // "reasoning_content", beside the content
};

// The turns under the row's key, in one of two forms:
//   [{"role": "system" | "user" | "assistant", "content": "…"}, …]
//   [{"from": "system" | "human" | "gpt", "value": "…"}, …], ShareGPT's; user, assistant and
//   chatgpt are read there too.
// A turn of the first form may have "reasoning_content". Calls of tools are refused; other keys of
// a turn are left alone. A system turn stands first.
//
// Faults are recorded in the row: no list, an empty one, a turn without role or content. Others are
// an unknown role, a call of a tool, a system turn elsewhere. What comes back then means nothing.
std::vector<Message> ReadConversation(const files::JsonObject& row, const std::string& key);

}  // namespace trainctl::data

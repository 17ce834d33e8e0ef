#include "worker/rank/data/conversation.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace trainctl::data {
namespace {

using files::JsonObject;

constexpr char kThoughts[] = "reasoning_content";

struct RoleName {
  std::string_view name;
  Role role;
};

constexpr std::array kRoles = {RoleName{"system", Role::kSystem}, RoleName{"user", Role::kUser},
                               RoleName{"assistant", Role::kAssistant}};
constexpr std::array kShareGptRoles = {
    RoleName{"system", Role::kSystem},     RoleName{"human", Role::kUser},
    RoleName{"user", Role::kUser},         RoleName{"gpt", Role::kAssistant},
    RoleName{"chatgpt", Role::kAssistant}, RoleName{"assistant", Role::kAssistant}};

template <class Names>
Role ReadRole(const JsonObject& turn, const std::string& key, const Names& names,
              const char* expected) {
  const std::string text = turn.Text(key);
  for (const RoleName& known : names) {
    if (known.name == text) return known.role;
  }
  turn.Expected(key, expected);
  return Role::kUser;
}

// Tables have a struct of nulls in place of what a turn does not have.
bool IsNothing(const nlohmann::json& value) {
  if (value.is_structured()) return std::ranges::all_of(value, IsNothing);
  return value.is_null() || value == "";
}

// They are words of the turn, which no template here writes.
void RefuseToolCalls(const JsonObject& turn) {
  for (const char* key : {"tool_calls", "function_call"}) {
    const nlohmann::json* calls = turn.Get(key);
    if (calls != nullptr && !IsNothing(*calls))
      turn.Expected(key, "none: calls of tools are not yet supported");
  }
}

Message ReadTurn(const JsonObject& turn) {
  RefuseToolCalls(turn);
  if (turn.Has("from"))
    return {ReadRole(turn, "from", kShareGptRoles, "system, human or gpt"), turn.Text("value")};
  Message message = {ReadRole(turn, "role", kRoles, "system, user or assistant"),
                     turn.Text("content")};
  if (turn.Get(kThoughts) != nullptr) message.thoughts = turn.Text(kThoughts);
  return message;
}

}  // namespace

std::vector<Message> ReadConversation(const JsonObject& row, const std::string& key) {
  std::vector<Message> messages;
  if (row.Get(key) == nullptr) row.Expected(key, "a list of turns");
  for (const JsonObject& turn : row.Objects(key)) {
    messages.push_back(ReadTurn(turn));
    if (messages.back().role == Role::kSystem && messages.size() > 1)
      turn.Fail("a system turn, expected as the first of its conversation only");
    if (row.failed()) return messages;
  }
  if (messages.empty()) row.Expected(key, "at least one turn");
  return messages;
}

}  // namespace trainctl::data

#include "server/core/policy_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "common/base/did_you_mean.h"
#include "common/base/size.h"
#include "common/base/utf8.h"
#include "common/json/read_json.h"
#include "common/json/write_json.h"
#include "server/core/lease_wish.h"

namespace trainctl::core {
namespace {

using job::JsonNode;
using Keys = std::span<const std::string_view>;

constexpr int64_t kMostOfAnything = 1'000'000;
constexpr int64_t kMostPriority = 100;
constexpr int64_t kMostSeconds = int64_t{366} * 86'400;
constexpr int64_t kLeastHalfLife = 60;
constexpr int64_t kLeastLease = kShortestLeaseUs / 1'000'000;
constexpr int64_t kLeastRetention = 3600;
constexpr std::string_view kEveryone = "*";

std::string ShownPolicyValue(const JsonNode& node) {
  return base::Excerpt(WriteJson(node), job::kShownValueBytes);
}

std::string ListOf(Keys keys) {
  std::string text;
  for (const std::string_view key : keys) text += (text.empty() ? "" : ", ") + std::string(key);
  return text;
}

class PolicyReader {
 public:
  SitePolicy Read(const JsonNode& root) {
    SitePolicy policy;
    static constexpr std::array<std::string_view, 5> kKeys = {"users", "fair_share", "preemption",
                                                              "max_queued_jobs", "retention"};
    if (!CheckKeys(root, "", kKeys)) return policy;
    if (const JsonNode* users = root.Find("users")) ReadUsers(*users, &policy);
    if (const JsonNode* share = root.Find("fair_share")) ReadFairShare(*share, &policy);
    if (const JsonNode* node = root.Find("preemption")) ReadPreemption(*node, &policy);
    if (const JsonNode* most = root.Find("max_queued_jobs"))
      ReadNumber(*most, "max_queued_jobs", &policy.max_queued_jobs);
    if (const JsonNode* retention = root.Find("retention")) ReadRetention(*retention, &policy);
    return policy;
  }

  std::vector<job::Problem> problems;

 private:
  void Refuse(const std::string& path, const JsonNode& node, const std::string& expected,
              const std::string& hint = "") {
    problems.push_back({path, node.line, ShownPolicyValue(node), expected, hint});
  }

  // An object with no other keys than these. False: it is none.
  bool CheckKeys(const JsonNode& node, const std::string& path, Keys keys) {
    if (!node.Is(JsonNode::Type::kObject)) {
      Refuse(path.empty() ? "the policy" : path, node, "an object with " + ListOf(keys));
      return false;
    }
    for (size_t i = 0; i < node.keys.size(); ++i) {
      const std::string& key = node.keys[i];
      if (std::ranges::find(keys, key) != keys.end()) continue;
      const std::string shown = base::Excerpt(key, job::kShownValueBytes);
      problems.push_back({path.empty() ? shown : path + "." + shown, node.items[i].line, "",
                          "one of " + ListOf(keys), base::DidYouMean(key, keys)});
    }
    return true;
  }

  // Where everybody's is read first: each user's begins with it.
  void ReadUsers(const JsonNode& users, SitePolicy* policy) {
    if (!users.Is(JsonNode::Type::kObject))
      return Refuse("users", users, "an object of users by name; \"*\" is everybody");
    if (const JsonNode* all = users.Find(kEveryone)) ReadUser(*all, kEveryone, &policy->everyone);
    for (size_t i = 0; i < users.keys.size(); ++i) {
      const std::string& name = users.keys[i];
      if (name == kEveryone) continue;
      if (name.empty()) Refuse("users", users.items[i], "a user's name, and it is empty");
      ReadUser(users.items[i], name,
               &policy->users.try_emplace(name, policy->everyone).first->second);
    }
  }

  void ReadUser(const JsonNode& node, std::string_view name, UserPolicy* user) {
    static constexpr std::array<std::string_view, 9> kKeys = {
        "max_running_devices", "max_queued_jobs",      "min_priority",
        "max_priority",        "max_time_limit",       "max_leased_devices",
        "max_lease_time",      "max_calls_per_second", "max_call_burst"};
    const std::string path = "users." + base::Excerpt(std::string(name), job::kShownValueBytes);
    if (!CheckKeys(node, path, kKeys)) return;
    const auto bound = [&](const char* key, std::optional<int64_t>* value) {
      const JsonNode* found = node.Find(key);
      if (found != nullptr) ReadBound(*found, path + "." + key, value);
    };
    bound("max_running_devices", &user->max_running_devices);
    bound("max_queued_jobs", &user->max_queued_jobs);
    bound("max_leased_devices", &user->max_leased_devices);
    bound("max_calls_per_second", &user->max_calls_per_second);
    if (const JsonNode* burst = node.Find("max_call_burst"))
      ReadNumber(*burst, path + ".max_call_burst", &user->max_call_burst);
    const auto priority = [&](const char* key, int64_t* value) {
      const JsonNode* found = node.Find(key);
      if (found == nullptr) return;
      if (!IsWithin(*found, 0, kMostPriority))
        return Refuse(path + "." + key, *found, "a whole number from 0 to 100");
      *value = found->integer;
    };
    priority("min_priority", &user->min_priority);
    priority("max_priority", &user->max_priority);
    if (user->min_priority > user->max_priority) {
      problems.push_back({path, node.line,
                          "min_priority " + std::to_string(user->min_priority) + ", max_priority " +
                              std::to_string(user->max_priority),
                          "min_priority to be at most max_priority", ""});
    }
    const auto time = [&](const char* key, int64_t least, std::optional<int64_t>* value) {
      const JsonNode* found = node.Find(key);
      if (found == nullptr) return;
      value->reset();
      if (!found->Is(JsonNode::Type::kNull))
        *value = ReadTime(*found, path + "." + key, least, "\"24h\"");
    };
    time("max_time_limit", 1, &user->max_time_limit_seconds);
    time("max_lease_time", kLeastLease, &user->max_lease_seconds);
  }

  void ReadFairShare(const JsonNode& share, SitePolicy* policy) {
    static constexpr std::array<std::string_view, 1> kKeys = {"half_life"};
    if (!CheckKeys(share, "fair_share", kKeys)) return;
    const JsonNode* half_life = share.Find("half_life");
    if (half_life == nullptr)
      return Refuse("fair_share", share, "half_life, a time such as \"7d\"");
    const auto seconds = ReadTime(*half_life, "fair_share.half_life", kLeastHalfLife, "\"7d\"");
    if (seconds) policy->half_life_us = *seconds * 1'000'000;
  }

  void ReadPreemption(const JsonNode& node, SitePolicy* policy) {
    policy->preempt_after_us.reset();
    if (node.Is(JsonNode::Type::kNull)) return;
    static constexpr std::array<std::string_view, 1> kKeys = {"min_run_time"};
    if (!CheckKeys(node, "preemption", kKeys)) return;
    const JsonNode* least = node.Find("min_run_time");
    if (least == nullptr)
      return Refuse("preemption", node, "min_run_time, a time such as \"10min\", or null");
    const auto seconds = ReadTime(*least, "preemption.min_run_time", 1, "\"10min\"");
    if (seconds) policy->preempt_after_us = *seconds * 1'000'000;
  }

  void ReadRetention(const JsonNode& node, SitePolicy* policy) {
    static constexpr std::array<std::string_view, 2> kKeys = {"points_after", "logs_after"};
    if (!CheckKeys(node, "retention", kKeys)) return;
    const JsonNode *points = node.Find("points_after"), *logs = node.Find("logs_after");
    if (points == nullptr && logs == nullptr)
      return Refuse("retention", node,
                    "points_after or logs_after, a time such as \"90d\", or null");
    ReadAfter(points, "retention.points_after", &policy->points_after_us);
    ReadAfter(logs, "retention.logs_after", &policy->logs_after_us);
  }

  void ReadAfter(const JsonNode* after, const std::string& path, std::optional<int64_t>* value) {
    if (after == nullptr || after->Is(JsonNode::Type::kNull)) return;
    const auto seconds = ReadTime(*after, path, kLeastRetention, "\"90d\"");
    if (seconds) *value = *seconds * 1'000'000;
  }

  void ReadNumber(const JsonNode& node, const std::string& path, int64_t* value) {
    if (!IsWithin(node, 1, kMostOfAnything))
      return Refuse(path, node, "a whole number from 1 to 1000000");
    *value = node.integer;
  }

  static bool IsWithin(const JsonNode& node, int64_t least, int64_t most) {
    return node.Is(JsonNode::Type::kInteger) && node.integer >= least && node.integer <= most;
  }

  void ReadBound(const JsonNode& node, const std::string& path, std::optional<int64_t>* value) {
    value->reset();
    if (node.Is(JsonNode::Type::kNull)) return;
    if (!IsWithin(node, 1, kMostOfAnything))
      return Refuse(path, node, "a whole number from 1 to 1000000, or null for no bound");
    *value = node.integer;
  }

  std::optional<int64_t> ReadTime(const JsonNode& node, const std::string& path, int64_t least,
                                  const std::string& example) {
    const auto seconds = node.Is(JsonNode::Type::kString) ? base::ParseDuration(node.text)
                                                          : std::optional<int64_t>();
    if (seconds && *seconds >= least && *seconds <= kMostSeconds) return seconds;
    Refuse(path, node,
           "a time from " + base::SpellDuration(least) + " to 366d, such as " + example);
    return std::nullopt;
  }
};

}  // namespace

base::Result<SitePolicy> ReadSitePolicy(std::string_view text, const std::string& name) {
  job::JsonText json = job::ReadJson(text, {.max_bytes = kMaxPolicyBytes, .max_depth = 8});
  PolicyReader reader;
  reader.problems = std::move(json.problems);
  SitePolicy policy;
  if (json.root) policy = reader.Read(*json.root);
  if (reader.problems.empty()) return policy;
  return base::Error{base::Code::kInvalid, job::Format(reader.problems, name)};
}

}  // namespace trainctl::core

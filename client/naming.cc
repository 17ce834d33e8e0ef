#include "client/naming.h"

#include <algorithm>
#include <map>

#include "client/show/decoded.h"
#include "client/show/format.h"
#include "common/base/did_you_mean.h"
#include "common/base/ids.h"

namespace trainctl::client {
namespace {

constexpr size_t kMostListed = 8;

std::vector<Namesake> NewestFirst(const std::map<int64_t, Namesake>& by_number) {
  std::vector<Namesake> namesakes;
  for (auto at = by_number.rbegin(); at != by_number.rend(); ++at) namesakes.push_back(at->second);
  return namesakes;
}

// "did you mean 'first'?"; empty: the word is an id, or no name is near.
std::string NearestName(Context& context, const std::string& word) {
  const bool is_id = base::ParseJobId(word) || base::ParseGroupId(word);
  if (is_id || context.api == nullptr) return "";
  const base::Result<v1::ListResponse> response = context.api->List({});
  if (!response.ok()) return "";
  std::vector<std::string_view> names;
  for (const v1::JobView& view : response->jobs()) {
    names.push_back(view.name());
    if (!view.group_name().empty()) names.push_back(view.group_name());
  }
  return base::DidYouMean(word, names);
}

}  // namespace

std::vector<Namesake> FindNamesakes(Context& context, const std::string& word) {
  const bool is_id = base::ParseJobId(word) || base::ParseGroupId(word);
  if (word.empty() || is_id || context.api == nullptr) return {};
  v1::ListRequest request;
  request.add_names(word);
  const base::Result<v1::ListResponse> response = context.api->List(request);
  if (!response.ok()) return {};
  std::map<int64_t, Namesake> groups, jobs;
  for (const v1::JobView& view : response->jobs()) {
    const auto group = base::ParseGroupId(view.group());
    const auto job = base::ParseJobId(view.id());
    const bool ended = HasEnded(view);
    if (group && view.group_name() == word) {
      const auto [found, is_new] = groups.try_emplace(group->value, Namesake{view.group(), ended});
      if (!is_new) found->second.ended = found->second.ended && ended;
    }
    if (job && view.name() == word) jobs[job->value] = {view.id(), ended};
  }
  return NewestFirst(groups.empty() ? jobs : groups);
}

base::Error NoSuchJob(Context& context, const std::vector<std::string>& words) {
  const std::string hint = words.size() == 1 ? NearestName(context, words.front()) : "";
  return {base::Code::kNotFound, base::WithHint("no job or group '" + Join(words, "', '") + "'",
                                                hint, "trainctl status lists all")};
}

std::string NamesakesText(const std::string& word, const std::vector<Namesake>& namesakes) {
  std::vector<std::string> ids;
  for (const Namesake& namesake : namesakes) {
    ids.push_back(ids.size() == kMostListed ? "…" : namesake.id);
    if (ids.size() > kMostListed) break;
  }
  const bool one = namesakes.size() == 1;
  const std::string noun = base::ParseGroupId(namesakes.front().id) ? " group" : " job";
  return std::to_string(namesakes.size()) + noun + (one ? " has" : "s have") + " the name '" +
         word + "': " + Join(ids, ", ");
}

std::string SayMeant(Context& context, const std::string& word,
                     const std::vector<Namesake>& namesakes, const Namesake& meant) {
  context.err << "note: " << NamesakesText(word, namesakes) << "; this is " << meant.id
              << std::endl;
  return meant.id;
}

std::string NewestMeant(Context& context, const std::string& word) {
  const std::vector<Namesake> namesakes = FindNamesakes(context, word);
  if (namesakes.size() < 2) return word;
  return SayMeant(context, word, namesakes, namesakes.front());
}

std::vector<std::string> NewestMeant(Context& context, const std::vector<std::string>& words) {
  std::vector<std::string> meant;
  for (const std::string& word : words) meant.push_back(NewestMeant(context, word));
  return meant;
}

}  // namespace trainctl::client

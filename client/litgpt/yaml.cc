#include "client/litgpt/yaml.h"

#include <yaml-cpp/yaml.h>

#include <set>
#include <utility>

#include "client/show/output.h"

namespace trainctl::client {
namespace {

constexpr int kDeepest = 16;
constexpr size_t kMostSettings = 1000;

std::string PlaceOf(const std::string& source, const YAML::Mark& mark) {
  return source + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

class Flattener {
 public:
  explicit Flattener(const std::string& source) : source_(source) {}

  // Of a map; false: error() says why.
  bool Take(const YAML::Node& node, const std::string& prefix, int depth) {
    if (!node.IsMap())
      return Refuse(node, prefix.empty() ? "expected a map of settings, such as train:"
                                         : prefix + ": expected a map");
    if (depth > kDeepest)
      return Refuse(node, prefix + ": nested more than " + std::to_string(kDeepest) + " deep");
    std::set<std::string> seen;
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return Refuse(member.first, "expected a key");
      const std::string name = member.first.Scalar(),
                        key = prefix.empty() ? name : prefix + "." + name;
      if (!seen.insert(name).second)
        return Refuse(member.first, "the key '" + key + "' stands twice");
      if (!TakeMember(member.second, key, depth)) return false;
    }
    return true;
  }

  LitgptSettings TakeSettings() { return std::move(settings_); }
  const std::string& error() const { return error_; }

 private:
  bool TakeMember(const YAML::Node& value, const std::string& key, int depth) {
    if (settings_.size() == kMostSettings)
      return Refuse(value, "more than " + std::to_string(kMostSettings) + " settings");
    if (value.IsMap()) return Take(value, key, depth + 1);
    std::string text = "null";
    if (value.IsScalar()) text = value.Scalar();
    if (value.IsSequence()) {
      Json list = Json::array();
      for (const YAML::Node& item : value) {
        if (!item.IsScalar() || list.size() == kMostSettings)
          return Refuse(item, key + ": expected a short list of plain values");
        const Json number = Json::parse(item.Scalar(), nullptr, /*allow_exceptions=*/false);
        list.push_back(number.is_number() ? number : Json(item.Scalar()));
      }
      text = list.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    settings_.push_back({PlainLitgptKey(key), text, PlaceOf(source_, value.Mark())});
    return true;
  }

  bool Refuse(const YAML::Node& node, const std::string& what) {
    error_ = PlaceOf(source_, node.Mark()) + ": " + what;
    return false;
  }

  const std::string& source_;
  LitgptSettings settings_;
  std::string error_;
};

}  // namespace

base::Result<LitgptSettings> ReadLitgptYaml(std::string_view text, const std::string& source) {
  try {
    Flattener flattener(source);
    if (flattener.Take(YAML::Load(std::string(text)), "", 0)) return flattener.TakeSettings();
    return base::Error{base::Code::kInvalid, flattener.error()};
  } catch (const YAML::Exception& error) {
    return base::Error{base::Code::kInvalid,
                       PlaceOf(source, error.mark) + ": not valid YAML: " + error.msg};
  }
}

}  // namespace trainctl::client

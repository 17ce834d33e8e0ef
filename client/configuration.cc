#include "client/configuration.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/base/file.h"

namespace trainctl::client {
namespace {

using nlohmann::json;

constexpr size_t kMaxConfigurationBytes = 1 << 20;
constexpr unsigned kOwnerOnly = 0600;

base::Error Malformed(const std::string& path) {
  return {base::Code::kInvalid,
          path +
              ": expected a JSON object such as {\"server\": \"host:7070\"}, or with sites as "
              "trainctl context add writes them; correct or remove the file"};
}

base::Result<json> ReadDocument(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path, kMaxConfigurationBytes);
  if (!text.ok() && text.error().code == base::Code::kNotFound) return json::object();
  if (!text.ok()) return base::Error{base::Code::kInvalid, text.error().message};
  json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return Malformed(path);
  return document;
}

// false: it is there and no string.
bool ReadText(const json& object, const char* key, std::string* text) {
  const auto found = object.find(key);
  if (found == object.end()) return true;
  if (!found->is_string()) return false;
  *text = found->get<std::string>();
  return true;
}

bool ReadContext(const json& object, SiteContext* context) {
  return object.is_object() && ReadText(object, "address", &context->address) &&
         ReadText(object, "ca", &context->ca_file) &&
         ReadText(object, "token_file", &context->token_file);
}

base::Result<Configuration> Decode(const json& document, const std::string& path) {
  Configuration configuration;
  if (!ReadText(document, "server", &configuration.server) ||
      !ReadText(document, "context", &configuration.used))
    return Malformed(path);
  const auto contexts = document.find("contexts");
  if (contexts == document.end()) return configuration;
  if (!contexts->is_object()) return Malformed(path);
  for (const auto& [name, object] : contexts->items()) {
    if (!ReadContext(object, &configuration.contexts[name])) return Malformed(path);
  }
  return configuration;
}

void Encode(const Configuration& configuration, json* document) {
  json& all = (*document)["contexts"] = json::object();
  for (const auto& [name, context] : configuration.contexts) {
    all[name] = {
        {"address", context.address}, {"ca", context.ca_file}, {"token_file", context.token_file}};
  }
  document->erase("server");
  if (!configuration.server.empty()) (*document)["server"] = configuration.server;
  document->erase("context");
  if (!configuration.used.empty()) (*document)["context"] = configuration.used;
}

}  // namespace

base::Result<Configuration> ReadConfiguration(const std::string& path) {
  const auto document = ReadDocument(path);
  if (!document.ok()) return document.error();
  return Decode(*document, path);
}

base::Status ChangeConfiguration(const std::string& path,
                                 const std::function<base::Status(Configuration&)>& change) {
  if (path.empty()) {
    return base::Error{base::Code::kInvalid,
                       "there is no place for a configuration: HOME and XDG_CONFIG_HOME are not "
                       "set"};
  }
  auto document = ReadDocument(path);
  if (!document.ok()) return document.error();
  auto configuration = Decode(*document, path);
  if (!configuration.ok()) return configuration.error();
  base::Status changed = change(*configuration);
  if (!changed.ok()) return changed;
  Encode(*configuration, &*document);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::string text = document->dump(2, ' ', false, json::error_handler_t::replace);
  return base::WriteFileAtomically(path, text + "\n", kOwnerOnly);
}

}  // namespace trainctl::client

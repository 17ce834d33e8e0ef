// The published JSON Schema, made from the table that reads the files. A lab's settings are the
// job's without required keys; its "set" may use dotted keys too.
#include "common/job/job_json.h"
#include "common/job/schema.h"
#include "common/json/write_json.h"

namespace trainctl::job {
namespace {

JsonNode Object() { return JsonNode::Object(); }

JsonNode Ref(const std::string& definition) {
  return Object().Add("$ref", "#/$defs/" + definition);
}

JsonNode Closed(JsonNode properties) {
  return Object()
      .Add("type", "object")
      .Add("additionalProperties", false)
      .Add("properties", std::move(properties));
}

JsonNode FieldSchema(const Field& field) {
  JsonNode schema = field.schema;
  schema.Add("description", field.doc);
  if (std::optional<JsonNode> value = DefaultOf(field)) schema.Add("default", *std::move(value));
  return schema;
}

JsonNode SectionSchema(const Section& section) {
  JsonNode properties = Object();
  for (const Field& field : Fields()) {
    if (SectionOf(field.key) == &section)
      properties.Add(std::string(LastPart(field.key)), FieldSchema(field));
  }
  JsonNode schema = Closed(std::move(properties)).Add("description", section.doc);
  if (!section.nullable()) return schema;
  return Object().Add(
      "anyOf",
      JsonNode::Array().Append(std::move(schema)).Append(Object().Add("const", JsonNode())));
}

// Every key of a job, none required.
JsonNode SettingsProperties() {
  JsonNode properties = Object().Add("$schema", Object().Add("type", "string"));
  for (const Field& field : Fields()) {
    const Section* section = SectionOf(field.key);
    if (section == nullptr)
      properties.Add(field.key, FieldSchema(field));
    else if (properties.Find(section->key) == nullptr)
      properties.Add(section->key, SectionSchema(*section));
  }
  return properties;
}

JsonNode SetProperties() {
  JsonNode properties = SettingsProperties();
  for (const Field& field : Fields()) {
    if (SectionOf(field.key) != nullptr) properties.Add(field.key, field.schema);
  }
  return properties;
}

// Keys such as tags.lab, which name one entry of a map.
JsonNode SetSchema() {
  JsonNode patterns = Object();
  for (const Field& field : Fields()) {
    if (field.is_map) patterns.Add("^" + field.key + "\\..+$", Object().Add("type", "string"));
  }
  return Closed(SetProperties()).Add("patternProperties", std::move(patterns));
}

JsonNode RequiredWithin(const Section* section) {
  JsonNode names = JsonNode::Array();
  for (const Field& field : Fields()) {
    if (field.required && SectionOf(field.key) == section)
      names.Append(std::string(LastPart(field.key)));
  }
  return names;
}

JsonNode JobSchema() {
  JsonNode names = RequiredWithin(nullptr), properties = Object();
  for (const Section& section : Sections()) {
    JsonNode within = RequiredWithin(&section);
    if (within.items.empty()) continue;
    names.Append(section.key);
    properties.Add(section.key, Object().Add("required", std::move(within)));
  }
  return Ref("settings").Add("required", std::move(names)).Add("properties", std::move(properties));
}

JsonNode LabSchema() {
  JsonNode experiment = Object();
  experiment.Add("name", FindField("name")->schema)
      .Add("set", Ref("set"))
      .Add("expect", FindField("expect")->schema);
  JsonNode list = Object().Add("type", "array").Add("minItems", int64_t{1});
  list.Add("items",
           Closed(std::move(experiment)).Add("required", JsonNode::Array().Append("name")));
  JsonNode properties = Object().Add("$schema", Object().Add("type", "string"));
  properties.Add("title", FindField("notes")->schema);
  properties.Add("base", Ref("settings")).Add("experiments", std::move(list));
  return Closed(std::move(properties))
      .Add("required", JsonNode::Array().Append("base").Append("experiments"));
}

}  // namespace

std::string JsonSchema() {
  JsonNode definitions = Object();
  definitions.Add("job", JobSchema())
      .Add("lab", LabSchema())
      .Add("settings", Closed(SettingsProperties()))
      .Add("set", SetSchema());
  JsonNode is_lab = Object().Add(
      "anyOf", JsonNode::Array()
                   .Append(Object().Add("required", JsonNode::Array().Append("experiments")))
                   .Append(Object().Add("required", JsonNode::Array().Append("base"))));
  JsonNode schema = Object();
  schema.Add("$schema", "https://json-schema.org/draft/2020-12/schema")
      .Add("title", "trainctl job or lab file");
  schema.Add("type", "object")
      .Add("if", std::move(is_lab))
      .Add("then", Ref("lab"))
      .Add("else", Ref("job"));
  schema.Add("$defs", std::move(definitions));
  return WriteIndentedJson(schema);
}

}  // namespace trainctl::job

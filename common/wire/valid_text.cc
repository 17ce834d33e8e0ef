#include "common/wire/valid_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "common/base/utf8.h"

namespace trainctl::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsValid(const std::string& text) { return !base::FindInvalidUtf8(text); }

std::string Valid(std::string text) {
  base::ReplaceInvalidUtf8(&text);
  return text;
}

void MakeStringsValid(const Reflection& reflection, const FieldDescriptor* field,
                      Message* message) {
  std::string scratch;
  if (!field->is_repeated()) {
    const std::string& text = reflection.GetStringReference(*message, field, &scratch);
    if (!IsValid(text)) reflection.SetString(message, field, Valid(text));
    return;
  }
  for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
    const std::string& text = reflection.GetRepeatedStringReference(*message, field, i, &scratch);
    if (!IsValid(text)) reflection.SetRepeatedString(message, field, i, Valid(text));
  }
}

void MakeMessagesValid(const Reflection& reflection, const FieldDescriptor* field,
                       Message* message) {
  if (!field->is_repeated()) return MakeTextValid(reflection.MutableMessage(message, field));
  for (int i = 0; i < reflection.FieldSize(*message, field); ++i)
    MakeTextValid(reflection.MutableRepeatedMessage(message, field, i));
}

}  // namespace

void MakeTextValid(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;  // those that are set
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_map()) continue;
    if (field->type() == FieldDescriptor::TYPE_STRING) MakeStringsValid(reflection, field, message);
    if (field->type() == FieldDescriptor::TYPE_MESSAGE)
      MakeMessagesValid(reflection, field, message);
  }
}

}  // namespace trainctl::wire

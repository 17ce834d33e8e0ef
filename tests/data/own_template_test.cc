#include "worker/rank/data/own_template.h"

#include <gtest/gtest.h>

#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

using job::ChatTemplate;

const BoundaryTexts kTexts = {"<s>", "</s>"};

std::string Rendered(const ChatForm& form, const std::vector<Message>& messages) {
  std::string text;
  const auto parts = RenderChat(form, messages);
  if (!parts) return parts.error().message;
  for (const ChatPart& part : *parts) text += part.text;
  return text;
}

const std::vector<Message> kTalk = {{Role::kUser, "Hi"}, {Role::kAssistant, "Ho"}};
const std::vector<Message> kTold = {
    {Role::kSystem, "Sys"}, {Role::kUser, "Hi"}, {Role::kAssistant, "Ho"}};

constexpr char kTurn[] =
    R"({{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}})";
constexpr char kAsksForAnswer[] =
    R"({% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})";
const std::string kImStart =
    std::string("{% for message in messages %}") + kTurn + "{% endfor %}" + kAsksForAnswer;
const std::string kSmolLm2 =
    std::string(
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system'") +
    R"( %}{{ '<|im_start|>system\nYou are "SmolLM", a + b.<|im_end|>\n' }}{% endif %})" + kTurn +
    "{% endfor %}" + kAsksForAnswer;
constexpr char kQwen25[] =
    R"({%- if tools %}
    {{- '<|im_start|>system\n' }}
    {{- "\n\n# Tools\n\n{\"name\": <function-name>}}\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>system\nYou are Qwen, created by )"
    R"(Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or )"
    R"((message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
    {%- elif message.role == "tool" %}
        {{- '\n<tool_response>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
)";
constexpr char kQwen3[] =
    R"({%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if loop.index0 > ns.last_query_index %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + )"
    R"('\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
)";
constexpr char kLlama3[] =
    R"({% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ )"
    R"(message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %})"
    R"({% set content = bos_token + content %}{% endif %}{{ content }})";
constexpr char kMistralV3[] =
    R"({{- bos_token }}{%- if loop.last and system_message is defined %}
       {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}{%- endif %}
       {{- " " + message["content"]|trim + eos_token}})";
constexpr char kMistralV1[] =
    R"({{ bos_token }}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' )"
    R"([/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}})"
    "{% endif %}";
constexpr char kZephyr[] = R"({% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %})";

TEST(OwnTemplate, ImStartIsChatmlWithItsDefaultSystem) {
  const auto plain = RecognizeTemplate(kImStart, kTexts);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->name, ChatTemplate::kChatml);
  EXPECT_EQ(Rendered(*plain, kTalk),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n");
  const auto qwen = RecognizeTemplate(kQwen25, kTexts);
  ASSERT_TRUE(qwen);
  EXPECT_EQ(qwen->name, ChatTemplate::kQwen);
  EXPECT_EQ(qwen->thoughts, ThoughtPlace::kNowhere);
  EXPECT_EQ(qwen->default_system, NamedChatForm(ChatTemplate::kQwen, kTexts).default_system);
  EXPECT_EQ(Rendered(*qwen, kTold),
            "<|im_start|>system\nSys<|im_end|>\n" + Rendered(*plain, kTalk));
}

TEST(OwnTemplate, ADefaultSystemIsWordForWordTheTemplates) {
  const auto smol = RecognizeTemplate(kSmolLm2, kTexts);
  ASSERT_TRUE(smol);
  EXPECT_EQ(smol->name, ChatTemplate::kChatml);
  EXPECT_EQ(smol->default_system, "You are \"SmolLM\", a + b.");
}

TEST(OwnTemplate, TrimsAllThatPythonsStripDoes) {
  const ChatForm form = NamedChatForm(ChatTemplate::kLlama3, kTexts);
  const auto answer = [&](const std::string& content) {
    return Rendered(form, {{Role::kAssistant, content}});
  };
  for (const char* space : {"\x1c", "\x1f", "\u0085", "\u00a0", "\u1680", "\u2000", "\u200a",
                            "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\v \u3000\n"}) {
    const std::string one = space;
    EXPECT_EQ(answer(one + "a" + one + "b" + one), answer("a" + one + "b")) << one;
    EXPECT_EQ(answer(one + one), answer(""));
  }
  for (const std::string word : {"\u200b", "\u2060", "\ufeff", "\u180e"})
    EXPECT_NE(answer(word), answer("")) << word;  // no white space to Python
}

TEST(OwnTemplate, Qwen3Thinks) {
  const auto form = RecognizeTemplate(kQwen3, kTexts);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->name, ChatTemplate::kQwen);
  EXPECT_EQ(form->thoughts, ThoughtPlace::kLastAnswers);
  EXPECT_FALSE(form->default_system);
}

const std::string kFirstSystem =
    R"({%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %})";
// As Qwen 3's of July 2025: a turn's content is taken out first, and an answer is written in parts.
const std::string kInParts = kFirstSystem +
                             R"({%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- if message.tool_calls %}
            {{- '<tool_call>' }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {{- content }}
    {%- endif %}
{%- endfor %}
)";
// As those that trl trains Qwen 2.5 and 3 with.
const std::string kMarked = kFirstSystem +
                            R"({%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>assistant' }}
        {%- generation %}
        {%- if not message.tool_calls %}
            {{- '\n' + message.content + '<|im_end|>\n' }}
        {%- else %}
            {{- '\n' + message.content }}
        {%- endif %}
        {%- endgeneration %}
    {%- endif %}
{%- endfor %}
)";
const std::string kAlwaysThinks = kFirstSystem +
                                  R"({%- for message in messages %}
    {%- set content = message.content %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {{- '<|im_start|>' + message.role + '\n' }}
        {%- generation %}
        {{- '<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + )"
                                  R"(content.lstrip('\n') }}
        {{- '<|im_end|>\n' }}
        {%- endgeneration %}
    {%- endif %}
{%- endfor %}
)";

TEST(OwnTemplate, ATurnMayBeWrittenInParts) {
  const std::string told = Rendered(*RecognizeTemplate(kImStart, kTexts), kTold);
  for (const std::string& jinja : {kInParts, kMarked}) {
    const auto form = RecognizeTemplate(jinja, kTexts);
    ASSERT_TRUE(form) << jinja;
    EXPECT_EQ(form->name, ChatTemplate::kChatml);
    EXPECT_EQ(Rendered(*form, kTold), told);
  }
}

std::string With(std::string jinja, const std::string& part, const std::string& other) {
  return jinja.replace(jinja.find(part), part.size(), other);
}

TEST(OwnTemplate, PartsOfATurnAreAllKnown) {
  for (const std::string& jinja :
       {With(kInParts, "system\\n", "model\\n"), With(kMarked, kFirstSystem, ""),
        With(kInParts, "set content = ''", "set content = '-'"),
        With(kInParts, "set content = message.content", "set content = ''"),
        With(kInParts, "message.content is string", "message.role == \"assistant\""),
        With(kInParts, "{{- '<|im_end|>\\n' }}", ""),
        With(kInParts, "{%- elif message.role == \"assistant\" %}", "{%- elif false %}"),
        With(kMarked, "'<|im_start|>assistant'", "'<|im_start|>model'"),
        With(kMarked, "not message.tool_calls", "message.final"),
        With(kAlwaysThinks, "{%- generation %}", "{%- if loop.last %}"),
        With(kAlwaysThinks, "+ '\\n</think>\\n\\n'", "")}) {
    EXPECT_FALSE(RecognizeTemplate(jinja, kTexts)) << jinja;
  }
}

TEST(OwnTemplate, EveryAnswerMayShowItsThoughts) {
  const auto form = RecognizeTemplate(kAlwaysThinks, kTexts);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->thoughts, ThoughtPlace::kEveryAnswer);
  EXPECT_EQ(Rendered(*form, {{Role::kUser, "a"},
                             {Role::kAssistant, "<think>\nx\n</think>\n\nb"},
                             {Role::kUser, "c"},
                             {Role::kAssistant, "d"}}),
            "<|im_start|>user\na<|im_end|>\n"
            "<|im_start|>assistant\n<think>\nx\n</think>\n\nb<|im_end|>\n"
            "<|im_start|>user\nc<|im_end|>\n"
            "<|im_start|>assistant\n<think>\n\n</think>\n\nd<|im_end|>\n");
}

TEST(OwnTemplate, ZephyrEndsItsTurnsWithALine) {
  const auto form = RecognizeTemplate(kZephyr, kTexts);
  ASSERT_TRUE(form);
  EXPECT_EQ(Rendered(*form, kTalk), "<|user|>\nHi</s>\n<|assistant|>\nHo</s>\n");
}

// Each trains other tokens than the built-in form that it looks like.
TEST(OwnTemplate, WhatStandsAroundTheTurnsTells) {
  const std::string turn = kTurn, loop = "{% for message in messages %}" + turn + "{% endfor %}";
  const std::string default_system =
      "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set "
      "system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
      "{% set system_message = 'You are helpful.' %}{% endif %}";
  ASSERT_TRUE(RecognizeTemplate(loop, kTexts));
  for (const std::string& jinja :
       {"{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ bos_token + '<|im_start|>system\\nYou are Hermes.<|im_end|>\\n' }}{% endif %}" +
            turn + "{% endfor %}",
        loop + "{{ eos_token }}", loop + "\n\nEnd",
        "{% for message in messages %}" + turn + "\n{% endfor %}",
        "{% for message in messages[1:] %}" + turn + "{% endfor %}",
        "{% for message in messages %}{% if message['role'] != 'system' %}" + turn +
            "{% endif %}{% endfor %}",
        default_system +
            "{{ '<|im_start|>system\\n' + system_message + '<|im_end|>\\n' }}"
            "{% for message in loop_messages %}" +
            turn + "{% endfor %}",
        default_system + kLlama3, kLlama3 + std::string("{{ eos_token }}"),
        R"({{ '<|start_header_id|>system<|end_header_id|>\n\nYou are Hermes.<|eot_id|>' }})" +
            std::string(kLlama3),
        R"({{ '<|start_header_id|>system<|end_header_id|>\n\n' }}{{ 'Help.' }})" +
            std::string(kLlama3),
        R"({{ '[INST] Help. [/INST]' }})" + std::string(kMistralV1),
        R"({{ '<|system|>\nYou are Hermes.' + eos_token }})" + std::string(kZephyr),
        default_system + kMistralV3, kMistralV1 + std::string("{{ eos_token }}"),
        "{% if true %}" + std::string(kMistralV1), kZephyr + std::string("{{ eos_token }}")}) {
    EXPECT_FALSE(RecognizeTemplate(jinja, kTexts)) << jinja;
  }
}

TEST(OwnTemplate, MistralsSpacesAreTheTemplates) {
  const auto v3 = RecognizeTemplate(kMistralV3, kTexts);
  ASSERT_TRUE(v3);
  EXPECT_EQ(Rendered(*v3, kTalk), "<s>[INST] Hi[/INST] Ho</s>");
  EXPECT_EQ(Rendered(*v3, kTold), "<s>[INST] Sys\n\nHi[/INST] Ho</s>");
  EXPECT_EQ(Rendered(NamedChatForm(ChatTemplate::kMistral, kTexts), kTold), Rendered(*v3, kTold));
  const auto v1 = RecognizeTemplate(kMistralV1, kTexts);
  ASSERT_TRUE(v1);
  EXPECT_EQ(Rendered(*v1, kTalk), "<s>[INST] Hi [/INST]Ho</s>");
  EXPECT_EQ(Rendered(*v1, kTold), "[0]: a system turn, which the tokenizer's own template refuses");
}

TEST(OwnTemplate, MistralsTurnsAlternate) {
  const ChatForm form = NamedChatForm(ChatTemplate::kMistral, kTexts);
  const std::string rule = ": they alternate in the template mistral, the user first";
  EXPECT_EQ(Rendered(form, {{Role::kUser, "a"}, {Role::kUser, "b"}}),
            "[1]: expected the assistant's turn" + rule);
  EXPECT_EQ(Rendered(form, {{Role::kSystem, "s"}, {Role::kAssistant, "b"}, {Role::kUser, "c"}}),
            "[1]: expected the user's turn" + rule);
  EXPECT_EQ(Rendered(form, {{Role::kSystem, "s"}, {Role::kAssistant, "b"}}),
            "[0]: a system turn, and no user's that could hold it");
}

TEST(OwnTemplate, Llama3TrimsAndBeginsOnce) {
  const auto form = RecognizeTemplate(kLlama3, kTexts);
  ASSERT_TRUE(form);
  EXPECT_EQ(Rendered(*form, {{Role::kUser, " Hi\n"}}),
            "<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>");
}

TEST(OwnTemplate, ImStartMayBeginWithBos) {
  for (const std::string& jinja : {"{{bos_token}}" + kImStart, "{{- bos_token }}" + kSmolLm2,
                                   "{{ bos_token }}" + std::string(kQwen3)}) {
    const auto form = RecognizeTemplate(jinja, kTexts);
    ASSERT_TRUE(form) << jinja;
    EXPECT_TRUE(Rendered(*form, kTold).starts_with("<s><|im_start|>system\nSys<|im_end|>\n"));
    EXPECT_EQ(RenderChat(*form, kTold)->at(0).special, true);
    const auto without = RecognizeTemplate(jinja, {"", "</s>"});  // Jinja writes nothing then
    EXPECT_TRUE(Rendered(*without, kTold).starts_with("<|im_start|>"));
  }
  for (const std::string condition : {"messages[0]['role'] == 'system'", "true"}) {
    EXPECT_FALSE(RecognizeTemplate(
        "{% if " + condition + " %}{{ bos_token }}{% endif %}" + kImStart, kTexts));
  }
}

TEST(OwnTemplate, WhereMistralsV3PutsASystemTurnIsTold) {
  const std::string last = NamedChatForm(ChatTemplate::kMistral, kTexts).note;
  EXPECT_NE(last.find("leaves it out"), std::string::npos);
  EXPECT_EQ(RecognizeTemplate(kMistralV3, kTexts)->note, last);
  EXPECT_EQ(RecognizeTemplate(kMistralV1, kTexts)->note, "");
}

TEST(OwnTemplate, ADateThatItWritesIsTold) {
  const auto note = [](const std::string& set_date) {
    const auto form = RecognizeTemplate(kLlama3 + set_date +
                                            R"({{- "Cutting Knowledge Date: December 2023\n" }})"
                                            R"({{- "Today Date: " + date_string + "\n\n" }})",
                                        kTexts);
    return form ? form->note : "none of them";
  };
  const std::string always = R"({%- set date_string = "26 Jul 2024" %})";
  const std::string fixed = "the chat template writes 'Today Date: 26 Jul 2024' in each row";
  EXPECT_EQ(note(always), fixed);                        // Llama 3.1
  EXPECT_EQ(note(R"({%- if strftime_now is defined %})"  // Llama 3.2
                 R"({%- set date_string = strftime_now("%d %b %Y") %}{%- else %})" +
                 always + "{%- endif %}"),
            fixed + "; transformers would write today's date");
  EXPECT_EQ(RecognizeTemplate(kLlama3, kTexts)->note, "");
}

TEST(OwnTemplate, WhatDoesMoreIsNoneOfThem) {
  const std::string im_start = kImStart, llama3 = kLlama3, mistral = kMistralV1;
  for (const std::string& jinja :
       {std::string("{{ messages }}"), im_start + "<think>", im_start + "<|im_sep|>",
        std::string("'<|im_start|>' + message['role'] + message['content'] | trim"),
        llama3 + "Cutting Knowledge Date: May 2025", mistral + "<<SYS>>",
        mistral + "[SYSTEM_PROMPT]", std::string("<|user|>\n{{ content }}<|end|>"),
        std::string("### Instruction:\n ### Response:\n <|EOT|>")}) {
    EXPECT_FALSE(RecognizeTemplate(jinja, kTexts)) << jinja;
  }
}

TEST(OwnTemplate, TheFileStandsBeforeTheConfiguration) {
  const ScratchDirectory scratch;
  EXPECT_FALSE(ReadOwnTemplate(scratch.path()).value());
  scratch.Write("tokenizer_config.json", R"({"chat_template": "one"})");
  EXPECT_EQ(ReadOwnTemplate(scratch.path()).value(), "one");
  scratch.Write("tokenizer_config.json", R"({"chat_template": [
      {"name": "tool_use", "template": "tools"}, {"name": "default", "template": "two"}]})");
  EXPECT_EQ(ReadOwnTemplate(scratch.path()).value(), "two");
  scratch.Write("chat_template.jinja", "three");
  EXPECT_EQ(ReadOwnTemplate(scratch.path()).value(), "three");
}

TEST(OwnTemplate, ABrokenConfigurationIsNamed) {
  const ScratchDirectory scratch;
  scratch.Write("tokenizer_config.json", R"({"chat_template": 7})");
  EXPECT_EQ(ReadOwnTemplate(scratch.path()).error().message,
            scratch.path() + "/tokenizer_config.json: chat_template: 7: expected a string");
}

}  // namespace
}  // namespace trainctl::data

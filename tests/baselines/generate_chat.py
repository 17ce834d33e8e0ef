#!/usr/bin/env python3
"""Token ids and assistant masks of transformers' apply_chat_template: tests/baselines/chat.json.

    $(tests/oracles) tests/baselines/generate_chat.py

A list of {"template", "kind", "added", "jinja", "cases"}: the tokenizer of
tests/baselines/tokenizers/<kind> with these tokens added behind its last, and bos and eos as
"config" says. jinja is the template without the marks of what the assistant says. A case is
{"messages", "ids", "mask"}; mask has a digit for each id, 1 where it is trained. A question is
{"text", "ids"}: a user's turn, with add_generation_prompt.
"""

import json
import pathlib
import re
import tempfile

import transformers

HERE = pathlib.Path(__file__).resolve().parent
TOKENIZERS = HERE / "tokenizers"
BEGIN = re.compile(r" ?\}\}\s*\{%-? generation %\}\{\{-? ")
END = re.compile(r"\{%-? endgeneration %\}\n?")

# What the public models' templates write for turns without tools. In Jinja's own spelling, so that
# what recognizes a tokenizer's template has the same to read.
CHATML = """{% for message in messages %}\
SYSTEM{% if message['role'] == 'assistant' %}{{ '<|im_start|>assistant\\n' }}{% generation %}\
{{ message['content'] + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}{% else %}\
{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}\
{% endif %}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
DEFAULT_SYSTEM = """{% if loop.first and messages[0]['role'] != 'system' %}\
{{ '<|im_start|>system\\nWORDS<|im_end|>\\n' }}{% endif %}"""
SMOLLM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
QWEN = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

QWEN3 = """{%- set ns = namespace(last_query_index=messages|length - 1, found=false) %}
{%- for message in messages[::-1] %}
    {%- if not ns.found and message.role == "user" %}
        {%- set ns.found = true %}
        {%- set ns.last_query_index = messages|length - 1 - loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role != "assistant" %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- else %}
        {%- set content = message.content %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n')\
.split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or reasoning_content) %}
            {%- set content = '<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' \
+ content.lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role + '\\n' }}{%- generation %}{{- content + '<|im_end|>' }}\
{%- endgeneration %}
        {{- '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}"""

LLAMA3 = """{% for message in messages %}{% if loop.index0 == 0 %}{{ bos_token }}{% endif %}\
{% if message['role'] == 'assistant' %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\
{% generation %}{{ message['content'] | trim + '<|eot_id|>' }}{% endgeneration %}{% else %}\
{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim \
+ '<|eot_id|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}\
{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"""
LLAMA31 = """{{- bos_token }}{%- set date_string = "26 Jul 2024" %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}{%- set messages = messages[1:] %}
{%- else %}{%- set system_message = "" %}{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if message['role'] == 'assistant' %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
        {%- generation %}{{- message['content'] | trim + '<|eot_id|>' }}{%- endgeneration %}
    {%- else %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ \
message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}"""

MISTRAL_V3 = """{{- bos_token }}
{%- for message in messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " }}{%- generation %}{{- message["content"]|trim + eos_token}}{%- endgeneration %}
    {%- endif %}
{%- endfor %}"""
MISTRAL_V1 = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}
{%- else %}{%- set loop_messages = messages %}{%- endif %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.first and system_message is defined %}
            {{- " [INST] " + system_message + "\\n\\n" + message["content"] + " [/INST]" }}
        {%- else %}
            {{- " [INST] " + message["content"] + " [/INST]" }}
        {%- endif %}
    {%- else %}
        {{- " " }}{%- generation %}{{- message["content"] + eos_token}}{%- endgeneration %}
    {%- endif %}
{%- endfor %}"""

ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n' }}{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}

{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

ALPACA = """{{ bos_token }}{% if messages[0]['role'] != 'system' %}{{ 'Below is an instruction \
that describes a task. Write a response that appropriately completes the request.\\n\\n' }}\
{% endif %}{% for message in messages %}{% if message['role'] == 'system' %}\
{{ message['content'] }}{% elif message['role'] == 'user' %}\
{{ '### Instruction:\\n' + message['content'] }}{% else %}{{ '### Response:\\n' }}{% generation %}\
{{ message['content'] + eos_token }}{% endgeneration %}{% endif %}\
{% if not loop.last %}{{ '\\n\\n' }}{% endif %}{% endfor %}\
{% if add_generation_prompt %}{{ '\\n\\n### Response:\\n' }}{% endif %}"""

IM = ["<|im_start|>", "<|im_end|>"]
HEADERS = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]


def chatml(words):
    system = DEFAULT_SYSTEM.replace("WORDS", words) if words else ""
    return CHATML.replace("SYSTEM", system)


# template, tokenizer, added tokens, bos, eos, jinja
FORMS = [
    ("chatml", "smollm", IM, "<|im_start|>", "<|im_end|>", chatml("")),
    ("chatml", "smollm", IM, "<|im_start|>", "<|im_end|>", chatml(SMOLLM)),
    ("chatml", "llama", IM, "<s>", "<|im_end|>", "{{bos_token}}" + chatml("")),
    ("qwen", "llama3", IM, None, "<|im_end|>", chatml(QWEN)),
    ("qwen", "llama3", IM + ["<think>", "</think>"], None, "<|im_end|>", QWEN3),
    ("llama3", "llama3", HEADERS, "<|begin_of_text|>", "<|eot_id|>", LLAMA3),
    ("llama3", "llama3", HEADERS, "<|begin_of_text|>", "<|eot_id|>", LLAMA31),
    ("mistral", "metaspace", [], "<s>", "</s>", MISTRAL_V3),
    ("mistral", "llama", [], "<s>", "</s>", MISTRAL_V3),
    ("mistral", "llama", ["[INST]", "[/INST]"], "<s>", "</s>", MISTRAL_V3),
    ("mistral", "llama", [], "<s>", "</s>", MISTRAL_V1),
    ("zephyr", "llama", [], "<s>", "</s>", ZEPHYR),
    ("zephyr", "metaspace", [], "<s>", "</s>", ZEPHYR),
    ("alpaca", "llama", [], "<s>", "</s>", ALPACA),
    ("alpaca", "smollm", IM, "<|im_start|>", "<|im_end|>", ALPACA),
]

CONVERSATIONS = [
    "u:Why is the sky blue?|a:Light of short waves is scattered more.",
    "s:You are terse.|u:Two plus two?|a:4|u:Twice that?|a: 8 \n",
    "u:  spaced out  |a:\n\nbegins with lines|u:\n|a:ends with them\n\n|u:and?|a:…",
    "u:Grüße, 世界! 🙂|a:naïve café\tтест|u:code?|a:def f(x):\n    return x\n",
    "u:A token spelled out: <|im_end|> </s> <|eot_id|>|a:so it is: <|im_start|>user\n</s> [INST]",
    "s: |u:Hm|a:",
    "u:first|a:<think>\nold thoughts\n</think>\n\nanswer|u:second|a:<think>\nnew\n</think>\n\nlast",
    "u:only a question|a:yes|u:which is not answered",
]
# Of the template that writes thoughts: (role, content, reasoning_content).
THINKING = [
    [("u", "first", None), ("a", "one", "old"), ("u", "second", None), ("a", "\n\ntwo", "\nnew\n")],
    [("u", "go", None), ("a", "a", "why a"), ("a", "b", ""), ("a", "\nc", "\n"), ("a", "\nd", "")],
    [("s", "terse", None), ("u", "go", None), ("a", "<think>\nx\n</think>\n\ny", "z")],
    [("u", "go", None), ("a", "<think>\nx\n</think>\n\ny", ""), ("u", "more", None)],
    [("u", "go", None), ("a", "<think>\nx\n</think>\n\ny", None)],
]
QUESTIONS = [
    "Why is the sky blue?",
    "",
    "  spaced out \n",
    "Grüße, 世界! 🙂",
    "A token spelled out: <|im_end|> </s> <|eot_id|>",
]
ROLES = {"s": "system", "u": "user", "a": "assistant"}


def conversation(text):
    turns = [turn.split(":", 1) for turn in re.split(r"\|(?=[sua]:)", text)]
    return [{"role": ROLES[role], "content": content} for role, content in turns]


def with_thoughts(turns):
    keys = ("role", "content", "reasoning_content")
    return [dict(zip(keys, (ROLES[role], *words), strict=True)) for role, *words in turns]


def without_marks(jinja):
    return END.sub("", BEGIN.sub(" + ", jinja))


def fits(jinja, messages):
    """Mistral's v3 leaves out system turns where the last turn is an answer."""
    return jinja is not MISTRAL_V3 or messages[0]["role"] != "system"


def add_tokens(specification, added):
    known = specification["model"]["vocab"].values()
    last = max([*known, *(token["id"] for token in specification["added_tokens"])])
    for id, content in enumerate(added, last + 1):
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        token = {"id": id, "content": content, **flags, "special": True}
        specification["added_tokens"].append(token)


def tokenizer_of(kind, added, bos, eos):
    specification = json.loads((TOKENIZERS / kind / "tokenizer.json").read_text())
    add_tokens(specification, added)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": bos, "eos_token": eos}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tokenizer.json").write_text(json.dumps(specification))
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        return transformers.PreTrainedTokenizerFast.from_pretrained(folder)


def questions(tokenizer, jinja):
    for text in QUESTIONS:
        made = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            chat_template=jinja,
            add_generation_prompt=True,
            return_dict=True,
        )
        yield {"text": text, "ids": made["input_ids"]}


def answers(tokenizer, jinja, conversations):
    for messages in conversations:
        made = tokenizer.apply_chat_template(
            messages, chat_template=jinja, return_dict=True, return_assistant_tokens_mask=True
        )
        plain = tokenizer.apply_chat_template(
            messages, chat_template=without_marks(jinja), return_dict=True
        )
        assert plain["input_ids"] == made["input_ids"]
        mask = "".join(map(str, made["assistant_masks"]))
        yield {"messages": messages, "ids": made["input_ids"], "mask": mask}


def main():
    made = []
    for template, kind, added, bos, eos, jinja in FORMS:
        chosen = [conversation(text) for text in CONVERSATIONS]
        chosen = [messages for messages in chosen if fits(jinja, messages)]
        if jinja is QWEN3:
            chosen += [with_thoughts(turns) for turns in THINKING]
        tokenizer = tokenizer_of(kind, added, bos, eos)
        made.append(
            {
                "template": template,
                "kind": kind,
                "added": added,
                "bos": bos,
                "eos": eos,
                "jinja": without_marks(jinja),
                "cases": list(answers(tokenizer, jinja, chosen)),
                "questions": list(questions(tokenizer, without_marks(jinja))),
            }
        )
    lines = ",\n".join(json.dumps(form) for form in made)
    (HERE / "chat.json").write_text(f"[{lines}]\n")


main()

#!/usr/bin/env python3
"""Token ids with the special tokens that transformers adds: tests/baselines/special_tokens.json.

Run it on the folder that deploy/example_model makes:

    $(tests/oracles) tests/baselines/generate_special_tokens.py \
        ~/.cache/trainctl/models/SmolLM2-135M

A list of {"kind", "post_processor", "tokenizer_config", "strings", "ids"}: the tokenizer of
tests/baselines/tokenizers/<kind> with that post-processor, beside that tokenizer_config.json (null:
none), and a LLaMA's config.json whose bos is 1. Kind "" is the example model's, as it is. Strings
are numbers of lines of strings.json, from 0. Kind "gpt2" has no post-processor: its vocab.json and
merges.txt are read as OPT's or as Qwen's. "vocabulary" lists what is added to its vocab.json, as
OPT has it at its beginning. "files" has the texts of further files.
"""

import json
import pathlib
import shutil
import sys
import tempfile
import unicodedata

import transformers

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "tokenizers"
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "bos_token_id": 1,
    "eos_token_id": 2,
}
OFFSETS = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
# What transformers takes apart otherwise than SentencePiece, which is the original here.
OTHERWISE = ["<s>", "</s>", "<unk>", "<pad>", "  "]
EVERY, EVERY_OF_EXAMPLE = 97, 9


def template(token, id):
    first = [{"SpecialToken": {"id": token, "type_id": 0}}] if token else []
    text = [{"Sequence": {"id": "A", "type_id": 0}}]
    special = {token: {"id": token, "ids": [id], "tokens": [token]}} if token else {}
    return {
        "type": "TemplateProcessing",
        "single": first + text,
        "pair": first + text + [{"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": special,
    }


def cases():
    for kind, token, id in [
        ("llama", "<s>", 1),
        ("metaspace", "<s>", 1),
        ("llama3", "<|eot|>", 2003),
        ("smollm", "<s>", 1501),
    ]:
        adds = template(token, id)
        fast = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": token}
        yield kind, None, fast
        yield kind, OFFSETS, fast
        yield kind, adds, fast
        yield kind, adds, {**fast, "add_bos_token": False}
        yield kind, {"type": "Sequence", "processors": [OFFSETS, adds]}, fast
        yield kind, template(None, None), {**fast, "add_bos_token": True}
        yield kind, None, None
    for add in (True, False):
        config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "unk_token": "<unk>"}
        yield "sentencepiece", None, {**config, "add_bos_token": add}


def listed(content, **options):
    off = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    return {"content": content, "special": True, **off, **options}


# Parts of words of the strings, which no tokenizer has as tokens of their own.
PARTS = ["er", "and", "12", "\u00e9", " th"]


def cases_beside():
    """Tokens that only the files beside a tokenizer.json add: kind, config, other files."""
    fast = {"tokenizer_class": "PreTrainedTokenizerFast"}
    parts = [
        listed(PARTS[0]),
        listed(PARTS[1], single_word=True, special=False),
        listed(PARTS[2], lstrip=True, rstrip=True),
        listed(PARTS[3], normalized=True, special=False),
        listed(PARTS[4]),
    ]
    for kind, first, tool in [("llama", 1502, 4), ("metaspace", 1502, 4), ("llama3", 2008, 2005)]:
        own = {str(tool): listed("<tool>"), "0": listed("keyword", lstrip=True)}
        vocab = json.loads((FOLDER / kind / "tokenizer.json").read_text())["model"]["vocab"]
        new = [part for part in parts if part["content"] not in vocab]
        decoder = {str(first + i): part for i, part in enumerate(new)}
        own |= {str(vocab[part["content"]]): part for part in parts if part not in new}
        yield kind, {**fast, "added_tokens_decoder": {**decoder, **own}}, {}
        named = {"additional_special_tokens": PARTS[:2], "image_token": PARTS[2]}
        yield kind, {**fast, **named, "added_tokens_decoder": {}}, {}
        yield kind, {**fast, **named}, {"added_tokens.json": {PARTS[2]: first, PARTS[3]: first + 1}}
        yield kind, None, {"added_tokens.json": {PARTS[2]: first}}
        yield (
            kind,
            {**fast, "pad_token": PARTS[0]},
            {"special_tokens_map.json": {"pad_token": "12"}},
        )


OPT_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<tool>"]


def opt_cases():
    """(tokenizer_config.json, other files)"""

    def token(content, **options):
        fields = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": True}
        return {"__type": "AddedToken", "content": content, **fields, **options}

    end = token("</s>")
    roles = {"bos_token": end, "eos_token": end, "unk_token": end, "pad_token": "<pad>"}
    opt = {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "errors": "replace"}
    yield {**opt, **roles}, {}
    yield {**opt, **roles, "add_bos_token": False}, {}
    yield {**opt, **roles, "add_prefix_space": True}, {}
    yield {**opt, **roles}, {"added_tokens.json": {"<tool>": 1504}}
    yield {**opt, **roles, "pad_token": token("<pad>", lstrip=True, rstrip=True)}, {}
    yield {"tokenizer_class": "GPT2Tokenizer"}, {"special_tokens_map.json": roles}
    yield {"tokenizer_class": "GPT2Tokenizer"}, {}


QWEN2_MODEL = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
QWEN3_MODEL = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}


def qwen_cases():
    """(tokenizer_config.json, other files)"""

    def token(content, **options):
        fields = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
        return {"content": content, **fields, "special": True, **options}

    decoder = {
        "0": token("<|endoftext|>"),
        "1500": token("<|user|>"),
        "1501": token("<tool>", special=False),
    }
    roles = {"bos_token": None, "eos_token": "<|user|>", "pad_token": "<|endoftext|>"}
    qwen = {**roles, "unk_token": None, "add_prefix_space": False, "added_tokens_decoder": decoder}
    yield {}, {"config.json": QWEN2_MODEL}
    yield {"eos_token": "<|endoftext|>"}, {"config.json": QWEN3_MODEL}
    yield qwen, {"config.json": QWEN2_MODEL}
    yield {"tokenizer_class": "Qwen2Tokenizer", **qwen}, {"config.json": QWEN3_MODEL}


def ids_of_vocabulary(vocabulary, config, files, strings):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ids = json.loads((FOLDER / "gpt2" / "vocab.json").read_text(encoding="utf-8"))
        ids |= {token: len(ids) + i for i, token in enumerate(vocabulary)}
        (folder / "vocab.json").write_text(json.dumps(ids))
        shutil.copy(FOLDER / "gpt2" / "merges.txt", folder)
        opt = {"model_type": "opt", "architectures": ["OPTForCausalLM"]}
        for file, value in {"config.json": opt, "tokenizer_config.json": config, **files}.items():
            (folder / file).write_text(json.dumps(value))
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        return [tokenizer(text)["input_ids"] for text in strings]


def vocabulary_case(vocabulary, config, files, strings, chosen):
    return {
        "kind": "gpt2",
        "tokenizer_config": config,
        "files": files,
        "vocabulary": vocabulary,
        "strings": chosen,
        "ids": ids_of_vocabulary(vocabulary, config, files, [strings[i] for i in chosen]),
    }


def ids_of(kind, post_processor, config, strings, files=None):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        if config is not None:
            (folder / "tokenizer_config.json").write_text(json.dumps(config))
        if kind == "sentencepiece":
            shutil.copy(FOLDER / kind / "tokenizer.model", folder)
        else:
            specification = json.loads((FOLDER / kind / "tokenizer.json").read_text())
            specification["post_processor"] = post_processor
            (folder / "tokenizer.json").write_text(json.dumps(specification))
        for file, value in (files or {}).items():
            (folder / file).write_text(json.dumps(value))
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        return [tokenizer(text)["input_ids"] for text in strings]


def main():
    strings = json.loads((FOLDER / "strings.json").read_text(encoding="utf-8"))
    made = []
    for kind, post_processor, config in cases():
        chosen = list(range(0, len(strings), EVERY))
        if kind == "sentencepiece":
            chosen = [i for i in chosen if not any(mark in strings[i] for mark in OTHERWISE)]
        ids = ids_of(kind, post_processor, config, [strings[i] for i in chosen])
        made.append(
            {
                "kind": kind,
                "post_processor": post_processor,
                "tokenizer_config": config,
                "strings": chosen,
                "ids": ids,
            }
        )
    marks = [*PARTS, "<tool>", "keyword"]
    chosen = [i for i in range(len(strings)) if any(mark in strings[i] for mark in marks)][
        ::EVERY_OF_EXAMPLE
    ]
    for kind, config, files in cases_beside():
        ids = ids_of(kind, None, config, [strings[i] for i in chosen], files)
        made.append(
            {
                "kind": kind,
                "post_processor": None,
                "tokenizer_config": config,
                "files": files,
                "strings": chosen,
                "ids": ids,
            }
        )
    chosen = [i for i in range(len(strings)) if any(mark in strings[i] for mark in OPT_TOKENS)]
    chosen = sorted({*chosen[::3], *range(0, len(strings), EVERY)})
    for config, files in opt_cases():
        made.append(vocabulary_case(OPT_TOKENS, config, files, strings, chosen))
    chosen = [i for i, text in enumerate(strings) if unicodedata.normalize("NFC", text) != text]
    chosen = sorted({*chosen, *range(0, len(strings), EVERY_OF_EXAMPLE)})
    for config, files in qwen_cases():
        made.append(vocabulary_case([], config, files, strings, chosen))
    example = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
    chosen = list(range(0, len(strings), EVERY_OF_EXAMPLE))
    ids = [example(strings[i])["input_ids"] for i in chosen]
    made.append({"kind": "", "strings": chosen, "ids": ids})
    lines = ",\n".join(json.dumps(case) for case in made)
    (HERE / "special_tokens.json").write_text(f"[{lines}]\n")


main()

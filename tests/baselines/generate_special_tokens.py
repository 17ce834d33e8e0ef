#!/usr/bin/env python3
"""Token ids with the special tokens that transformers adds: tests/baselines/special_tokens.json.

Run it on the folder that deploy/example_model makes:

    $(tests/oracles) tests/baselines/generate_special_tokens.py \
        ~/.cache/trainctl/models/SmolLM2-135M

A list of {"kind", "post_processor", "tokenizer_config", "strings", "ids"}: the tokenizer of
tests/baselines/tokenizers/<kind> with that post-processor, beside that tokenizer_config.json;
kind "" is the example model's, as it is. Strings are numbers of lines of strings.json, from 0.
"""

import json
import pathlib
import shutil
import sys
import tempfile

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
    for add in (True, False):
        config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "unk_token": "<unk>"}
        yield "sentencepiece", None, {**config, "add_bos_token": add}


def ids_of(kind, post_processor, config, strings):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        if kind == "sentencepiece":
            shutil.copy(FOLDER / kind / "tokenizer.model", folder)
        else:
            specification = json.loads((FOLDER / kind / "tokenizer.json").read_text())
            specification["post_processor"] = post_processor
            (folder / "tokenizer.json").write_text(json.dumps(specification))
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
    example = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
    chosen = list(range(0, len(strings), EVERY_OF_EXAMPLE))
    ids = [example(strings[i])["input_ids"] for i in chosen]
    made.append({"kind": "", "strings": chosen, "ids": ids})
    lines = ",\n".join(json.dumps(case) for case in made)
    (HERE / "special_tokens.json").write_text(f"[{lines}]\n")


main()

"""Trains models of SentencePiece as LLaMA's and Mistral's are, and compares show_tokens' ids of
rows beside them with others': bare models with SentencePiece's, added tokens with transformers'.

Whether bos begins a row is boundary_tokens.h's rule, which is written down here. transformers is
asked about it where tokenizer_config.json says it: transformers 5 adds none by LlamaTokenizer's
name alone, as 4 did.

usage: sentencepiece_oracle.py FOLDER SHOW_TOKENS    (by the environment of tests/oracles)
"""

import json
import pathlib
import random
import re
import subprocess
import sys

import sentencepiece
import transformers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "baselines"))
from tokenizer_text import make_corpus, make_strings  # noqa: E402

SEED, STRINGS = 11, 300
VOCABULARY = 1000
BOS, EOS = 1, 2
CLASS = {"tokenizer_class": "LlamaTokenizer"}
# model type, architecture, and what its tokenizer has beside LLaMA's
MODELS = [
    ("llama", "LlamaForCausalLM", {}),
    ("mistral", "MistralForCausalLM", {"control_symbols": ["[INST]", "[/INST]", "[TOOL_CALLS]"]}),
]
# tokenizer_config.json, or that there is none, and the token that then begins a row
CONFIGS = [
    (None, []),
    ({}, []),
    ({"add_bos_token": True}, [BOS]),
    ({"add_bos_token": True, "bos_token": "</s>"}, [EOS]),
    ({"add_bos_token": False}, []),
    ({**CLASS, "add_bos_token": True}, [BOS]),
    ({**CLASS, "add_bos_token": False}, []),
    (CLASS, [BOS]),
    ({"tokenizer_class": "LlamaTokenizerFast"}, [BOS]),
]
# Texts that are tokens where a tokenizer_config.json makes the folder one of transformers'.
TOKENS = ["<s>", "</s>", "<unk>", "[INST]", "[/INST]", "[TOOL_CALLS]"]
# transformers cuts several spaces otherwise, with the one that begins a text; SentencePiece, whose
# model it is, does not.
OTHERWISE = ["  ", "\u2581"]
SAID = [config for config, _ in CONFIGS if config and "add_bos_token" in config]


def token(content, special=True, **flags):
    off = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    return {"content": content, "special": special, **off, **flags}


ADDED = ["<|im_start|>", "<|im_end|>", "<tool>", "<l>", "<r>", "<w>", "<n>"]
FLAGS = [
    {},
    {},
    {"special": False},
    {"lstrip": True},
    {"rstrip": True},
    {"single_word": True, "special": False},
    {"lstrip": True, "rstrip": True, "normalized": True, "special": False},
]
LIST = [token(text, **flags) for text, flags in zip(ADDED, FLAGS, strict=True)]
DECODER = {str(VOCABULARY + i): one for i, one in enumerate(LIST)}
IDS = {text: VOCABULARY + i for i, text in enumerate(ADDED)}
LLAMA = {**CLASS, "add_bos_token": True}
# The files beside tokenizer.model
FOLDERS = [
    {"tokenizer_config.json": {**LLAMA, "added_tokens_decoder": DECODER}},
    {"tokenizer_config.json": {**LLAMA, "added_tokens_decoder": DECODER, "legacy": False}},
    {"tokenizer_config.json": {**LLAMA, "added_tokens_decoder": DECODER, "legacy": True}},
    {
        "tokenizer_config.json": {
            **LLAMA,
            "added_tokens_decoder": DECODER,
            "add_prefix_space": False,
        }
    },
    {"tokenizer_config.json": LLAMA, "added_tokens.json": IDS},
    {
        "tokenizer_config.json": {**LLAMA, "pad_token": "<tool>"},
        "special_tokens_map.json": {"bos_token": "<|im_start|>", "unk_token": token("<l>")},
        "added_tokens.json": IDS,
    },
    {
        "tokenizer_config.json": {
            **LLAMA,
            "added_tokens_decoder": dict(list(DECODER.items())[:2]),
            "additional_special_tokens": ["<w>"],
            "image_token": "<r>",
        },
        "added_tokens.json": {"<tool>": VOCABULARY + 2},
    },
]


def train(folder, corpus, options):
    text = folder / "corpus.txt"
    text.write_text("\n".join(line.replace("\n", " ") for line in corpus), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "tokenizer"),
        model_type="bpe",
        vocab_size=VOCABULARY,
        byte_fallback=True,
        normalization_rule_name="identity",
        split_digits=True,
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        character_coverage=0.995,
        num_threads=1,
        minloglevel=2,
        pad_id=-1,
        **options,
    )
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))


def write_model(folder, model_type, architecture):
    config = {
        "model_type": model_type,
        "architectures": [architecture],
        "vocab_size": VOCABULARY + len(ADDED),
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": 64,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
    }
    (folder / "config.json").write_text(json.dumps(config))


def write_files(folder, files):
    for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"):
        (folder / name).unlink(missing_ok=True)
        if name in files:
            (folder / name).write_text(json.dumps(files[name]))


def shown(program, folder, rows):
    lines = subprocess.run([program, folder, rows], check=True, capture_output=True, text=True)
    return [list(map(int, line.split())) for line in lines.stdout.splitlines()]


def expect_equal(what, texts, ours, theirs):
    assert len(ours) == len(theirs), (what, len(ours), len(theirs))
    for text, one, other in zip(texts, ours, theirs, strict=True):
        assert one == other, f"{what}: {text!r}: {one}, expected {other}"


def has_any(text, marks):
    return any(mark in text for mark in marks)


def as_row(bos, ids):
    """bos and eos stand once, where the text spells them too."""
    ids = ids[1:] if ids[:2] == [bos, bos] else ids
    return ids if ids[-1:] == [EOS] else [*ids, EOS]


def compare_with_transformers(folder, config, texts, ours):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    plain = [i for i, text in enumerate(texts) if not has_any(" " + text, OTHERWISE)]
    theirs = [tokenizer(texts[i])["input_ids"] for i in plain]
    if type(tokenizer).__name__ == "LlamaTokenizer":
        rows = [as_row(tokenizer.bos_token_id, ids) for ids in theirs]
        expect_equal(config, [texts[i] for i in plain], [ours[i] for i in plain], rows)
        return True
    # The generic one leaves out the space that SentencePiece puts before a text.
    first = tokenizer.bos_token_id if config["add_bos_token"] else None
    for i, ids in zip(plain, theirs, strict=True):
        if not has_any(texts[i], TOKENS):
            assert (ids[:1] == [first]) == (ours[i][:1] == [first]), (config, texts[i])
    return False


def make_turns(rng, strings):
    """Texts with added tokens between their words."""
    words = [word for text in strings for word in text.split()]
    turns = []
    for _ in range(STRINGS):
        parts = rng.choices([*ADDED, "</s>", "<unk>"], k=rng.randint(1, 6))
        text = "".join(
            rng.choice(["", " "]).join((rng.choice(words), part, rng.choice(["", "\n", " x"])))
            for part in parts
        )
        turns.append(text if rng.random() < 0.5 else rng.choice(parts) + text)
    return turns


def compare_added_tokens(folder, program, strings):
    texts = make_turns(random.Random(SEED + 2), strings)
    rows = folder / "turns.jsonl"
    for files in FOLDERS:
        write_files(folder, files)
        # "legacy": SentencePiece puts its space before a text that begins with one, too.
        is_legacy = files["tokenizer_config.json"].get("legacy")
        chosen = [re.sub("> +", ">", text) for text in texts] if is_legacy else texts
        rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in chosen))
        ours = shown(program, folder, rows)
        assert compare_with_transformers(folder, files["tokenizer_config.json"], chosen, ours)


def main():
    top, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    corpus = make_corpus(random.Random(SEED))
    texts = ["", " ", "[INST] Hi[/INST] there</s>", *make_strings(random.Random(SEED + 1), STRINGS)]
    rows = top / "rows.jsonl"
    rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    whole = 0
    for model_type, architecture, options in MODELS:
        folder = top / model_type
        folder.mkdir()
        processor = train(folder, corpus, options)
        write_model(folder, model_type, architecture)
        for config, bos in CONFIGS:
            write_files(folder, {} if config is None else {"tokenizer_config.json": config})
            ours = shown(program, folder, rows)
            alone = [
                i for i, text in enumerate(texts) if config is None or not has_any(text, TOKENS)
            ]
            ids = [[*bos, *processor.encode(texts[i]), EOS] for i in alone]
            expect_equal(
                (model_type, config), [texts[i] for i in alone], [ours[i] for i in alone], ids
            )
            if config in SAID:
                whole += compare_with_transformers(folder, config, texts, ours)
        if model_type == "llama":
            compare_added_tokens(folder, program, texts)
    assert whole >= 2, "transformers' LlamaTokenizer read none of the models"


main()

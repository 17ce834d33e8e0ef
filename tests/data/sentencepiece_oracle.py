"""Trains models of SentencePiece as LLaMA's and Mistral's are, and compares show_tokens' ids of
rows beside them with SentencePiece's own and with transformers'.

usage: sentencepiece_oracle.py FOLDER SHOW_TOKENS    (by the environment of tests/oracles)
"""

import json
import pathlib
import random
import subprocess
import sys

import sentencepiece
import transformers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "baselines"))
from tokenizer_text import make_corpus, make_strings  # noqa: E402

SEED, STRINGS = 11, 300
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
# transformers takes these for tokens, and several spaces, with the one that begins a text, apart;
# SentencePiece, whose model it is, does not.
OTHERWISE = ["<s>", "</s>", "<unk>", "<pad>", "[INST]", "[/INST]", "  ", "\u2581"]
# Of configurations that say it. transformers 5 documents LLaMA's default, and does not keep it.
SAID = [config for config, _ in CONFIGS if config and "add_bos_token" in config]


def train(folder, corpus, options):
    text = folder / "corpus.txt"
    text.write_text("\n".join(line.replace("\n", " ") for line in corpus), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "tokenizer"),
        model_type="bpe",
        vocab_size=1000,
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
        "vocab_size": 1000,
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


def write_tokenizer_config(folder, config):
    path = folder / "tokenizer_config.json"
    path.unlink(missing_ok=True)
    if config is not None:
        path.write_text(json.dumps(config))


def shown(program, folder, rows):
    lines = subprocess.run([program, folder, rows], check=True, capture_output=True, text=True)
    return [list(map(int, line.split())) for line in lines.stdout.splitlines()]


def expect_equal(what, texts, ours, theirs):
    assert len(ours) == len(theirs), (what, len(ours), len(theirs))
    for text, one, other in zip(texts, ours, theirs, strict=True):
        assert one == other, f"{what}: {text!r}: {one}, expected {other}"


def compare_with_transformers(folder, config, texts, ours):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    plain = [i for i, text in enumerate(texts) if not any(one in " " + text for one in OTHERWISE)]
    theirs = [tokenizer(texts[i])["input_ids"] for i in plain]
    if type(tokenizer).__name__ == "LlamaTokenizer":
        rows = [[*ids, EOS] for ids in theirs]
        expect_equal(config, [texts[i] for i in plain], [ours[i] for i in plain], rows)
        return True
    # The generic one leaves out the space that SentencePiece puts before a text.
    first = tokenizer.bos_token_id if config["add_bos_token"] else None
    for i, ids in zip(plain, theirs, strict=True):
        assert (ids[:1] == [first]) == (ours[i][:1] == [first]), (config, texts[i])
    return False


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
            write_tokenizer_config(folder, config)
            ours = shown(program, folder, rows)
            ids = [[*bos, *processor.encode(text), EOS] for text in texts]
            expect_equal((model_type, config), texts, ours, ids)
            if config in SAID:
                whole += compare_with_transformers(folder, config, texts, ours)
    assert whole >= 2, "transformers' LlamaTokenizer read none of the models"


main()

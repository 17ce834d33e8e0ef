#!/usr/bin/env python3
"""Writes the baselines of worker/rank/tokenizer: small tokenizers trained on text of our own,
strings, and the ids that Hugging Face tokenizers and SentencePiece give for them. Run by people,
not by the tests; the result is checked in.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers==0.23.* sentencepiece==0.2.*
    # rewrites tests/baselines/tokenizers/
    /tmp/venv/bin/python tests/baselines/generate_tokenizers.py

    strings.json              the strings, a JSON list, one a line
    <kind>/tokenizer.json …   the tokenizer
    <kind>/ids.txt            line i: the ids of string i, without tokens around it
"""

import json
import pathlib
import random
import shutil
import tempfile

import sentencepiece
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from tokenizer_text import SPACE, make_corpus, make_strings

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"
SEED = 20240607
STRINGS = 5400

LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def added(content, **options):
    return AddedToken(content, **{"normalized": False, "special": False, **options})


def add_tokens(tokenizer, specials):
    tokenizer.add_special_tokens([added(token, special=True) for token in specials])
    tokenizer.add_tokens(
        [
            added("<|user|>"),
            added("<tool>", lstrip=True, rstrip=True),
            added("keyword", single_word=True),
            added("<norm>", normalized=True),
        ]
    )


def train_byte_level(corpus, pre_tokenizer, vocab_size, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=["<|endoftext|>"],
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    return tokenizer


def gpt2(corpus):
    return train_byte_level(corpus, pre_tokenizers.ByteLevel(add_prefix_space=False), 1500)


def smollm(corpus):
    split = [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]
    tokenizer = train_byte_level(corpus, pre_tokenizers.Sequence(split), 1500)
    add_tokens(tokenizer, ["<|endoftext|>", "<|eot|>", "<s>"])
    return tokenizer


def llama3(corpus):
    split = [
        pre_tokenizers.Split(Regex(LLAMA3_PATTERN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    tokenizer = train_byte_level(corpus, pre_tokenizers.Sequence(split), 2000)
    specification = json.loads(tokenizer.to_str())
    specification["model"]["ignore_merges"] = True
    # Entries that no merge leads to: only ignore_merges finds them.
    vocab = specification["model"]["vocab"]
    for word in ["checkpointing", "Ġunreachable", "1234"]:
        vocab[word] = len(vocab)
    tokenizer = Tokenizer.from_str(json.dumps(specification))
    add_tokens(tokenizer, ["<|endoftext|>", "<|eot|>"])
    return tokenizer


def train_sentencepiece(corpus, folder, **options):
    text = pathlib.Path(folder) / "corpus.txt"
    text.write_text("\n".join(line.replace("\n", " ") for line in corpus), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(pathlib.Path(folder) / "m"),
        model_type="bpe",
        num_threads=1,
        minloglevel=2,
        pad_id=-1,
        **options,
    )
    return (pathlib.Path(folder) / "m.model").read_bytes()


def llama_model(corpus, folder):
    """As LLaMA's: identity normalization, spaces kept, digits apart, bytes for what is unknown."""
    return train_sentencepiece(
        corpus,
        folder,
        vocab_size=1500,
        byte_fallback=True,
        normalization_rule_name="identity",
        split_digits=True,
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        character_coverage=0.995,
        user_defined_symbols=["<|user|>", "<tool>"],
    )


def nfkc_model(corpus, folder):
    """SentencePiece's defaults: NFKC by a precompiled map, no extra spaces, one unknown piece."""
    return train_sentencepiece(
        corpus, folder, vocab_size=1200, character_coverage=0.99, user_defined_symbols=["<|user|>"]
    )


def llama_bpe(processor):
    """A SentencePiece BPE as vocabulary and merges: every way to put a piece together, best pieces
    first."""
    vocab = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    merges = []
    for piece, rank in vocab.items():
        if processor.is_byte(rank) or processor.is_control(rank) or processor.is_unknown(rank):
            continue
        halves = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        found = [(left, right) for left, right in halves if left in vocab and right in vocab]
        merges += [
            (-processor.get_score(rank), vocab[left], vocab[right], left, right)
            for left, right in found
        ]
    ordered = [(left, right) for *_, left, right in sorted(merges)]
    return models.BPE(vocab, ordered, unk_token="<unk>", fuse_unk=True, byte_fallback=True)


def llama(processor):
    """LLaMA 2's tokenizer.json: the added space is a normalizer's work."""
    tokenizer = Tokenizer(llama_bpe(processor))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]
    )
    steps = [
        decoders.Replace(SPACE, " "),
        decoders.ByteFallback(),
        decoders.Fuse(),
        decoders.Strip(" ", 1, 0),
    ]
    tokenizer.decoder = decoders.Sequence(steps)
    add_tokens(tokenizer, ["<unk>", "<s>", "</s>"])
    return tokenizer


def metaspace(processor):
    """The newer form: Metaspace that prefixes the first word only, and splits."""
    tokenizer = Tokenizer(llama_bpe(processor))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement=SPACE, prepend_scheme="first", split=True
    )
    tokenizer.decoder = decoders.Metaspace(replacement=SPACE, prepend_scheme="first", split=True)
    add_tokens(tokenizer, ["<unk>", "<s>", "</s>"])
    return tokenizer


def write_ids(folder, rows):
    (folder / "ids.txt").write_text("".join(" ".join(map(str, ids)) + "\n" for ids in rows))


def write_json_kind(name, tokenizer, strings):
    folder = FOLDER / name
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    write_ids(folder, [tokenizer.encode(text, add_special_tokens=False).ids for text in strings])


def write_gpt2_kind(tokenizer, strings):
    folder = FOLDER / "gpt2"
    folder.mkdir()
    tokenizer.model.save(str(folder))
    write_ids(folder, [tokenizer.encode(text, add_special_tokens=False).ids for text in strings])


def write_model_kind(name, model, strings):
    folder = FOLDER / name
    folder.mkdir()
    (folder / "tokenizer.model").write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    write_ids(folder, [processor.encode(text) for text in strings])
    return processor


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    strings = make_strings(random.Random(SEED), STRINGS)
    lines = ",\n".join(json.dumps(text, ensure_ascii=False) for text in strings)
    (FOLDER / "strings.json").write_text(f"[{lines}]\n", encoding="utf-8")
    corpus = make_corpus(random.Random(SEED + 1))
    write_gpt2_kind(gpt2(corpus), strings)
    write_json_kind("smollm", smollm(corpus), strings)
    write_json_kind("llama3", llama3(corpus), strings)
    with tempfile.TemporaryDirectory() as folder:
        processor = write_model_kind("sentencepiece", llama_model(corpus, folder), strings)
        write_json_kind("llama", llama(processor), strings)
        write_json_kind("metaspace", metaspace(processor), strings)
        write_model_kind("sentencepiece_nfkc", nfkc_model(corpus, folder), strings)


main()

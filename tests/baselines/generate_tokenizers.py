#!/usr/bin/env python3
"""Writes the baselines of worker/data's tokenizers: small tokenizers trained on text of our own, strings, and the ids that Hugging Face
tokenizers and SentencePiece give for them. Run by people, not by the tests; the result is checked in.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers==0.23.* sentencepiece==0.2.*
    /tmp/venv/bin/python tests/baselines/generate_tokenizers.py          # rewrites tests/baselines/tokenizers/

    strings.json              the strings, a JSON list, one a line
    <kind>/tokenizer.json …   the tokenizer
    <kind>/ids.txt            line i: the ids of string i, without tokens around it
"""
import json
import pathlib
import random
import shutil
import tempfile
import unicodedata

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"
SEED = 20240607
STRINGS = 5400

LLAMA3_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                  r"|\s*[\r\n]+|\s+(?!\S)|\s+")
SPACE = "\u2581"

WORDS = {
    "english": """the a of and to in is that it was for on are as with his they at be this from have or by one had not but what all were
        when we there can an your which their said if do will each about how up out them then she many some so these would other into
        has more her two like him see time could no make than first been its who now people my made over did down only way find use may
        water long little very after words called just where most know gradient model training memory tokens layer attention
        normalization embedding vocabulary sequence parameter optimizer throughput checkpoint instruction response describe""".split(),
    "german": "der die das und ist nicht ein eine für auf mit über größe straße müde schön übermorgen Grüße weiß Äpfel Öl".split(),
    "french": "le la les été où déjà français garçon cœur naïve être à ça l'eau aujourd'hui l'été qu'il".split(),
    "russian": "и в не на я что тот быть с а весь это как она по но они мы этот который из у за модель память слово".split(),
    "greek": "και το να του η της με που είναι για τα από θα λόγος μνήμη".split(),
    "hebrew": "של את על לא זה הוא עם כל מודל זיכרון".split(),
    "arabic": "في من على أن إلى هذا كان النموذج الذاكرة كلمة".split(),
    "hindi": "है के में की और यह मॉडल स्मृति शब्द क्षेत्र".split(),
    "thai": "ภาษาไทย หน่วยความจำ แบบจำลอง คำ และ".split(),
    "chinese": "的 一 是 不 了 在 人 有 我 他 这 中 大 来 上 国 模型 训练 内存 语言 你好世界".split(),
    "japanese": "これ は です モデル 学習 メモリ 言語 カタカナ ひらがな ありがとう".split(),
    "korean": "이 그 것 수 모델 학습 메모리 언어 안녕하세요".split(),
}
CODE = ["def f(x):\n    return x ** 2\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}", "x = {'a': [1, 2, 3], \"b\": None}", "#include <vector>",
        "SELECT * FROM runs WHERE loss < 0.5;", "git commit -m 'fix'", "if __name__ == \"__main__\":", "std::unique_ptr<T>&& p", "a->b != c::d",
        "<div class=\"row\">&nbsp;</div>", "https://a.example/p?q=1&r=%20#x", "C:\\Temp\\new.txt", "\\frac{\\partial L}{\\partial w_i}",
        "λ x. x", "let s = r#\"raw\"#;", "\tif err != nil {\n\t\treturn err\n\t}\n", "$HOME/.cache/*.{json,txt}", "0x1F4A9 0b1010 1e-5 .5f"]
EMOJI = ["😀", "🤖", "👩‍👩‍👧‍👦", "👍🏽", "🇪🇸", "🏳️‍🌈", "❤️", "☕", "✅", "💩", "🧑‍💻", "𝓐", "𝟘", "🀄", "➡️", "©", "™"]
ODD_SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u180e", "\u200b", "\ufeff", "\v", "\f"]
CONTROLS = [chr(c) for c in [*range(0, 32), 127, 0x80, 0x9F, 0xAD, 0x202E, 0xFFFD, 0xFFFE, 0xE000, 0x10FFFF]]
COMBINED = ["e\u0301", "A\u030a", "\u1112\u1161\u11ab", "ﬁ", "Ⅷ", "①", "²", "½", "ｆｕｌｌ", "ﾊﾝｶｸ", "Ω", "İ", "ß", "ŉ", "ﷺ", "K", "ſ", "'S", "'LL", "’s", "٣٤", "५", "〇",
            "ǅ", "ʰ", "ˈ", "_", "__init__", SPACE, SPACE + SPACE, "Ġ", "<0x41>", "<0x0A>"]
ADDED = ["<s>", "</s>", "<unk>", "<|user|>", "<|user|", "<tool>", " <tool> ", "<tool>  <tool>", "keyword", " keyword,", "keywords", "<norm>",
         "<|endoftext|>", "<|eot|>", "<pad>", "<s", "s>"]


def sentence(rng, languages=None, words=8):
    language = rng.choice(languages or list(WORDS))
    joined = " ".join(rng.choice(WORDS[language]) for _ in range(rng.randint(1, words)))
    return joined.capitalize() if rng.random() < 0.3 else joined


def number(rng):
    return rng.choice([str(rng.randint(0, 10 ** rng.randint(1, 12))), f"{rng.random():.5f}", f"{rng.randint(1, 99)}/{rng.randint(1, 99)}",
                       f"{rng.randint(1, 12)}:{rng.randint(10, 59)}", f"${rng.randint(1, 10 ** 6):,}", "3.14159e-10"])


def random_character(rng):
    """Of Python 3.11's Unicode 14, which is PCRE2 10.42's too: what came later is classified by each library's own version."""
    assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
    while True:
        code = rng.choice([rng.randint(0x20, 0x24F), rng.randint(0x250, 0x2FFF), rng.randint(0x3000, 0xFFFD), rng.randint(0x10000, 0x1FAFF)])
        if unicodedata.category(chr(code)) not in ("Cn", "Cs"):
            return chr(code)


def contraction(rng):
    word = rng.choice(WORDS["english"])
    ending = rng.choice(["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'RE", "''s", "'x", "’ll"])
    return word + ending


def fragment(rng):
    return rng.choice([
        lambda: sentence(rng), lambda: sentence(rng, ["english"]), lambda: sentence(rng, words=3), lambda: number(rng), lambda: contraction(rng),
        lambda: rng.choice(CODE), lambda: rng.choice(EMOJI) * rng.randint(1, 3), lambda: rng.choice(ODD_SPACES) * rng.randint(1, 5),
        lambda: rng.choice(CONTROLS), lambda: rng.choice(COMBINED), lambda: rng.choice(ADDED), lambda: rng.choice(".,;:!?()[]{}-—…*/\\'\"«»“”") * rng.randint(1, 4),
        lambda: "".join(random_character(rng) for _ in range(rng.randint(1, 6))), lambda: rng.choice("abzAZ09") * rng.randint(1, 40),
    ])()


def make_strings(rng):
    strings = ["", " ", "  ", "\n", "a", " a", "a ", SPACE, *EMOJI, *ODD_SPACES, *CONTROLS, *COMBINED, *ADDED, *CODE]
    strings += [before + token + after for token in ADDED for before, after in [("a ", " b"), ("a", "b"), ("  ", "  "), ("\n", "\t"), ("!", "?")]]
    while len(strings) < STRINGS:
        glue = rng.choice(["", " ", " ", "  "])
        text = glue.join(fragment(rng) for _ in range(rng.randint(1, 4)))
        strings.append(text[:120])
    return strings


def make_corpus(rng):
    """What the tokenizers are trained on: sentences, numbers and code, with a share of every script."""
    lines = []
    for _ in range(6000):
        parts = [sentence(rng, ["english"], 14), rng.choice([sentence(rng), number(rng), rng.choice(CODE), contraction(rng), rng.choice(EMOJI)])]
        lines.append(" ".join(parts) + rng.choice([".", "!", "?", ",", ":"]))
    return lines


def added(content, **options):
    return AddedToken(content, **{"normalized": False, "special": False, **options})


def add_tokens(tokenizer, specials):
    tokenizer.add_special_tokens([added(token, special=True) for token in specials])
    tokenizer.add_tokens([added("<|user|>"), added("<tool>", lstrip=True, rstrip=True), added("keyword", single_word=True),
                          added("<norm>", normalized=True)])


def train_byte_level(corpus, pre_tokenizer, vocab_size, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=["<|endoftext|>"], show_progress=False,
                                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def gpt2(corpus):
    return train_byte_level(corpus, pre_tokenizers.ByteLevel(add_prefix_space=False), 1500)


def smollm(corpus):
    split = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer = train_byte_level(corpus, pre_tokenizers.Sequence(split), 1500)
    add_tokens(tokenizer, ["<|endoftext|>", "<|eot|>", "<s>"])
    return tokenizer


def llama3(corpus):
    split = [pre_tokenizers.Split(Regex(LLAMA3_PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
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
    sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=str(pathlib.Path(folder) / "m"), model_type="bpe", num_threads=1,
                                             minloglevel=2, pad_id=-1, **options)
    return (pathlib.Path(folder) / "m.model").read_bytes()


def llama_model(corpus, folder):
    """As LLaMA's: identity normalization, spaces kept, digits apart, bytes for what is unknown."""
    return train_sentencepiece(corpus, folder, vocab_size=1500, byte_fallback=True, normalization_rule_name="identity", split_digits=True,
                               remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, character_coverage=0.995,
                               user_defined_symbols=["<|user|>", "<tool>"])


def nfkc_model(corpus, folder):
    """SentencePiece's defaults: NFKC by a precompiled map, extra spaces removed, one unknown piece."""
    return train_sentencepiece(corpus, folder, vocab_size=1200, character_coverage=0.99, user_defined_symbols=["<|user|>"])


def llama_bpe(processor):
    """A SentencePiece BPE as vocabulary and merges: every way to put a piece together, best pieces first."""
    vocab = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    merges = []
    for piece, rank in vocab.items():
        if processor.is_byte(rank) or processor.is_control(rank) or processor.is_unknown(rank):
            continue
        halves = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        found = [(left, right) for left, right in halves if left in vocab and right in vocab]
        merges += [(-processor.get_score(rank), vocab[left], vocab[right], left, right) for left, right in found]
    ordered = [(left, right) for *_, left, right in sorted(merges)]
    return models.BPE(vocab, ordered, unk_token="<unk>", fuse_unk=True, byte_fallback=True)


def llama(processor):
    """LLaMA 2's tokenizer.json: the added space is a normalizer's work."""
    tokenizer = Tokenizer(llama_bpe(processor))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    add_tokens(tokenizer, ["<unk>", "<s>", "</s>"])
    return tokenizer


def metaspace(processor):
    """The newer form: Metaspace that prefixes the first word only, and splits."""
    tokenizer = Tokenizer(llama_bpe(processor))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="first", split=True)
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
    strings = make_strings(random.Random(SEED))
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

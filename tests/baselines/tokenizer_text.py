"""Text of our own for generate_tokenizers.py: what its tokenizers are trained on, and what they are
asked for."""

import unicodedata

SPACE = "\u2581"  # SentencePiece's sign for a space

WORDS = {
    "english": """the a of and to in is that it was for on are as with his they at be this from have
        or by one had not but what all were
        when we there can an your which their said if do will each about how up out them then she
        many some so these would other into has more her two like him see time could no make than
        first been its who now people my made over did down only way find use may water long little
        very after words called just where most know gradient model training memory tokens layer
        attention
        normalization embedding vocabulary sequence parameter optimizer throughput checkpoint
        instruction response describe""".split(),
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
CODE = [
    "def f(x):\n    return x ** 2\n",
    "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}",
    "x = {'a': [1, 2, 3], \"b\": None}",
    "#include <vector>",
    "SELECT * FROM runs WHERE loss < 0.5;",
    "git commit -m 'fix'",
    'if __name__ == "__main__":',
    "std::unique_ptr<T>&& p",
    "a->b != c::d",
    '<div class="row">&nbsp;</div>',
    "https://a.example/p?q=1&r=%20#x",
    "C:\\Temp\\new.txt",
    "\\frac{\\partial L}{\\partial w_i}",
    "λ x. x",
    'let s = r#"raw"#;',
    "\tif err != nil {\n\t\treturn err\n\t}\n",
    "$HOME/.cache/*.{json,txt}",
    "0x1F4A9 0b1010 1e-5 .5f",
]
EMOJI = [
    "😀",
    "🤖",
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "🇪🇸",
    "🏳️‍🌈",
    "❤️",
    "☕",
    "✅",
    "💩",
    "🧑‍💻",
    "𝓐",
    "𝟘",
    "🀄",
    "➡️",
    "©",
    "™",
]
ODD_SPACES = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u2028",
    "\u0085",
    "\u180e",
    "\u200b",
    "\ufeff",
    "\v",
    "\f",
]
PUNCTUATION = ".,;:!?()[]{}-—…*/\\'\"«»“”"
CONTROLS = [
    chr(c) for c in [*range(0, 32), 127, 0x80, 0x9F, 0xAD, 0x202E, 0xFFFD, 0xFFFE, 0xE000, 0x10FFFF]
]
COMBINED = [
    "e\u0301",
    "A\u030a",
    "\u1112\u1161\u11ab",
    "ﬁ",
    "Ⅷ",
    "①",
    "²",
    "½",
    "ｆｕｌｌ",
    "ﾊﾝｶｸ",
    "Ω",
    "İ",
    "ß",
    "ŉ",
    "ﷺ",
    "K",
    "ſ",
    "'S",
    "'LL",
    "’s",
    "٣٤",
    "५",
    "〇",
    "ǅ",
    "ʰ",
    "ˈ",
    "_",
    "__init__",
    SPACE,
    SPACE + SPACE,
    "Ġ",
    "<0x41>",
    "<0x0A>",
]
ADDED = [
    "<s>",
    "</s>",
    "<unk>",
    "<|user|>",
    "<|user|",
    "<tool>",
    " <tool> ",
    "<tool>  <tool>",
    "keyword",
    " keyword,",
    "keywords",
    "<norm>",
    "<|endoftext|>",
    "<|eot|>",
    "<pad>",
    "<s",
    "s>",
]


def sentence(rng, languages=None, words=8):
    language = rng.choice(languages or list(WORDS))
    joined = " ".join(rng.choice(WORDS[language]) for _ in range(rng.randint(1, words)))
    return joined.capitalize() if rng.random() < 0.3 else joined


def number(rng):
    return rng.choice(
        [
            str(rng.randint(0, 10 ** rng.randint(1, 12))),
            f"{rng.random():.5f}",
            f"{rng.randint(1, 99)}/{rng.randint(1, 99)}",
            f"{rng.randint(1, 12)}:{rng.randint(10, 59)}",
            f"${rng.randint(1, 10**6):,}",
            "3.14159e-10",
        ]
    )


def random_character(rng):
    """Of Python 3.11's Unicode 14, which is PCRE2 10.42's too: what came later is classified by
    each library's own version."""
    assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
    while True:
        code = rng.randint(
            *rng.choice([(0x20, 0x24F), (0x250, 0x2FFF), (0x3000, 0xFFFD), (0x10000, 0x1FAFF)])
        )
        if unicodedata.category(chr(code)) not in ("Cn", "Cs"):
            return chr(code)


def contraction(rng):
    word = rng.choice(WORDS["english"])
    ending = rng.choice(
        ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'RE", "''s", "'x", "’ll"]
    )
    return word + ending


def fragment(rng):
    return rng.choice(
        [
            lambda: sentence(rng),
            lambda: sentence(rng, ["english"]),
            lambda: sentence(rng, words=3),
            lambda: number(rng),
            lambda: contraction(rng),
            lambda: rng.choice(CODE),
            lambda: rng.choice(EMOJI) * rng.randint(1, 3),
            lambda: rng.choice(ODD_SPACES) * rng.randint(1, 5),
            lambda: rng.choice(CONTROLS),
            lambda: rng.choice(COMBINED),
            lambda: rng.choice(ADDED),
            lambda: rng.choice(PUNCTUATION) * rng.randint(1, 4),
            lambda: rng.choice("abzAZ09") * rng.randint(1, 40),
            lambda: "".join(random_character(rng) for _ in range(rng.randint(1, 6))),
        ]
    )()


def make_strings(rng, count):
    strings = [
        "",
        " ",
        "  ",
        "\n",
        "a",
        " a",
        "a ",
        SPACE,
        *EMOJI,
        *ODD_SPACES,
        *CONTROLS,
        *COMBINED,
        *ADDED,
        *CODE,
    ]
    around = [("a ", " b"), ("a", "b"), ("  ", "  "), ("\n", "\t"), ("!", "?")]
    strings += [before + token + after for token in ADDED for before, after in around]
    while len(strings) < count:
        glue = rng.choice(["", " ", " ", "  "])
        text = glue.join(fragment(rng) for _ in range(rng.randint(1, 4)))
        strings.append(text[:120])
    return strings


def make_corpus(rng):
    """What the tokenizers are trained on: sentences, numbers and code, with a share of every
    script."""
    lines = []
    for _ in range(6000):
        other = rng.choice(
            [sentence(rng), number(rng), rng.choice(CODE), contraction(rng), rng.choice(EMOJI)]
        )
        lines.append(
            sentence(rng, ["english"], 14) + " " + other + rng.choice([".", "!", "?", ",", ":"])
        )
    return lines

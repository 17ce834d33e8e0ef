"""The checkout's own files, read once."""

import functools
import itertools
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("common", "proto", "server", "worker", "client", "tests")
CODE_SUFFIXES = (".h", ".cc", ".cu", ".cuh", ".proto")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


class TestCase(unittest.TestCase):
    def expect_none(self, wrong):
        self.assertFalse(wrong, "\n" + "\n".join(wrong))


@functools.cache
def code_files():
    """Paths relative to the checkout, sorted."""
    return sorted(
        path.relative_to(TOP)
        for folder in CODE_FOLDERS
        for path in (TOP / folder).rglob("*")
        if path.suffix in CODE_SUFFIXES
    )


@functools.cache
def script_files():
    """Python and shell: by suffix, or by their first line."""
    found = []
    for folder in ("client", "deploy", "tests", ".ci"):
        for path in sorted((TOP / folder).rglob("*")):
            if (
                path.is_file()
                and not path.is_symlink()
                and (path.suffix == ".py" or path.suffix == "" and path.read_bytes()[:2] == b"#!")
            ):
                found.append(path.relative_to(TOP))
    return found


@functools.cache
def text_files():
    """Code, scripts, pages, CMake and units: what has a limit of columns."""
    patterns = ("CMakeLists.txt", "*.cmake", "*.service", "*.env", "*.suppressions")
    others = [
        path.relative_to(TOP)
        for pattern in (*patterns, "*.js", "*.css", "*.html", "*.html.in")
        for folder in (*CODE_FOLDERS, "deploy", ".ci")
        for path in (TOP / folder).rglob(pattern)
    ]
    return [*code_files(), *script_files(), TOP.relative_to(TOP) / "CMakeLists.txt", *others]


@functools.cache
def markdown_files():
    """Those of the checkout; a build that runs meanwhile adds and removes folders of its own."""
    ours = [
        folder
        for folder in TOP.iterdir()
        if folder.is_dir() and not folder.name.startswith(("build", "."))
    ]
    found = [*TOP.glob("*.md"), *(path for folder in ours for path in folder.rglob("*.md"))]
    return sorted(path.relative_to(TOP) for path in found)


def prose_files():
    """Markdown, but for what tests accept."""
    return [path for path in markdown_files() if "goldens" not in path.parts]


def unfenced_lines(path):
    """(number, line), without what stands in fences."""
    is_fenced = False
    for number, line in enumerate(lines(path), 1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced:
            yield number, line


def is_of_table(line):
    return line.lstrip().startswith("|")


def prose_lines(path):
    """(number, line), without tables and what stands in fences."""
    return ((number, line) for number, line in unfenced_lines(path) if not is_of_table(line))


def tables(path):
    """Each table as its (number, line)s."""
    for is_table, group in itertools.groupby(unfenced_lines(path), lambda it: is_of_table(it[1])):
        if is_table:
            yield list(group)


@functools.cache
def lines(path):
    return (TOP / path).read_text(encoding="utf-8").splitlines()


def comment_paragraphs(path):
    """The paragraphs of the comments that have lines of their own. An indented line, as of a table
    or a list, begins one; lines that are indented deeper go on with it."""
    text, first_indent = [], 0
    for line in [*lines(path), ""]:
        match = re.match(r"\s*//+( *)(\S.*)$", line)
        indent = len(match.group(1)) if match else 0
        goes_on = indent > first_indent > 1 or indent <= 1 >= first_indent
        if text and not (match and goes_on):
            yield " ".join(text)
            text = []
        if match:
            first_indent = first_indent if text else indent
            text.append(match.group(2))


def comment_sentences(path):
    """Up to a full stop, colon, semicolon or the like."""
    for paragraph in comment_paragraphs(path):
        yield from re.split(r"(?<=[.;:!?])\s+(?=\S)", paragraph)


def message_sentences(path):
    """Of string literals, neighbours joined; up to a line's end, a full stop, a bracket or the
    like. A conversion of printf is no word."""
    literal = r'"(?:[^"\\\n]|\\.)*"'
    code = "\n".join(line for line in lines(path) if not line.strip().startswith("//"))
    for match in re.finditer(rf"{literal}(?:\s*{literal})*", code):
        text = "".join(one[1:-1] for one in re.findall(literal, match.group()))
        text = re.sub(r"%\*?\w+", "", text)
        yield from re.split(r"\\n|[.:;!?]\s+(?=\S)|[()]", text)


def words(sentence):
    """What has a letter or a digit: no operators of a formula, no arrows."""
    return [word for word in sentence.split() if re.search(r"\w", word)]


def includes(path):
    """(line number, name, whether in quotes)."""
    for number, line in enumerate(lines(path), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) or match.group(2), match.group(1) is not None


def room(path):
    """common/base, server/core, client/show, worker/rank/ops …; the mains of client and rank, which
    join all, are rooms themselves."""
    parts = path.parts
    if parts[0] == "proto":
        return "proto"
    if path.name == "main.cc" and parts[:-1] in (("client",), ("worker", "rank")):
        return str(path)
    depth = 3 if parts[:2] == ("worker", "rank") else 2
    return "/".join(parts[: min(depth, len(parts) - 1)])

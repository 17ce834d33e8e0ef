"""The rules of style that a program can check."""

import pathlib
import re
import subprocess
import unittest

import tree

LONGEST_LINE = 100
# Lines that would lose by a break: texts as they are printed, SQL, JSON, tables of words. By file:
# they may become fewer, never more.
LONG_LINES = {
    "client/show/explanations.cc": 1,
    "client/verbs/completion.cc": 1,
    "client/verbs/program.cc": 1,
    "deploy/data/generate.py": 65,
    "server/store/schema.cc": 6,
    "tests/baselines/tokenizer_text.py": 3,
    "tests/client/litgpt_convert_test.cc": 2,
    "tests/client/litgpt_recipe.h": 1,
    "tests/client/recipes_test.cc": 2,
    "tests/client/submit_fixture.h": 2,
    "tests/client/sweep_test.cc": 3,
    "tests/client/verbs_test.cc": 2,
    "tests/data/malformed_test.cc": 7,
    "tests/data/small_tokenizers.cc": 1,
    "tests/data/tokenizer_json_test.cc": 2,
    "tests/files/model_config_test.cc": 4,
    "tests/files/safetensors_test.cc": 3,
    "tests/job/job_json_test.cc": 13,
    "tests/job/json_schema_test.cc": 1,
    "tests/job/lab_file_test.cc": 1,
    "tests/job/override_test.cc": 2,
    "tests/job/valid_job.h": 1,
    "worker/agent/options.cc": 4,
    "worker/rank/main.cc": 1,
    "worker/shim/options.cc": 5,
}
LONGEST_SENTENCE = 20  # words, in comments that have lines of their own, and in messages
LONG_FILE, LONGEST_FILE = 250, 500
LONG_FUNCTION, LONGEST_FUNCTION = 70, 120
BANNED_FILE = re.compile(r"(^|_)(util|utils|helpers|misc|common)\.(h|cc|cu|py)$")
BANNED_TYPE = re.compile(
    r"\b(?:class|struct)\s+(\w*(?:Impl|Manager|Helper)|I[A-Z][a-z]\w*(?=\s*(?:final\s*)?[:{]))\b"
)
GENERATED = ("proto/trainctl.pb.h", "proto/trainctl.grpc.pb.h", "common/base/commit.h")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class)?) (\w+)(?: final)?(?: : [^;{]*)?(?: \{|$)")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")
# Where packages come from is the machine's setting, never the project's. (In pieces, so that this
# file passes too.)
REGISTRIES = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "deb.debian" + ".org",
    "archive.ubuntu" + ".com",
    "pytorch" + ".org/whl",
    "crates" + ".io",
    "npm" + "js.org",
    "proxy.golang" + ".org",
    "developer.download.nvidia" + ".com",
]


def headers():
    return [path for path in tree.code_files() if path.suffix in (".h", ".cuh")]


def functions(path):
    """(first line, length) of what looks like a function at the start of a line and ends with a
    brace there, as our format has it."""
    start = None
    for number, line in enumerate(tree.lines(path), 1):
        if (
            start is None
            and re.match(r"[A-Za-z].*\)[^;]*\{$", line)
            and not line.startswith("namespace")
        ):
            start = number
        elif start is not None and line.startswith("}"):
            yield start, number - start + 1
            start = None


def types(path):
    """(full name, line) of the types that other files can name: none of a namespace without one."""
    namespaces = []
    for number, line in enumerate(tree.lines(path), 1):
        if found := re.match(r"namespace\s*([\w:]*)\s*\{", line):
            namespaces.append(found[1])
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif (found := TYPE.match(line)) and all(namespaces):
            yield "::".join([*namespaces, found[1]]), number


def own_header(path):
    header = path.with_suffix(".h")
    return header if (tree.TOP / header).exists() else None


class Style(tree.TestCase):
    def test_headers_begin_with_a_comment_and_pragma_once(self):
        wrong = [
            str(path)
            for path in headers()
            if not (tree.lines(path)[0].startswith("//") and "#pragma once" in tree.lines(path))
        ]
        self.expect_none(wrong)

    def test_a_source_includes_its_own_header_first(self):
        wrong = []
        for path in tree.code_files():
            header = own_header(path) if path.suffix in (".cc", ".cu") else None
            first = next(tree.includes(path), None)
            if header is not None and (first is None or first[1] != str(header)):
                wrong.append(
                    f"{path}: expected {header} as its first include, not {first and first[1]}"
                )
        self.expect_none(wrong)

    def test_includes_start_at_the_root(self):
        wrong = []
        for path in tree.code_files():
            for number, name, quoted in tree.includes(path):
                if quoted and not (tree.TOP / name).exists() and name not in GENERATED:
                    wrong.append(f"{path}:{number}: no {name} in the checkout")
        self.expect_none(wrong)

    def test_lines_are_not_too_long(self):
        wrong = []
        for path in tree.text_files():
            long = [
                f"{path}:{number}: {len(line)} columns"
                for number, line in enumerate(tree.lines(path), 1)
                if len(line) > LONGEST_LINE
            ]
            allowed = LONG_LINES.get(str(path), 0)
            wrong += long if len(long) > allowed else []
            if len(long) < allowed:
                print(f"{path}: {len(long)} long lines; LONG_LINES may be lowered from {allowed}")
        self.expect_none(wrong)

    def test_lines_of_prose_are_not_too_long(self):
        """Of Markdown; not of tables, of what stands in fences, nor of a link or command alone."""
        wrong = []
        for path in tree.prose_files():
            for number, line in tree.prose_lines(path):
                words = re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", "x", line).split()
                if len(line) > LONGEST_LINE and len(words) > 2:
                    wrong.append(f"{path}:{number}: {len(line)} columns")
        self.expect_none(wrong)

    def test_rows_of_a_table_have_as_many_cells_as_its_head(self):
        """GitHub shows no table where the row of dashes has more cells or fewer."""
        cells = lambda line: len(re.findall(r"(?<!\\)\|", line)) - 1
        self.expect_none(
            [
                f"{path}:{number}: {cells(line)} cells, {cells(table[0][1])} in the head"
                for path in tree.prose_files()
                for table in tree.tables(path)
                for number, line in table
                if cells(line) != cells(table[0][1])
            ]
        )

    def test_code_is_laid_out_by_the_pinned_formatters(self):
        tool = tree.TOP / "tests/format"
        environment = subprocess.run([tool, "--print"], capture_output=True, text=True, check=True)
        if not (pathlib.Path(environment.stdout.strip()) / "complete").exists():
            self.skipTest("tests/format --install has not installed the formatters")
        result = subprocess.run([tool, "--check"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr[-3000:])

    def test_each_folder_of_rooms_has_a_short_readme_whose_links_lead_somewhere(self):
        folders = [
            "common",
            "client",
            "server",
            "worker",
            "worker/rank",
            "tests",
            "tests/bench",
            "tests/fuzz",
            "deploy",
            "proto",
        ]
        measured = re.compile(r"^\| what \| measured.*\n(\|.*\n)*", re.MULTILINE)
        for path in (f"{folder}/README.md" for folder in folders):
            with self.subTest(path):
                text = measured.sub("", (tree.TOP / path).read_text(encoding="utf-8"))
                self.assertLessEqual(len(text.splitlines()), 40)
        dead = [
            f"{path}: {link}"
            for path in tree.markdown_files()
            for link in re.findall(
                r"\]\(([^)#:]+)\)", (tree.TOP / path).read_text(encoding="utf-8")
            )
            if not (tree.TOP / path.parent / link).exists()
        ]
        self.expect_none(dead)

    def test_sentences_of_comments_are_short(self):
        """Up to a full stop, colon or semicolon; each row of a table by itself."""
        self.expect_none(
            [
                f"{path}: {count} words: {sentence}"
                for path in tree.code_files()
                for sentence in tree.comment_sentences(path)
                if (count := len(tree.words(sentence))) > LONGEST_SENTENCE
            ]
        )

    def test_sentences_of_messages_are_short(self):
        """Of texts between quotes, each printed line by itself. Not of SQL and formats."""
        self.expect_none(
            [
                f"{path}: {count} words: {sentence}"
                for path in tree.code_files()
                if path.suffix in (".h", ".cc")
                and path.parts[0] != "tests"
                and path.parts[:2] != ("server", "store")
                for sentence in tree.message_sentences(path)
                if (count := len(tree.words(sentence))) > LONGEST_SENTENCE
            ]
        )

    def test_lines_have_no_tabs_and_no_spaces_at_the_end(self):
        wrong = [
            f"{path}:{number}"
            for path in [*tree.code_files(), *tree.script_files()]
            for number, line in enumerate(tree.lines(path), 1)
            if "\t" in line or line != line.rstrip()
        ]
        self.expect_none(wrong)

    def test_no_two_types_have_one_name(self):
        # The linker takes one of their templates for both, and says nothing.
        places = {}
        for path in tree.code_files():
            for name, line in types(path):
                places.setdefault(name, []).append(f"{path}:{line}")
        self.expect_none(
            [f"{name}: {' '.join(found)}" for name, found in places.items() if len(found) > 1]
        )

    def test_names_say_something(self):
        files = [
            str(path)
            for path in [*tree.code_files(), *tree.script_files()]
            if BANNED_FILE.search(path.name)
        ]
        types = [
            f"{path}:{number}: {match.group(1)}"
            for path in tree.code_files()
            for number, line in enumerate(tree.lines(path), 1)
            if (match := BANNED_TYPE.search(line.split("//")[0]))
        ]
        self.expect_none(files + types)

    def test_unit_tests_do_not_sleep(self):
        wrong = [
            f"{path}:{number}: {line.strip()}"
            for path in tree.code_files()
            if path.parts[0] == "tests"
            for number, line in enumerate(tree.lines(path), 1)
            if SLEEP.search(line.split("//")[0])
        ]
        self.expect_none(wrong)

    def test_files_are_of_one_idea(self):
        sizes = {
            path: len(tree.lines(path))
            for path in [*tree.code_files(), *tree.script_files()]
            if path.suffix != ".proto"
        }
        for path, size in sorted(sizes.items(), key=lambda item: -item[1]):
            if LONG_FILE < size <= LONGEST_FILE:
                print(f"long: {path}: {size} lines")
        self.expect_none(
            [f"{path}: {size} lines" for path, size in sizes.items() if size > LONGEST_FILE]
        )

    def test_functions_are_read_at_a_glance(self):
        found = [
            (length, f"{path}:{start}: {length} lines")
            for path in tree.code_files()
            if path.parts[0] != "tests"
            for start, length in functions(path)
        ]
        for length, place in sorted(found, reverse=True):
            if LONG_FUNCTION < length <= LONGEST_FUNCTION:
                print(f"long: {place}")
        self.expect_none([place for length, place in found if length > LONGEST_FUNCTION])

    def test_no_file_names_a_package_registry(self):
        command = [
            "git",
            "-C",
            tree.TOP,
            "grep",
            "-I",
            "-n",
            "-F",
            *(word for name in REGISTRIES for word in ("-e", name)),
        ]
        self.assertEqual(subprocess.run(command, capture_output=True, text=True).stdout, "")

    def test_no_trace_of_unfinished_work(self):
        words = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
        wrong = [
            f"{path}:{number}"
            for path in [*tree.code_files(), *tree.script_files()]
            for number, line in enumerate(tree.lines(path), 1)
            if words.search(line)
        ]
        self.expect_none(wrong)


if __name__ == "__main__":
    unittest.main()

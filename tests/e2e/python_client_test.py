"""import trainctl beside the program trainctl: both see the same site.

Skipped without the environment that "tests/oracles notebook" makes.
"""

import json
import multiprocessing
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import unicodedata
import unittest

from beside_transformers import oracle_python
from cluster import ALPACA, BIN, TINY, TOP, ClusterTest, endless_job, tiny_job

PACKAGE = BIN.parent / "python"
NOBODY = 65534
README = TOP / "README.md"
NOTEBOOK = TOP / "deploy" / "notebooks" / "first-lab.ipynb"


def listen_as(user, pipe):
    """Tells the port, and how much each connection sends, until it is killed."""
    os.setresuid(user, user, user)
    server = socket.create_server(("127.0.0.1", 0))
    pipe.send(server.getsockname()[1])
    while True:
        connection, _ = server.accept()
        with connection:
            connection.settimeout(20)
            pipe.send(len(connection.recv(4096)))


class Client:
    """How tests run scripts that import trainctl."""

    def require_python(self):
        self.python = oracle_python("notebook")
        if self.python is None:
            self.skipTest("no environment with Jupyter: tests/oracles notebook makes it")
        if not (PACKAGE / "trainctl" / "proto").exists():
            self.skipTest(f"no {PACKAGE}: deploy/build trainctl_python makes it")

    def command(self, name, *arguments):
        return [self.python, "-B", TOP / "tests" / "e2e" / name, *arguments]

    def variables(self, environment):
        """So that nothing of the user's home is read or written."""
        own = {"PYTHONPATH": str(PACKAGE), "TRAINCTL_BIN_DIR": str(BIN)}
        return {"PATH": os.environ["PATH"], **own, **environment}

    def script(self, name, *arguments, stdin, environment, timeout=280):
        """What it prints."""
        result = subprocess.run(
            self.command(name, *arguments),
            input=json.dumps(stdin),
            capture_output=True,
            text=True,
            timeout=timeout,
            env=self.variables(environment),
        )
        self.assertEqual(result.returncode, 0, result.stderr[-3000:])
        return result.stdout

    def session(self, name, stdin, environment):
        printed = self.script("python_session.py", name, stdin=stdin, environment=environment)
        *said, answer = printed.splitlines()
        return said, json.loads(answer)


class PythonClient(Client, ClusterTest):
    def setUp(self):
        self.require_python()
        super().setUp()
        self.environment = {
            "HOME": str(self.dir),
            "TRAINCTL_SERVER": (self.dir / "coordinator.addr").read_text().strip(),
        }

    def do(self, name, **argument):
        return self.session(name, argument, self.environment)

    def test_a_job_from_a_dict_is_followed_and_read(self):
        said, answer = self.do("run", job=tiny_job(), overrides={"train.max_steps": 4})
        self.assertEqual((answer["outcome"], answer["steps"]), ("SUCCEEDED", 4))
        self.assertEqual(answer["listed"], [answer["id"]])
        self.assertRegex(said[-1], r"^from-python \(j1\): SUCCEEDED, step 4/4, loss ")
        self.assertIn("SUCCEEDED, step 4/4", answer["shown"])
        self.assertEqual(answer["events"][0], "submitted")
        lines = self.trainctl("metrics", answer["id"], "-o", "jsonl").stdout.splitlines()
        points = [{"phase": "", **json.loads(line)} for line in lines]
        for point in points:
            del point["time"]
        self.assertGreater(len(points), 40)
        self.assertEqual(answer["points"], points)

    def test_a_kernel_of_an_environment_that_is_not_activated_submits(self):
        """As the wheel is laid out: its programs lie in the package, and none is on PATH."""
        wheel = self.dir / "wheel"
        shutil.copytree(PACKAGE / "trainctl", wheel / "trainctl")
        (wheel / "trainctl" / "bin").mkdir()
        (wheel / "trainctl" / "bin" / "trainctl").symlink_to(BIN / "trainctl")
        alone = {"PATH": "/usr/bin:/bin", "TRAINCTL_BIN_DIR": "", "PYTHONPATH": str(wheel)}
        self.environment.update(alone)
        _, answer = self.do("run", job=tiny_job(), overrides={"train.max_steps": 2})
        self.assertEqual((answer["outcome"], answer["steps"]), ("SUCCEEDED", 2))

    def test_what_others_wrote_does_not_steer_the_terminal(self):
        hostile = "\x1b]0;t\x07\x9b31m\u202e\u2066\u2028\r."
        _, (plain, terminal) = self.do("progress", text=hostile)
        self.assertEqual(plain.count("."), 3, "name, message and note")
        for shown in (plain, terminal.replace("\r\x1b[2K", "")):
            self.assertEqual([c for c in shown if not c.isprintable() and c != "\n"], [])

    def test_lines_of_many_jobs_fit_the_terminal(self):
        _, sent = self.do("rows", jobs=30, called="漢字" * 30, columns=40, lines=10)
        first, again = sent.split("\x1b[9A")
        for drawn in (first, again):
            lines = drawn.replace("\r\x1b[2K", "").splitlines()
            self.assertEqual(len(lines), 9)
            self.assertEqual([line[:3] for line in lines[:7]], ["漢字漢"] * 7)
            self.assertTrue(lines[7].startswith("last (last) ["), "who goes on is shown first")
            self.assertEqual(lines[8], "… 22 more")
            for line in lines:
                wide = sum(unicodedata.east_asian_width(c) == "W" for c in line)
                self.assertLess(len(line) + wide, 40)

    def test_a_curve_lies_over_the_steps_that_are_done(self):
        job = self.submit(tiny_job(train__max_steps=4))
        self.wait_for_end(job)
        _, answer = self.do("plot", job=job)
        self.assertEqual(answer, {"x": [1, 2, 3, 4], "steps": [0, 1, 2, 3], "label": "step"})

    def test_a_comparison_has_the_values_and_the_words_of_the_program(self):
        lab = {
            "base": tiny_job(),
            "experiments": [
                {"name": "first <b>", "set": {}},
                {"name": "second", "set": {"lora.r": 4, "train.max_steps": 9}},
            ],
        }
        _, answer = self.do("compare", path=str(self.write_job(lab)))
        document = self.json("compare", answer["id"], "--base", "second")
        rows = document["rows"]
        self.assertEqual(answer["keys"], [row["key"] for row in rows])
        self.assertEqual(answer["units"], [row["unit"] for row in rows])
        self.assertEqual(answer["values"], [row["values"] for row in rows])
        self.assertEqual(answer["best"], [row["best"] for row in rows])
        self.assertEqual(answer["derived"], "DataFrame")
        self.assertTrue(document["doubtful_sections"])
        for section, doubt in document["doubtful_sections"].items():
            self.assertIn(f">{section} ({doubt})</th>", answer["html"])
        self.assertIn("first &lt;b&gt;", answer["html"])
        self.assertIn("percentages are against second.", answer["html"])
        # The program prints the base first.
        printed = self.trainctl("compare", answer["id"], "--base", "second", "-o", "md").stdout
        cells = [line.strip("| ").split("|") for line in printed.splitlines() if "|" in line]
        words = [[re.sub(r"\\(.)", r"\1", text.strip()) for text in cell] for cell in cells]
        table = {line[0]: line[1:] for line in words}
        for label, first, second in answer["text"]:
            self.assertEqual(table[label], [second, first], label)

    def test_waiting_ends_without_the_job_and_the_job_with_cancel(self):
        _, answer = self.do("stop", job=endless_job())
        self.assertEqual(answer["late"], f"{answer['id']} has not ended after 0.5 s, and goes on")
        self.assertEqual(answer["outcome"], "CANCELLED")

    def test_what_is_wrong_is_an_exception_with_the_words_of_the_program(self):
        job = self.submit(tiny_job())
        self.wait_for_end(job)
        path = str(self.write_job(tiny_job()))
        _, answer = self.do("fail", job=job, path=path)
        for name, kind, *words in (
            ("absent", "NotFound", "describe", "no-such-job"),
            ("setting", "Invalid", "submit", path, "--set", "train.micro_batch=3"),
            ("recipe", "NotFound", "recipes", "path", "no-such-recipe"),
        ):
            by_program = self.trainctl(*words).stderr.strip().removeprefix("trainctl: ")
            self.assertEqual(answer[name], [kind, by_program])
        self.assertIn(" problems in the dict, nothing was submitted", answer["dict"][1])
        self.assertIn("\nthe dict: presicion: ", answer["dict"][1])
        self.assertNotIn("stdin", answer["dict"][1])
        self.assertEqual(answer["value"][0], "Invalid")
        self.assertEqual(answer["names"][0], "Invalid")
        self.assertEqual(
            answer["warned"], ["tiny (j1) has no points of 'los': did you mean 'loss'?"]
        )
        self.assertEqual(answer["points"], 0)

    def test_the_lines_of_the_readme_run(self):
        code = re.search(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.S | re.M).group(1)
        job = tiny_job(name="job", data__val_split_fraction=0.2, train__global_batch_size=8)
        self.write_job(job)
        self.assertEqual(self.run_job(job)[0], 0)
        _, answer = self.do("readme", folder=str(self.dir), code=code)
        self.assertEqual(answer, {"outcome": "SUCCEEDED", "micro": 8})

    def test_the_notebook_of_the_first_lab_runs_in_a_kernel(self):
        blank = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        self.assertEqual([cell for cell in blank["cells"] if cell.get("outputs")], [])
        overrides = {
            "model.path": str(TINY),
            "data.path": str(ALPACA),
            "data.max_rows": 64,
            "train.max_steps": 5,
        }
        printed = self.script(
            "notebook_session.py", str(NOTEBOOK), stdin=overrides, environment=self.environment
        )
        outputs = {}
        for cell in json.loads(printed)["cells"]:
            outputs["".join(cell["source"])] = [
                output["data"] for output in cell.get("outputs", []) if "data" in output
            ]
        waited = self.output_of(outputs, "group.wait()")
        self.assertIn("SUCCEEDED, step 5/5", "".join(waited[0]["text/html"]))
        self.assertIn("<progress", "".join(waited[0]["text/html"]))
        self.assertIn("image/png", self.output_of(outputs, "group.plot")[0])
        compared = "".join(self.output_of(outputs, "group.compare")[0]["text/html"])
        for words in ("lora.r", "memory: optimizer", "percentages are against full."):
            self.assertIn(words, compared)
        again = "".join(self.output_of(outputs, "site.compare")[-1]["text/html"])
        self.assertIn("lora-32", again)
        self.assertEqual([job["outcome"] for job in self.json("status")["jobs"]], ["SUCCEEDED"] * 3)

    def output_of(self, outputs, words):
        [found] = [output for source, output in outputs.items() if words in source]
        return found


class PythonAddress(Client, unittest.TestCase):
    """Which coordinator is meant: the same as the program's, whatever names it."""

    def setUp(self):
        self.require_python()
        if not (BIN / "trainctl").exists():
            self.skipTest(f"not built in {BIN}: trainctl")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.asked = subprocess.Popen(
            self.command("python_session.py", "connect"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.variables({}),
        )
        self.addCleanup(self.asked.communicate)

    def connect(self, environment):
        """(the exception's kind, its words)"""
        self.asked.stdin.write(json.dumps(self.variables(environment)) + "\n")
        self.asked.stdin.flush()
        return json.loads(self.asked.stdout.readline())

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect_same(self, **variables):
        """Nothing listens there, and both say where."""
        environment = {"HOME": str(self.home), **variables}
        program = subprocess.run(
            [BIN / "trainctl", "status"], env=environment, capture_output=True, text=True
        )
        kind, words = self.connect(environment)
        theirs = program.stderr.strip().removeprefix("trainctl: ")
        if kind == "Invalid":
            self.assertEqual(program.returncode, 2)
            # Behind these words each says it in its own spelling.
            told = [re.split(" as |: name it|: start one", text)[0] for text in (theirs, words)]
            self.assertEqual(*told)
            return words
        self.assertEqual((kind, program.returncode), ("Unreachable", 5))
        if words.startswith("no coordinator is known"):
            self.assertIn("no coordinator is known", theirs)
            return words
        place = re.compile(r"no answer from the coordinator at (\S+): ")
        self.assertEqual(place.match(words).group(1), place.match(theirs).group(1))
        return place.match(words).group(1)

    def test_the_first_that_names_one_counts(self):
        self.write(".local/state/trainctl/local/coordinator.addr", "127.0.0.1:1\n")
        self.assertEqual(self.expect_same(), "127.0.0.1:1")
        self.write("state/trainctl/local/coordinator.addr", "127.0.0.1:2\n")
        state = {"XDG_STATE_HOME": str(self.home / "state")}
        self.assertEqual(self.expect_same(**state), "127.0.0.1:2")
        self.write(".config/trainctl/config.json", '{"server": "127.0.0.1:3"}')
        self.assertEqual(self.expect_same(**state), "127.0.0.1:3")
        self.write("config/trainctl/config.json", '{"server": "[::1]:4"}')
        configured = {**state, "XDG_CONFIG_HOME": str(self.home / "config")}
        self.assertEqual(self.expect_same(**configured), "[::1]:4")
        self.assertEqual(
            self.expect_same(**configured, TRAINCTL_SERVER="127.0.0.1:5"), "127.0.0.1:5"
        )

    def test_what_is_no_address_is_refused_where_it_stands(self):
        for server in ("localhost", "localhost:", ":7070", "a:0", "a:65536", "::1:7070", "a:7x"):
            with self.subTest(server):
                self.assertIn("TRAINCTL_SERVER", self.expect_same(TRAINCTL_SERVER=server))
        for text in ("[]", '{"server": 7070}', "{"):
            with self.subTest(text):
                self.write(".config/trainctl/config.json", text)
                self.assertIn("config.json: expected a JSON object", self.expect_same())
        for files in ("", ', "ca": "/ca.pem"', ', "ca": "", "token_file": "/token"'):
            with self.subTest(files):
                site = '{"address": "127.0.0.1:1"' + files + "}"
                text = '{"context": "lab", "contexts": {"lab": ' + site + "}}"
                self.write(".config/trainctl/config.json", text)
                self.assertIn('context lab: "ca" and "token_file" must name', self.expect_same())
        self.write(".config/trainctl/config.json", "{}")
        self.write(".local/state/trainctl/local/coordinator.addr", "nonsense")
        self.assertIn("coordinator.addr: 'nonsense': expected", self.expect_same())
        self.write(".local/state/trainctl/local/coordinator.addr", "")
        self.assertIn("no coordinator is known", self.expect_same())

    def test_a_strangers_listener_is_sent_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("only root can listen as another user")
        ours, theirs = multiprocessing.Pipe()
        stranger = multiprocessing.get_context("fork").Process(
            target=listen_as, args=(NOBODY, theirs)
        )
        stranger.start()
        self.addCleanup(stranger.join)
        self.addCleanup(stranger.kill)
        address = f"127.0.0.1:{ours.recv()}"
        name = pwd.getpwuid(NOBODY).pw_name
        words = self.expect_same_words(HOME=str(self.home), TRAINCTL_SERVER=address)
        self.assertIn(f"user '{name}' listens there, who is neither root nor you", words)
        self.assertIn(f"TRAINCTL_SERVER_USER={name}", words)
        sent = [ours.recv(), ours.recv()]  # by the program, and by the package
        while ours.poll():
            sent.append(ours.recv())
        self.assertEqual(set(sent), {0}, sent)

    def expect_same_words(self, **environment):
        program = subprocess.run(
            [BIN / "trainctl", "status"], env=environment, capture_output=True, text=True
        )
        self.assertEqual(program.returncode, 6, program.stderr)
        kind, words = self.connect(environment)
        self.assertEqual((kind, words), ("Denied", program.stderr.strip()[len("trainctl: ") :]))
        return words


if __name__ == "__main__":
    unittest.main()

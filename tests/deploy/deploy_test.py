"""deploy/ as a folder of files: generated files are those of their generators, scripts are
well-formed."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class GeneratedFiles(unittest.TestCase):
    """Checked in, and what their scripts make today."""

    def test_example_data_is_what_its_generator_makes(self):
        generate = load(DEPLOY / "data" / "generate.py")
        for name, count in generate.FILES.items():
            with self.subTest(name):
                self.assertEqual(
                    (DEPLOY / "data" / name).read_text(encoding="utf-8"), generate.text(count)
                )

    def test_chess_games_are_what_their_generator_makes(self):
        generate = load(DEPLOY / "data" / "generate_chess.py")
        self.assertEqual(
            (DEPLOY / "data" / "chess.jsonl").read_text(encoding="utf-8"), generate.text()
        )

    def test_conversations_are_what_their_generator_makes(self):
        generate = load(DEPLOY / "data" / "generate_chat.py")
        self.assertEqual(
            (DEPLOY / "data" / "chat.jsonl").read_text(encoding="utf-8"), generate.text()
        )

    def test_pictures_and_captions_are_what_their_generator_makes(self):
        made = load(DEPLOY / "data" / "generate_captions.py").files()
        self.assertEqual(len(made), 36 + 2)
        for name, data in made.items():
            with self.subTest(name):
                self.assertEqual((DEPLOY / "data" / name).read_bytes(), data)

    def test_example_rows_are_alpaca_rows_and_distinct(self):
        rows = json.loads((DEPLOY / "data" / "alpaca_2k.json").read_text(encoding="utf-8"))
        self.assertEqual(len({(row["instruction"], row["input"]) for row in rows}), 2000)
        for row in rows:
            self.assertEqual(list(row), ["instruction", "input", "output"])
            self.assertTrue(row["instruction"] and row["output"])

    def test_reference_of_four_devices_is_the_table_of_the_recipes(self):
        generate = load(DEPLOY / "reference" / "generate.py")
        self.assertEqual(generate.FILE.read_text(encoding="utf-8"), generate.text())
        (peaks,) = [
            row["values"]
            for row in generate.comparison()["rows"]
            if row["key"] == "memory_peak_allocated_bytes"
        ]
        self.assertEqual(len(peaks), 15)
        self.assertNotIn(None, peaks)

    def test_models_are_what_their_generator_makes(self):
        generate = load(DEPLOY / "models" / "generate.py")
        here = DEPLOY / "models"
        with tempfile.TemporaryDirectory() as folder:
            generate.make_all(pathlib.Path(folder))
            made = sorted(
                path.relative_to(folder)
                for path in pathlib.Path(folder).rglob("*")
                if path.is_file()
            )
            self.assertGreater(len(made), 10)
            for path in made:
                with self.subTest(str(path)):
                    self.assertEqual((here / path).read_bytes(), (folder / path).read_bytes())


class Jobs(unittest.TestCase):
    ROWS = [
        *(f"single-{n}" for n in range(1, 15)),
        "multi-1",
        "multi-1a",
        *(f"multi-{n}" for n in range(2, 6)),
        "chess-1",
        "chess-2",
        *(f"chess-3-micro-{n}" for n in (2, 4, 8, 16)),
        "chess-3-auto",
        *(f"chess-4-micro-{n}" for n in (1, 4, 8, 16)),
        "further-sgd",
        "further-adamw-8bit",
        "further-checkpointing",
        "further-zero2-offload",
        "llama-3.2-1b",
        "llama-3.1-8b-lora",
        "mistral-7b-lora",
        "qwen2.5-0.5b",
        "qwen2.5-7b-lora",
        "qwen3-0.6b",
        "qwen3-8b-lora",
        "opt-2.7b",
        "opt-2.7b-lora",
        *(f"blip-{n}" for n in (1, 2, 3)),
        "blip-lora",
        "blip-qlora",
    ]

    def test_each_row_of_the_labs_is_a_job_file_made_of_its_lab_file(self):
        made = load(DEPLOY / "recipes" / "generate.py").single_jobs()
        self.assertEqual(sorted(made), sorted(f"{row}.json" for row in self.ROWS))
        for name, text in made.items():
            with self.subTest(name):
                self.assertEqual((DEPLOY / "recipes" / name).read_text(encoding="utf-8"), text)

    def test_each_names_a_model_and_data_that_are_shipped_or_made_by_example_model(self):
        for path in sorted((DEPLOY / "recipes").glob("*.json")):
            with self.subTest(path.name):
                job = json.loads(path.read_text())
                job = job.get("base", job)
                model = job["model"]["path"]
                self.assertTrue(
                    model == "../models/SmolLM2-135M"
                    or (path.parent / model / "config.json").is_file(),
                    model,
                )
                self.assertTrue((path.parent / job["data"]["path"]).is_file())


class SetupKilled(unittest.TestCase):
    """deploy/setup is ended by SIGKILL with all that it started, and run again.

    The packages are there and the downloads are fakes.
    """

    # python3 -m venv DIR makes DIR/bin/python3, this script again, whose pip leaves a torn file
    # behind while it works. At the moment that STALL names it says so and waits for ever.
    PYTHON = """#!/bin/sh
stall() { [ "$STALL" != "$1" ] || { echo reached >"$FIFOS/reached"; read -r _ <"$FIFOS/never"; }; }
if [ "$2" = venv ]; then
  mkdir -p "$3/bin"; stall venv; cp "$0" "$3/bin/python3"
else
  site=$(dirname "$0")/../lib/python3.11/site-packages
  mkdir -p "$site"; echo half >"$site/torn"; stall pip; mv "$site/torn" "$site/whole"; stall end
fi
"""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        packages = (DEPLOY / "packages/apt").read_text()
        for name, text in (
            ("python3", self.PYTHON),
            ("dpkg-query", f"#!/bin/sh\nsed 's/^/installed /' <<'END'\n{packages}END\n"),
        ):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        for fifo in ("reached", "never"):
            os.mkfifo(self.folder / fifo)
        self.environment = {
            "PATH": f"{self.folder}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "FIFOS": str(self.folder),
        }

    def kill_at(self, moment):
        process = subprocess.Popen(
            [DEPLOY / "setup"],
            env={**self.environment, "STALL": moment},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.assertEqual((self.folder / "reached").read_text(), "reached\n")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def test_the_next_run_installs_whole_whenever_it_was_killed(self):
        for moment in ("venv", "pip", "end"):
            with self.subTest(moment):
                shutil.rmtree(self.folder / ".cache", ignore_errors=True)
                self.kill_at(moment)
                again = subprocess.run(
                    [DEPLOY / "setup"],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(again.returncode, 0, again.stderr)
                found = {path.name for path in (self.folder / ".cache" / "trainctl").rglob("*")}
                self.assertEqual(found & {"complete", "whole", "torn"}, {"complete", "whole"})

    def test_what_needs_no_libtorch_is_installed_without_it(self):
        subprocess.run(
            [DEPLOY / "setup", "--without-torch"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        installed = [path.name for path in (self.folder / ".cache/trainctl").iterdir()]
        self.assertEqual([name for name in installed if name.startswith("toolchain-")], [])
        self.assertNotEqual([name for name in installed if name.startswith("arrow-")], [])


class Scripts(unittest.TestCase):
    TOP = DEPLOY.parent
    SCRIPTS = [
        "deploy/setup",
        "deploy/build",
        "deploy/local",
        "deploy/quickstart",
        "tests/run",
        ".ci/run",
    ]

    def test_each_parses_and_is_executable(self):
        for name in self.SCRIPTS:
            with self.subTest(name):
                self.assertTrue(os.access(self.TOP / name, os.X_OK))
                result = subprocess.run(
                    ["bash", "-n", self.TOP / name], capture_output=True, text=True
                )
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_wrong_option_exits_2_and_shows_the_usage(self):
        for name in ("setup", "build", "local", "quickstart"):
            with self.subTest(name):
                result = subprocess.run(
                    [DEPLOY / name, "--no-such-option"], capture_output=True, text=True
                )
                self.assertEqual(result.returncode, 2)
                self.assertIn(f"usage: deploy/{name}", result.stderr)

    def test_setup_lists_what_is_missing_where_there_is_neither_root_nor_sudo(self):
        with tempfile.TemporaryDirectory() as folder:
            deploy, path = pathlib.Path(folder) / "deploy", pathlib.Path(folder) / "path"
            (deploy / "packages").mkdir(parents=True), path.mkdir()
            shutil.copy(DEPLOY / "setup", deploy)
            (deploy / "packages/apt").write_text("bash\nno-such-package-1\nno-such-package-2\n")
            for name in ("pip", "pip-arrow"):
                (deploy / "packages" / name).write_text("")
            for tool in ("bash", "dirname", "sha256sum", "cut", "dpkg-query", "sed", "grep"):
                (path / tool).symlink_to(shutil.which(tool))
            (path / "id").write_text("#!/bin/sh\necho 1000\n")
            (path / "id").chmod(0o755)
            result = subprocess.run(
                [shutil.which("bash"), deploy / "setup"],
                capture_output=True,
                text=True,
                env={"PATH": str(path), "HOME": folder, "TRAINCTL_TOOLCHAIN": "/no/such/folder"},
            )
        self.assertIn("apt-get install no-such-package-1 no-such-package-2\n", result.stderr)
        self.assertIn("TRAINCTL_TOOLCHAIN=/no/such/folder holds no LibTorch", result.stderr)
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main()

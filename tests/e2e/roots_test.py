"""A worker whose options say whose jobs run there, and what they read and write."""

import json
import os
import pathlib
import shutil

import tls_test
from cluster import ALPACA, TOP, tiny_job

BAD_INPUT = 2  # exit status


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


if __name__ == "__main__":
    tls_test.unittest.main()

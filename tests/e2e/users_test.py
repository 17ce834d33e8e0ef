"""Several Unix users at one coordinator: who may do what is decided by who they are."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from cluster import BIN, TOP, ClusterTest, endless_job, tiny_job

NOBODY = 65534
DENIED = 6  # exit status


class Users(ClusterTest):
    WORKERS = 1
    LOCAL = (BIN / "trainctl", "local")
    UP_OPTIONS = ("--role", "nobody=user")

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be several users")
        try:
            subprocess.run([BIN / "trainctl", "--version"], user=NOBODY, check=True)
        except PermissionError:
            self.skipTest(f"{BIN} is closed to other users")
        super().setUp()

    def trainctl_of_nobody(self, *arguments):
        address = (self.dir / "coordinator.addr").read_text().strip()
        return subprocess.run(
            [BIN / "trainctl", *map(str, arguments)],
            user=NOBODY,
            cwd="/",
            env={"TRAINCTL_SERVER": address, "HOME": "/nonexistent", "USER": "root"},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def test_another_user_sees_all_jobs_and_ends_only_their_own(self):
        job_id = self.submit(endless_job())
        self.wait_for_step(job_id, 1)
        seen = self.trainctl_of_nobody("status", job_id, "-o", "json")
        self.assertEqual(seen.returncode, 0, seen.stderr)
        self.assertEqual(json.loads(seen.stdout)["jobs"][0]["owner"], "root")
        refused = self.trainctl_of_nobody("cancel", job_id)
        self.assertEqual(refused.returncode, DENIED, refused.stderr)
        self.assertIn(f"job {job_id} belongs to root: ask them or an operator", refused.stderr)
        self.assertEqual(self.job(job_id)["state"], "RUNNING")

        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(tiny_job(name="theirs"), file)
            file.flush()
            pathlib.Path(file.name).chmod(0o644)
            accepted = self.trainctl_of_nobody("submit", file.name, "-o", "json")
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        own_id = json.loads(accepted.stdout)["id"]
        self.assertEqual(self.job(own_id)["owner"], "nobody", "whatever USER claims")
        self.assertEqual(self.trainctl_of_nobody("cancel", own_id).returncode, 0)

        self.assertEqual(self.trainctl_of_nobody("admin", "audit").returncode, DENIED)
        log = [
            (entry["actor"], entry["action"], entry["subject"], entry["verdict"].split(":")[0])
            for entry in self.json("admin", "audit")["audit"]
        ]
        self.assertEqual(
            log,
            [
                ("nobody", "cancel", own_id, "accepted"),
                ("nobody", "submit", own_id, "accepted"),
                ("nobody", "cancel", job_id, "denied"),
                ("root", "submit", job_id, "accepted"),
            ],
        )


class OnePersonsCluster(Users):
    """As deploy/local makes it where no role is named."""

    UP_OPTIONS = ()
    test_another_user_sees_all_jobs_and_ends_only_their_own = None

    def test_other_users_may_do_nothing(self):
        refused = self.trainctl_of_nobody("status")
        self.assertEqual(refused.returncode, DENIED, refused.stderr)


class Policy(ClusterTest):
    """As trainctl local makes it with the policy that ships."""

    WORKERS = 1
    LOCAL = (BIN / "trainctl", "local")
    UP_OPTIONS = ("--policy", TOP / "deploy" / "policy.example.json")

    def test_it_holds(self):
        job = endless_job(resources={"priority": 100})
        result = self.trainctl("submit", self.write_job(job))
        self.assertIn("this site's policy", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_what_a_job_leaves_unsaid_is_the_policys(self):
        job = self.submit(endless_job())
        spec = self.json("describe", job)["jobs"][0]["job"]
        self.assertEqual(spec["resources"]["time_limit"], "1d")
        self.trainctl("cancel", job)
        self.wait_for_end(job)


if __name__ == "__main__":
    unittest.main()

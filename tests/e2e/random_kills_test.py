"""Processes are killed at random while jobs come and run; each is started again, as systemd does.

TRAINCTL_KILLS_SEED gives the seed of a run that is to be seen again; processes race all the same.
"""

import json
import os
import pathlib
import random
import subprocess
import threading
import time
import unittest

from cluster import BIN, ClusterTest, tiny_job

KILLS = 20
KILLING_SECONDS = 30
JOBS = 8
STEPS = 12
SERVICES = ("traincoordinator", "trainworker")
VICTIMS = (*SERVICES, "trainshim", "trainrank")
WATCH_SECONDS = 0.05


class Watch(threading.Thread):
    """Looks again and again at what runs and at what trainctl tells, and keeps each fault."""

    def __init__(self, test):
        super().__init__()
        self.test, self.faults, self.looks, self.answers = test, [], 0, 0
        self.accepted, self.unanswered, self.outcomes = [], [], {}
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(WATCH_SECONDS):
            self.look_at_ranks()
            self.look_at_jobs()
            self.looks += 1

    def end(self):
        self.over.set()
        self.join()
        self.look_at_jobs()

    def look_at_ranks(self):
        """No two processes at once are the same rank of a job, or hold the same device."""
        holders = {}
        for rank in self.test.processes("trainrank"):
            plan = pathlib.Path(
                rank.value_of("--plan")
            )  # worker-N/ranks/JOB-ATTEMPT-RANK/plan.json
            job, _, number = plan.parent.name.split("-")
            for key in (f"rank {number} of {job}", plan.parents[2].name):
                holders.setdefault(key, []).append(rank)
        doubled = {key: ranks for key, ranks in holders.items() if len(ranks) > 1}
        if not doubled:
            return
        alive = set(self.test.processes("trainrank"))  # the first look takes time
        for key, ranks in doubled.items():
            if alive.issuperset(ranks):
                self.faults.append(f"{key} is there twice: {ranks}")

    def look_at_jobs(self):
        accepted = list(self.accepted)
        answer = self.test.trainctl("status", "-o", "json")
        if answer.returncode != 0:
            return  # nobody is there to ask
        self.answers += 1
        jobs = {job["id"]: job for job in json.loads(answer.stdout)["jobs"]}
        self.faults += [f"{job_id} is lost" for job_id in accepted if job_id not in jobs]
        holders = {}
        for job in jobs.values():
            self.look_at_outcome(job)
            if job["state"] not in ("QUEUED", "FINISHED"):
                for device in job["placement"]:
                    holders.setdefault(device, []).append(job["id"])
        self.faults += [
            f"{device} is promised to {ids}" for device, ids in holders.items() if len(ids) > 1
        ]

    def look_at_outcome(self, job):
        end = (job["outcome"], job["message"], job["attempt"])
        known = self.outcomes.get(job["id"])
        if known and (job["state"], end) != ("FINISHED", known):
            self.faults.append(f"{job['id']} ended as {known}, and now: {job['state']} {end}")
        if job["state"] == "FINISHED":
            self.outcomes.setdefault(job["id"], end)


class RandomKills(ClusterTest):
    def setUp(self):
        self.started, self.known_address = [], None
        self.addCleanup(lambda: [process.wait() for process in self.started])  # the last of all
        super().setUp()
        self.known_address = super().coordinator_address()
        self.seed = int(os.environ.get("TRAINCTL_KILLS_SEED") or random.randrange(1 << 32))
        print(f"TRAINCTL_KILLS_SEED={self.seed}", flush=True)
        self.random = random.Random(self.seed)
        self.services = [p for p in self.processes() if p.program in SERVICES]

    def coordinator_address(self):
        return (
            self.known_address or super().coordinator_address()
        )  # the file goes with each coordinator

    # ---- the service manager ----

    def start_missing(self):
        running = {(process.program, process.arguments) for process in self.processes()}
        for service in self.services:
            if (service.program, service.arguments) not in running:
                with open(self.dir / "log" / f"{service.program}-again.log", "ab") as log:
                    command = [BIN / service.program, *service.arguments]
                    self.started.append(
                        subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
                    )

    # ---- what happens at random ----

    def job_of(self, number, attempt):
        devices = 2 if number % 3 == 2 else 1
        name = f"job-{number}-{attempt}"  # the one before may be there though its answer was lost
        return tiny_job(
            name=name,
            devices=devices,
            train__max_steps=STEPS,
            output__dir=str(self.dir / "out" / name),
            checkpoint__every_steps=2,
            resources__max_restarts=10,
        )

    def submit_jobs(self, watch, pauses):
        for number, pause in enumerate(pauses):
            for attempt in range(100):
                path = self.write_job(self.job_of(number, attempt))
                answer = self.trainctl("submit", path, "-o", "json")
                if answer.returncode == 0:
                    break
                watch.unanswered.append(path.stem)
                time.sleep(WATCH_SECONDS)
            watch.accepted.append(json.loads(answer.stdout)["id"])
            time.sleep(pause)

    def kill_one(self):
        """What was killed; only services are there while no job runs."""
        program = self.random.choice(VICTIMS)
        choice, turn = self.random.random(), time.monotonic()
        while not (found := self.processes(program)) and time.monotonic() - turn < 1:
            time.sleep(WATCH_SECONDS)
        if not found:
            return None
        victim = sorted(found, key=lambda process: process.arguments)[int(choice * len(found))]
        try:
            victim.kill()
        except ProcessLookupError:
            return None  # it ended by itself
        return program

    def kill_at_random(self):
        killed = []
        deadline = time.monotonic() + KILLING_SECONDS
        while len(killed) < KILLS and time.monotonic() < deadline:
            time.sleep(self.random.uniform(0, 1))
            for _ in range(self.random.choice((1, 1, 2))):
                if program := self.kill_one():
                    killed.append(program)
            time.sleep(self.random.choice((0, 0.1, 0.5)))
            self.start_missing()
        return killed

    def expect_no_job_twice(self, watch):
        """Each submit made one job; one without an answer may have made its own."""
        known = self.json("status", "-n", "1000")["jobs"]
        names = [job["name"] for job in known]
        self.assertEqual(len(names), len(set(names)), names)
        others = [job["name"] for job in known if job["id"] not in watch.accepted]
        self.assertLessEqual(set(others), set(watch.unanswered), f"seed {self.seed}")

    # ---- the test ----

    def test_whatever_is_killed_nothing_is_lost_and_nothing_is_doubled(self):
        watch = Watch(self)
        pauses = [self.random.uniform(0, 1.5) for _ in range(JOBS)]
        submitter = threading.Thread(target=self.submit_jobs, args=(watch, pauses))
        watch.start()
        submitter.start()
        try:
            killed = self.kill_at_random()
        finally:
            self.start_missing()
            submitter.join()
        self.eventually("all is up", 20, lambda: self.trainctl("status").returncode == 0)
        jobs = [self.wait_for_end(job_id, 60) for job_id in watch.accepted]
        watch.end()
        ends = [(job["id"], job["outcome"], job["attempt"]) for job in jobs]
        print(f"killed: {' '.join(killed)}\n{watch.looks} looks, {watch.answers} answers\n{ends}")
        self.assertEqual(watch.faults, [], f"seed {self.seed}")
        self.assertEqual(len(jobs), JOBS)
        self.expect_no_job_twice(watch)
        self.assertGreater(watch.answers, KILLS)
        self.assertGreaterEqual(len(killed), KILLS // 2)
        succeeded = [job["id"] for job in jobs if job["outcome"] == "SUCCEEDED"]
        self.assertGreaterEqual(len(succeeded), JOBS // 2, ends)
        for job_id in succeeded:
            steps = [point["step"] for point in self.points(job_id, "loss")]
            self.assertEqual(steps, list(range(STEPS)), f"{job_id}, seed {self.seed}")


if __name__ == "__main__":
    unittest.main()

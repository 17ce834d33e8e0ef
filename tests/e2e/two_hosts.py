"""Two hosts for one test: network namespaces with a name, a link and keys of their own.

The coordinator and two workers are on host a, two workers on host b; all speak TLS. It needs root
and a kernel that lets one make namespaces.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import processes
from cluster import BIN, POLL_SECONDS, Patience, tiny_job

ADDRESSES = {"a": "10.213.77.1", "b": "10.213.77.2"}
SECOND_ADDRESSES = {"a": "10.213.77.5", "b": "10.213.77.6"}  # of those with two links
SUBNET = "10.213.77.0/29"
# Rank r's micro batch k is the one device's, so that all counts of devices agree bit for bit.
SAME_BATCH = {
    "deterministic": True,
    "train__global_batch_size": 4,
    "train__micro_batch_size": 1,
}
RUN = {"PATH": os.environ["PATH"], "TRAINCTL_BIN_DIR": str(BIN)}
STANDSTILL_SECONDS = 4


def run(*command, check=True):
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=120, check=check
    )


def hex_address(address):
    """As /proc/net/tcp has it."""
    return "".join(f"{int(part):02X}" for part in reversed(address.split(".")))


class Host:
    """A network namespace, in which programs see a host name of their own."""

    def __init__(self, test, name):
        self.name = name
        self.space = f"trainctl-{os.getpid()}-{name}"
        self.mounts = None  # a process in its mount namespace, where it has disks of its own
        run("ip", "netns", "add", self.space)
        test.addCleanup(run, "ip", "netns", "del", self.space)
        run("ip", "-n", self.space, "link", "set", "lo", "up")

    def take_link(self, device):
        run("ip", "link", "set", device, "netns", self.space)
        run("ip", "-n", self.space, "link", "set", device, "name", "data")
        run("ip", "-n", self.space, "address", "add", f"{ADDRESSES[self.name]}/29", "dev", "data")
        self.set_link("up")

    def take_second_link(self, device):
        """In the subnet of the first, which has its route: only what leaves from the second
        address takes the second link. So hosts with two links in one subnet have it."""
        own = SECOND_ADDRESSES[self.name]
        run("ip", "link", "set", device, "netns", self.space)
        for words in (
            ("link", "set", device, "name", "second"),
            ("address", "add", f"{own}/29", "dev", "second", "noprefixroute"),
            ("link", "set", "second", "up"),
            ("route", "add", SUBNET, "dev", "second", "table", "77"),
            ("rule", "add", "from", own, "table", "77"),
        ):
            run("ip", "-n", self.space, *words)
        # A link tells who has its own addresses, and asks with them, only.
        settings = ["net.ipv4.conf.all.arp_ignore=1", "net.ipv4.conf.all.arp_announce=2"]
        run("nsenter", f"--net=/run/netns/{self.space}", "sysctl", "--quiet", "--write", *settings)

    def bytes_sent(self, link):
        shown = run("ip", "-n", self.space, "-j", "-s", "link", "show", "dev", link).stdout
        return json.loads(shown)[0]["stats64"]["tx"]["bytes"]

    def set_link(self, state):
        run("ip", "-n", self.space, "link", "set", "data", state)

    def take_disk(self, test, folder):
        """Its own at this folder, which no other host sees."""
        script = 'mount -t tmpfs none "$0" && echo mounted && exec sleep infinity'
        self.mounts = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, folder],
            stdout=subprocess.PIPE,
            text=True,
        )
        test.addCleanup(self.mounts.communicate)
        test.addCleanup(self.mounts.kill)
        test.assertEqual(self.mounts.stdout.readline(), "mounted\n")

    def command(self, *arguments):
        script = 'hostname "$0"; exec "$@"'
        enter = ["nsenter", f"--net=/run/netns/{self.space}"]
        if self.mounts is not None:
            enter.append(f"--mount=/proc/{self.mounts.pid}/ns/mnt")
        enter += ["unshare", "--uts"]
        return [*enter, "sh", "-c", script, f"host-{self.name}", *map(str, arguments)]


def obstacle():
    """Why two hosts can't be made here; empty: they can."""
    for program in ("ip", "nsenter", "unshare"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    name = f"trainctl-probe-{os.getpid()}"
    made = run("ip", "netns", "add", name, check=False)
    if made.returncode != 0:
        return "network namespaces can't be made: " + made.stderr.strip()
    link = run("ip", "-n", name, "link", "add", "t0", "type", "veth", "peer", "name", "t1",
               check=False)  # fmt: skip
    name_of_host = run("nsenter", f"--net=/run/netns/{name}", "unshare", "--uts", "true",
                       check=False)  # fmt: skip
    run("ip", "netns", "del", name)
    if link.returncode != 0:
        return "the kernel has no veth: " + link.stderr.strip()
    return name_of_host.stderr.strip()


class TwoHostsTest(Patience, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root may make network namespaces")
        if why := obstacle():
            raise unittest.SkipTest(why)

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="trainctl-hosts-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.addCleanup(self.expect_nothing_left)
        self.hosts = {name: Host(self, name) for name in ADDRESSES}
        ends = self.ends_of_link("a", "b")
        self.make_link(*ends)
        for host, end in zip(self.hosts.values(), ends, strict=True):
            host.take_link(end)
        self.prepare_hosts()
        self.environment = {**RUN, "HOME": str(self.dir / "home")}
        self.running = []
        self.addCleanup(self.stop_all)
        self.start_site()

    @staticmethod
    def ends_of_link(*names):
        return [f"tc{os.getpid() % 100000}{name}" for name in names]

    # ---- what a test may have otherwise ----

    def make_link(self, one, other):
        """Two devices; what goes into one comes out of the other."""
        run("ip", "link", "add", one, "type", "veth", "peer", "name", other)

    def prepare_hosts(self):
        """Before anything runs there."""

    def worker_options(self, host):
        """Of the workers on it."""
        return ()

    # ---- the site ----

    def start_site(self):
        keys = self.dir / "keys"
        self.on("a", BIN / "traincoordinator", "init", "--dir", keys, "--name", ADDRESSES["a"])
        self.start("a", "coordinator", BIN / "traincoordinator", "--dir", self.dir / "site",
                   "--site-keys", keys, "--listen", f"{ADDRESSES['a']}:7443",
                   "--address-file", self.dir / "address")  # fmt: skip
        self.eventually("it listens", 60, (self.dir / "address").exists)
        self.trainctl("context", "add", "admin", "--address", f"{ADDRESSES['a']}:7443",
                      "--ca", keys / "ca.pem", "--token-file", keys / "admin.token")  # fmt: skip
        for name in self.hosts:
            own, token = self.dir / f"keys-{name}", self.dir / f"join-{name}.token"
            self.trainctl("admin", "worker-token", f"host-{name}", "--to", token)
            self.on(name, BIN / "trainworker", "join", "--coordinator",
                    f"{ADDRESSES['a']}:7443", "--ca", keys / "ca.pem", "--join-token-file", token,
                    "--keys", own)  # fmt: skip
            for slot in (0, 1):
                self.start(name, f"worker-{name}-{slot}", BIN / "trainworker", "--coordinator",
                           f"{ADDRESSES['a']}:7443", "--keys", own, "--slots", 4, "--device",
                           f"cpu:{slot}", "--dir", self.dir / f"worker-{name}-{slot}",
                           *self.worker_options(name))  # fmt: skip
        self.eventually("four workers are READY", 60, lambda: self.states() == ["READY"] * 4)

    def on(self, host, *arguments):
        result = subprocess.run(
            self.hosts[host].command(*arguments),
            capture_output=True,
            text=True,
            timeout=300,
            env=self.environment,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def start(self, host, name, *arguments):
        with open(self.dir / f"{name}.log", "w") as log:
            self.running.append(
                subprocess.Popen(
                    self.hosts[host].command(*arguments),
                    stdout=log,
                    stderr=log,
                    env=self.environment,
                )
            )

    def stop_all(self):
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            process.wait(60)
        for process in processes.processes_of(self.dir):
            process.kill()

    def expect_nothing_left(self):
        self.eventually("nothing is left", 60, lambda: not processes.processes_of(self.dir))

    def trainctl(self, *arguments, host="a"):
        return self.on(host, BIN / "trainctl", *arguments).stdout

    def json(self, *arguments):
        return json.loads(self.trainctl(*arguments, "-o", "json"))

    def states(self):
        return [worker["state"] for worker in self.json("workers")["workers"]]

    def state_of(self, host):
        """Of its workers."""
        return {
            worker["state"]
            for worker in self.json("workers")["workers"]
            if worker["name"].startswith(f"host-{host}/")
        }

    def submit(self, **changes):
        path = self.dir / f"{changes['name']}.json"
        path.write_text(json.dumps(tiny_job(**{**SAME_BATCH, **changes})))
        return self.json("submit", path)["id"]

    def job(self, job_id):
        return self.json("status", job_id)["jobs"][0]

    def wait_for_step(self, job_id, step):
        self.eventually(f"step {step}", 120, lambda: self.job(job_id)["step"] >= step)

    def wait_for_standstill(self, job_id, seconds=STANDSTILL_SECONDS):
        """For so long that nothing but the link can be the reason."""
        step, since = None, time.monotonic()
        deadline = since + 60
        while step is None or time.monotonic() < since + seconds:
            self.assertLess(time.monotonic(), deadline, "it makes steps over a link that is cut")
            if (now := self.job(job_id)["step"]) != step:
                step, since = now, time.monotonic()
            time.sleep(POLL_SECONDS)

    def wait_for_end(self, job_id, seconds=120):
        self.eventually("it ends", seconds, lambda: self.job(job_id)["state"] == "FINISHED")
        return self.job(job_id)

    def losses(self, job_id):
        lines = self.trainctl("metrics", job_id, "-o", "jsonl").splitlines()
        points = [json.loads(line) for line in lines]
        found = [(point["step"], point["value"]) for point in points if point["name"] == "loss"]
        self.assertEqual(len(found), len({step for step, _ in found}), "a step stands there twice")
        return [value for _, value in sorted(found)]

    def ranks(self):
        return [
            process
            for process in processes.processes_of(self.dir)
            if process.program == "trainrank"
        ]

    def sockets_of(self, process):
        """The own addresses of the sockets that this process has, as in /proc/net/tcp."""
        folder = pathlib.Path(f"/proc/{process.pid}/fd")
        own = {os.readlink(entry) for entry in folder.iterdir() if entry.is_symlink()}
        found = []
        for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in own:
                found.append(fields[1].split(":")[0])
        return found

    def attempts(self, job_id):
        return self.json("describe", job_id)["jobs"][0]["attempts"]

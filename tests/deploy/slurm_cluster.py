"""A real Slurm on loopback, of the user who runs it: virtual nodes of two CPUs and two GPUs, which
are other devices that Slurm takes for them. Without systemd and munge. Two partitions: jobs of
`high` requeue those of `low`, the default one."""

import contextlib
import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import time
import unittest

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
NODES = ("n1", "n2")
GPUS = ("/dev/null", "/dev/zero")
PATIENCE_SECONDS = 60

CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmctldLogFile={folder}/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
SchedulerType=sched/backfill
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=60
MinJobAge=5
InactiveLimit=0
GresTypes=gpu
ReturnToService=2
"""


def require():
    missing = [name for name in PROGRAMS if find(name) is None]
    if missing:
        raise unittest.SkipTest(f"Slurm is not installed: {', '.join(missing)} (slurm-wlm)")


def find(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Cluster:
    def __init__(self, folder):
        require()
        self.folder = pathlib.Path(folder)
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.daemons = []
        (self.folder / "state").mkdir(parents=True)
        controller, *ports = free_ports(1 + len(NODES))
        text = CONFIGURATION.format(
            controller=controller, user=getpass.getuser(), folder=self.folder
        )
        for name, port in zip(NODES, ports):
            (self.folder / name).mkdir()
            text += f"NodeName={name} NodeAddr=127.0.0.1 Port={port} CPUs=2 Gres=gpu:2"
            text += " State=UNKNOWN\n"
        for name, tier, more in (("low", 1, "Default=YES GraceTime=60"), ("high", 2, "")):
            text += f"PartitionName={name} Nodes=ALL State=UP PriorityTier={tier} {more}\n"
        (self.folder / "slurm.conf").write_text(text)
        of_nodes = [f"NodeName={name} Name=gpu File={gpu}\n" for name in NODES for gpu in GPUS]
        (self.folder / "gres.conf").write_text("".join(of_nodes))

    def start(self):
        self.daemon("slurmctld", "-D")
        for name in NODES:
            self.daemon("slurmd", "-D", "-N", name)
        self.until(lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D") == str(len(NODES)))

    def daemon(self, name, *arguments):
        with (self.folder / f"{name}-{len(self.daemons)}.out").open("w") as log:
            self.daemons.append(
                subprocess.Popen(
                    [find(name), *arguments],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def stop(self):
        self.run("scancel", "--user", getpass.getuser())
        with contextlib.suppress(TimeoutError):
            self.until(lambda: self.run("squeue", "-h") == "")
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def run(self, *command):
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True
        ).stdout.strip()

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError("not in time")
            time.sleep(0.1)
        return value

"""Our processes as /proc shows them."""

import dataclasses
import json
import os
import pathlib
import select
import signal

PROGRAMS = ("traincoordinator", "trainworker", "trainshim", "trainrank")


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    program: str
    arguments: tuple

    def kill(self, number=signal.SIGKILL):
        """Returns from SIGKILL when the process is gone, with its locks and ports."""
        process = os.pidfd_open(self.pid)
        try:
            signal.pidfd_send_signal(process, number)
            if number == signal.SIGKILL:
                select.select([process], [], [])
        finally:
            os.close(process)

    def value_of(self, option):
        """Of --option VALUE or --option=VALUE on its command line."""
        for argument, after in zip(self.arguments, (*self.arguments[1:], "")):
            if argument == option:
                return after
            if argument.startswith(option + "="):
                return argument[len(option) + 1 :]
        return None

    def plan(self):
        """Of a rank: what it runs."""
        return json.loads(pathlib.Path(self.value_of("--plan")).read_text())


def read_process(pid):
    try:
        arguments = (
            pathlib.Path(f"/proc/{pid}/cmdline")
            .read_bytes()
            .decode(errors="replace")
            .split("\0")[:-1]
        )
    except OSError:
        return None
    program = os.path.basename(arguments[0]) if arguments else ""
    return Process(int(pid), program, tuple(arguments[1:])) if program in PROGRAMS else None


def processes_of(folder):
    """Those whose command line names a path under the folder."""
    found = [read_process(pid) for pid in os.listdir("/proc") if pid.isdigit()]
    return [
        process
        for process in found
        if process and any(str(folder) in argument for argument in process.arguments)
    ]

"""/metrics as Debian's own Prometheus takes it."""

import json
import re
import shutil
import socket
import subprocess
import time
import unittest
import urllib.parse
import urllib.request

from cluster import TOP, ClusterTest, tiny_job

DEADLINE_SECONDS = 60
MISSING = [name for name in ("prometheus", "promtool") if shutil.which(name) is None]


def free_port():
    """Free a moment ago: Prometheus does not tell which port the kernel chose for it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]


@unittest.skipIf(MISSING, f"no {' and no '.join(MISSING)} on this host")
class PrometheusTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.target = (self.dir / "dashboard.addr").read_text().strip()
        self.assertEqual(self.run_job(tiny_job())[0], 0)

    def start_prometheus(self):
        config = (TOP / "deploy" / "grafana" / "prometheus.yml").read_text()
        file = self.dir / "prometheus.yml"
        file.write_text(config.replace("127.0.0.1:7080", self.target).replace("10s", "1s"))
        self.address = f"127.0.0.1:{free_port()}"
        command = ["prometheus", f"--config.file={file}", f"--web.listen-address={self.address}"]
        command += [f"--storage.tsdb.path={self.dir / 'prometheus'}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

    def query(self, expression):
        """{labels as text: value}; nothing while Prometheus does not answer."""
        words = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/query?{words}") as answer:
                rows = json.load(answer)["data"]["result"]
        except OSError:
            return {}
        return {
            " ".join(v for k, v in row["metric"].items() if k not in ("__name__", "instance")): (
                float(row["value"][1])
            )
            for row in rows
        }

    def wait_for(self, expression):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not (rows := self.query(expression)):
            self.assertLess(time.monotonic(), deadline, expression)
            time.sleep(0.2)
        return rows

    def test_promtool_finds_no_fault(self):
        with urllib.request.urlopen(f"http://{self.target}/metrics") as answer:
            text = answer.read()
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, b"", b""))

    def test_prometheus_scrapes_it_and_grafanas_questions_have_answers(self):
        self.start_prometheus()
        self.assertEqual(self.wait_for("up == 1"), {"trainctl": 1})
        ended = self.wait_for("trainctl_jobs_ended")
        self.assertEqual(ended, {"trainctl SUCCEEDED": 1})
        self.assertEqual(sum(self.wait_for("trainctl_devices").values()), self.WORKERS)
        dashboard = json.loads((TOP / "deploy" / "grafana" / "trainctl.json").read_text())
        with urllib.request.urlopen(f"http://{self.target}/metrics") as answer:
            exported = set(re.findall(r"^# TYPE (\w+)", answer.read().decode(), re.MULTILINE))
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                with self.subTest(panel["title"]):
                    named = set(re.findall(r"trainctl_\w+?(?=_bucket|\b)", target["expr"]))
                    self.assertTrue(named)
                    self.assertLessEqual(named, exported)
                    if "_gpu_" not in target["expr"]:  # of CPU slots there is none
                        self.wait_for(target["expr"])


if __name__ == "__main__":
    unittest.main()

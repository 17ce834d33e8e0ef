"""Prints what a real `mlflow server` answers of a file store by its REST API: experiments, runs,
curves."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

SECONDS = 90


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server:
    def __init__(self, folder):
        self.address = f"http://127.0.0.1:{free_port()}"
        port = self.address.rpartition(":")[2]
        command = ["mlflow", "server", "--backend-store-uri", folder, "--port", port]
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command, "--workers", "1"],
            env={**os.environ, "MLFLOW_ALLOW_FILE_STORE": "true"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def answer(self, path, **body):
        request = urllib.request.Request(
            f"{self.address}/{path}",
            data=json.dumps(body).encode() if body else None,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return response.read().decode()

    def ask(self, path, **body):
        return json.loads(self.answer(f"api/2.0/mlflow/{path}", **body))

    def wait(self):
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            try:
                return self.answer("health")
            except OSError:
                time.sleep(0.1)
        self.process.kill()
        raise SystemExit(self.process.communicate()[0])


server = Server(sys.argv[1])
try:
    server.wait()
    for experiment in server.ask("experiments/search", max_results=9)["experiments"]:
        print("experiment", experiment["name"])
        found = server.ask("runs/search", experiment_ids=[experiment["experiment_id"]])
        for run in found["runs"]:
            print("run", run["info"]["run_name"], run["info"]["status"])
            for metric in sorted(metric["key"] for metric in run["data"].get("metrics", [])):
                query = f"run_id={run['info']['run_id']}&metric_key={metric}"
                for point in server.ask(f"metrics/get-history?{query}")["metrics"]:
                    print("point", *(point[key] for key in ("key", "timestamp", "value", "step")))
finally:
    server.process.terminate()
    server.process.wait(timeout=SECONDS)

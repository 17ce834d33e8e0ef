"""Prints what `wandb sync` uploads of the offline runs in a folder, to a server of our own."""

import glob
import gzip
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading


class Server(http.server.BaseHTTPRequestHandler):
    """Says yes to all that wandb asks, and keeps what it sends by run."""

    runs, history, summary, ends = {}, {}, {}, {}

    def log_message(self, *words):
        pass

    def take(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return json.loads(body or b"{}")

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({})

    def do_POST(self):
        sent = self.take()
        values = sent.get("variables", {})
        if sent.get("operationName") == "UpsertBucket":
            known = self.runs.setdefault(values["name"], {})
            known.update({key: value for key, value in values.items() if value is not None})
        if not self.path.startswith("/graphql"):
            run, files = self.path.split("/")[-2], sent.get("files", {})
            lines = files.get("wandb-history.jsonl", {}).get("content", [])
            self.history.setdefault(run, []).extend(json.loads(line) for line in lines)
            for line in files.get("wandb-summary.json", {}).get("content", []):
                self.summary[run] = json.loads(line)
            if sent.get("complete"):
                self.ends[run] = sent.get("exitcode")
        project = {"id": "p", "name": values.get("project"), "entity": {"id": "e", "name": "anna"}}
        bucket = {"id": "b", "name": values.get("name"), "displayName": "x", "config": "{}"}
        bucket |= {"description": None, "sweepName": None, "historyLineCount": 0}
        bucket["project"] = project
        viewer = {"id": "u", "username": "u", "entity": "anna", "flags": "{}"}
        self.answer(
            {
                "data": {
                    "viewer": viewer | {"teams": {"edges": []}},
                    "upsertBucket": {"bucket": bucket, "inserted": True},
                    "serverInfo": {"cliVersionInfo": {}, "features": []},
                    "model": {"bucket": None},
                    "createRunFiles": {"runID": "b", "uploadHeaders": [], "files": []},
                }
            }
        )


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as home:
    environment = {
        "HOME": home,
        "PATH": os.environ["PATH"],
        "WANDB_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "WANDB_API_KEY": "0" * 40,
        "WANDB_ERROR_REPORTING": "false",
    }
    wandb = pathlib.Path(sys.executable).with_name("wandb")
    runs = sorted(glob.glob(os.path.abspath(sys.argv[1]) + "/offline-run-*"))
    ended = subprocess.run(
        [wandb, "sync", *runs], env=environment, cwd=home, capture_output=True, text=True
    )
if ended.returncode != 0:
    print(ended.returncode, ended.stdout, ended.stderr)
for name, run in sorted(Server.runs.items()):
    print("run", name.split("-")[0], run["project"], run["groupName"], run["displayName"])
    print("notes", run.get("notes"), "host", run.get("host"), "tags", *run["tags"])
    config = json.loads(run["config"])
    for key in ("train.micro_batch_size", "model.path"):
        print("config", key, json.dumps(config[key]["value"]))
    rows = Server.history.get(name, [])
    for row in rows[:2] + rows[-1:]:
        print("row", json.dumps(row, sort_keys=True))
    print("rows", len(rows), "exit", Server.ends.get(name))
    print("summary", json.dumps(Server.summary.get(name), sort_keys=True))

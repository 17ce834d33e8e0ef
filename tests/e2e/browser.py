"""A real Chromium without a window, driven by its own driver over the WebDriver protocol."""

import base64
import contextlib
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

DEADLINE_SECONDS = 60


def why_not():
    """Why there is no browser here; empty where there is one."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(missing)} on this host" if missing else ""


def fingerprint(certificate):
    """Of its key, as Chromium names it."""
    key = b""
    for command in ("x509 -pubkey -noout -in", "pkey -pubin -outform der", "dgst -sha256 -binary"):
        words = ["openssl", *command.split()] + ([certificate] if not key else [])
        key = subprocess.run(words, input=key, stdout=subprocess.PIPE, check=True).stdout
    return base64.b64encode(key).decode()


class Browser:
    def __init__(self, width=1280, height=1600, certificate=None):
        """certificate: a PEM file, of a server that is trusted as if its authority was known."""
        self.profile = tempfile.TemporaryDirectory(prefix="trainctl-browser-")
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0", "--log-level=SEVERE"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.session = None
        port = None
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                port = found[1]
                break
        self.root = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += [f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}"]
        if certificate is not None:
            arguments.append(f"--ignore-certificate-errors-spki-list={fingerprint(certificate)}")
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        opened = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = opened["sessionId"]

    def close(self):
        if self.session:
            with contextlib.suppress(OSError):
                self.call("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        shutil.rmtree(self.profile.name, ignore_errors=True)
        self.profile.cleanup()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from error

    def do(self, verb, body):
        return self.call("POST", f"/session/{self.session}/{verb}", body)

    def open(self, url):
        self.do("url", {"url": url})

    def start_afresh(self):
        """An empty page in place of this one; gone is what was set for it, stored or said."""
        self.command("Storage.clearDataForOrigin", origin="*", storageTypes="all")
        self.command("Network.clearBrowserCache")
        page = self.do("window/new", {"type": "tab"})["handle"]
        self.call("DELETE", f"/session/{self.session}/window")
        self.do("window", {"handle": page})
        self.faults()

    def run(self, script, *arguments):
        """What the script returns; it has `arguments`."""
        return self.do("execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        """What a person reads there; empty where there is nothing."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def wait(self, script, *arguments):
        """What the script returns once that is true to JavaScript."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not (value := self.run(script, *arguments)):
            if time.monotonic() > deadline:
                raise AssertionError(f"never came: {script}; the page:\n{self.text('body')}")
            time.sleep(0.1)
        return value

    def faults(self):
        """What the console was told since the last call, but for notes."""
        entries = self.do("se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def command(self, name, **parameters):
        """One of Chromium's own (the DevTools protocol)."""
        return self.do("goog/cdp/execute", {"cmd": name, "params": parameters})

    def count_processor_time(self):
        """From now on `page_seconds` counts; a machine that others use does not change it."""
        self.command("Performance.enable", timeDomain="threadTicks")

    def page_seconds(self):
        """Of a processor, that the page's own thread has worked: scripts, layout, drawing."""
        metrics = self.command("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    def picture(self, path, **clip):
        """The whole page as a PNG, or a part: x, y, width, height and its scale."""
        part = {"clip": clip} if clip else {}
        picture = self.command("Page.captureScreenshot", captureBeyondViewport=True, **part)
        path.write_bytes(base64.b64decode(picture["data"]))

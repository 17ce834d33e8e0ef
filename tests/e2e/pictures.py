"""Makes the README's pictures of a site that trains: the dashboard and `trainctl top`.

usage: tests/e2e/pictures.py [FOLDER=deploy/pictures]     (after deploy/build; tmux and Chromium)

Five jobs of the tiny model train on CPU slots; what is seen of them is kept as job.png and
top.svg.
"""

import html
import pathlib
import re
import sys

import browser
from cluster import TOP, ClusterTest, tiny_job
from top_test import Tmux

COLUMNS, ROWS = 124, 20
CHARACTER, LINE = 8.4, 18  # pixels
COLOURS = {"31": "#ff8a80", "32": "#7ee787", "33": "#e3b341", "36": "#6cb0f5"}
WIDTH, SCALE = 1400, 0.55
FOLDER = TOP / "deploy" / "pictures"


def long_job(**changes):
    """One whose memory fills a good part of its bar."""
    return tiny_job(train__max_steps=3000, resources__gpu_memory_limit="8MiB", **changes)


def spans(line):
    """Pieces of a line of a terminal with what colours and weighs each."""
    style = []
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b["):
            numbers = [number for number in piece[2:-1].split(";") if number not in ("", "39")]
            style = [] if not numbers or numbers == ["0"] else [*style, *numbers]
        else:  # not all that draw SVG keep several spaces
            yield from ((part, style) for part in re.split("( {2,})", piece) if part)


def picture_of_terminal(text):
    """The lines as SVG."""
    lines = text.rstrip("\n").split("\n")
    width, height = round(COLUMNS * CHARACTER) + 24, len(lines) * LINE + 24
    rows = []
    for number, line in enumerate(lines):
        x, y = 12.0, 12 + LINE * number + 13
        for piece, style in spans(line):
            fill = next((COLOURS[one] for one in style if one in COLOURS), "#e4e8ec")
            faint = ' opacity=".6"' if "2" in style else ""
            look = ' font-weight="bold"' if "1" in style else faint
            if word := piece.strip():
                begin = x + CHARACTER * (len(piece) - len(piece.lstrip()))
                rows.append(
                    f'<text x="{begin:.1f}" y="{y}" fill="{fill}"{look} '
                    f'textLength="{len(word) * CHARACTER:.1f}">{html.escape(word)}</text>'
                )
            x += len(piece) * CHARACTER
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="trainctl top">\n<rect width="100%" height="100%" rx="8" fill="#0e1116"/>\n'
        '<g font-family="ui-monospace,monospace" font-size="14">\n'
        + "\n".join(rows)
        + "\n</g>\n</svg>\n"
    )


class Pictures(ClusterTest):
    WORKERS = 4

    def test_pictures(self):
        FOLDER.mkdir(parents=True, exist_ok=True)
        evaluated = {"data__val_split_fraction": 0.2, "eval__every_steps": 50}
        done = self.submit(tiny_job(name="lora-r8", lora={"r": 8}, train__max_steps=200))
        self.trainctl("wait", done)
        shown = self.submit(
            long_job(name="full-ddp", devices=2, strategy="ddp", optimizer__lr=1e-4, **evaluated)
        )
        self.submit(long_job(name="lora-r16", lora={"r": 16}))
        self.submit(long_job(name="full-sgd", optimizer__name="sgd", optimizer__lr=1e-3))
        self.submit(
            long_job(name="full-next", devices=4, strategy="ddp", train__micro_batch_size=1)
        )
        self.eventually("it has trained for a while", 300, lambda: self.step_of(shown) > 600)
        self.keep_top()
        self.keep_dashboard(shown)

    def step_of(self, job):
        return self.job(job)["step"] or 0

    def keep_top(self):
        server = (self.dir / "coordinator.addr").read_text().strip()
        tmux = Tmux(self.dir, COLUMNS, ROWS, TRAINCTL_SERVER=server, TERM="screen-256color")
        self.addCleanup(tmux.close)
        tmux.type("trainctl top")
        self.eventually("top is seen", 30, lambda: "full-ddp" in tmux.picture())
        text = tmux.run("capture-pane", "-e", "-p")
        (FOLDER / "top.svg").write_text(picture_of_terminal(text))
        tmux.keys("q")

    def keep_dashboard(self, job):
        site = browser.Browser(width=WIDTH, height=2400)
        self.addCleanup(site.close)
        address = self.trainctl("ui").stdout.strip()
        site.open(f"{address}job?job={job}")
        site.wait("return document.querySelectorAll('#curves figure').length >= 5")
        site.wait("return document.querySelector('#memory tbody tr') !== null")
        drawn = "requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true; }))"
        site.run(drawn)
        site.wait("return window.drawn")
        bottom = site.run("return document.querySelector('#memory').getBoundingClientRect().bottom")
        site.picture(FOLDER / "job.png", x=0, y=0, width=WIDTH, height=bottom + 12, scale=SCALE)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        FOLDER = pathlib.Path(sys.argv[1])
    result = Pictures("test_pictures").run()
    faults = result.errors + result.failures + result.skipped
    sys.exit("\n".join(text for _, text in faults) if faults else 0)

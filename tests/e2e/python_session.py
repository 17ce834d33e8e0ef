"""What a person does with the Python client.

Runs in the environment of tests/oracles notebook: python_session.py NAME, a JSON argument on stdin.
The answer is the last line of stdout, in JSON. Of connect, each line is an argument
and has an answer.
"""

import io
import json
import os
import sys
import warnings

import trainctl


def run(argument):
    """A job from a dict, with overrides, until its end."""
    site = trainctl.connect()
    job = site.submit(argument["job"], argument["overrides"], name="from-python")
    job.wait(120)
    points = job.metrics().astype({"rank": object}).astype(object)
    return {
        "id": job.id,
        "outcome": job.outcome,
        "steps": job.settings["train"]["max_steps"],
        "events": list(job.events()["text"]),
        "points": points.where(points.notna(), None).drop(columns="time").to_dict("records"),
        "shown": job._repr_html_(),
        "listed": list(site.jobs(names=["from-python"]).frame()["id"]),
    }


def compare(argument):
    """A lab from a file, compared."""
    group = trainctl.connect().submit(argument["path"])
    group.wait(200, progress=False)
    comparison = group.compare(base="second")
    return {
        "id": group.id,
        "values": comparison.values.tolist(),
        "keys": list(comparison.index),
        "units": list(comparison.units),
        "best": comparison.best.values.tolist(),
        "text": [[label, *row] for label, row in zip(comparison.labels, comparison.text.values)],
        "html": comparison._repr_html_(),
        "derived": type(comparison.loc[["loss"]]).__name__,
    }


def progress(argument):
    """What a followed job's texts, which its owner chose, send to a file and to a terminal."""
    from trainctl.progress import _PlainLines, _TerminalLines
    from trainctl.proto import trainctl_pb2

    view = trainctl_pb2.JobView(id="j1", state="FINISHED", outcome="FAILED", attempt=1)
    view.name = view.reason = view.message = argument["text"]
    printed = []
    for lines in (_PlainLines, _TerminalLines):
        out = io.StringIO()
        drawn = lines(out)
        drawn.draw([view])
        drawn.note(argument["text"])
        printed.append(out.getvalue())
    return printed


def rows(argument):
    """What a terminal of so many lines is sent for jobs of which only the last goes on."""
    from trainctl.progress import _TerminalLines
    from trainctl.proto import trainctl_pb2

    os.environ.update(COLUMNS=str(argument["columns"]), LINES=str(argument["lines"]))
    views = [
        trainctl_pb2.JobView(id=f"j{i}", name=argument["called"], state="FINISHED")
        for i in range(argument["jobs"] - 1)
    ]
    views.append(trainctl_pb2.JobView(id="last", name="last", state="RUNNING"))
    out = io.StringIO()
    drawn = _TerminalLines(out)
    drawn.draw(views)
    drawn.draw(views)
    return out.getvalue()


def plot(argument):
    """What lies on the axis of steps, and what the points are called."""
    import matplotlib

    matplotlib.use("Agg")
    job = trainctl.connect().job(argument["job"])
    drawn = job.plot("loss")
    return {
        "x": drawn.lines[0].get_xdata().tolist(),
        "steps": list(job.metrics("loss")["step"]),
        "label": drawn.get_xlabel(),
    }


def stop(argument):
    """A job that does not end by itself."""
    job = trainctl.connect().submit(argument["job"])
    try:
        job.wait(0.5, progress=False)
    except TimeoutError as error:
        late = str(error)
    job.cancel()
    return {"late": late, "outcome": job.wait(60).outcome, "id": job.id}


def fail(argument):
    """What is wrong, each with its exception."""
    site = trainctl.connect()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        points = site.job(argument["job"]).metrics("los")
    return {
        "absent": said(lambda: site.job("no-such-job")),
        "setting": said(lambda: site.submit(argument["path"], {"train.micro_batch": 3})),
        "dict": said(lambda: site.submit({"version": 1, "presicion": 3})),
        "recipe": said(lambda: trainctl.recipe("no-such-recipe")),
        "value": said(lambda: site.submit({"version": object()})),
        "names": said(lambda: site.job(argument["job"]).metrics(["loss", "lr"])),
        "warned": [str(warning.message) for warning in warned],
        "points": len(points),
    }


def readme(argument):
    """The lines of README.md, in a folder with a job.json."""
    os.chdir(argument["folder"])
    names = {}
    exec(argument["code"], names)
    job = names["job"]
    return {"outcome": job.outcome, "micro": job.settings["train"]["micro_batch_size"]}


def connect():
    """Where a coordinator was looked for, in each environment that a line of stdin holds."""
    for line in sys.stdin:
        os.environ.clear()
        os.environ.update(json.loads(line))
        print(json.dumps(said(trainctl.connect)), flush=True)


def said(call):
    try:
        call()
    except trainctl.Error as error:
        return [type(error).__name__, str(error)]
    return None


if sys.argv[1] == "connect":
    connect()
else:
    argument = json.load(sys.stdin)
    print(json.dumps(globals()[sys.argv[1]](argument)))

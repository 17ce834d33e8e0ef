"""The table of recipes.py: Markdown of the results, and what contradicts the predictions."""

from host_site import GIB, KINDS

BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
WORST_ERROR = 0.05

# The labs' own notes on 4× A100 80 GB: time of the run, allocated / reserved memory of a GPU in GB.
TODAY = {
    "single-1": "OOM",
    "single-7": "nearly fills 80 GB",
    "single-8": "OOM",
    "single-9": "fits, slow",
    "multi-1": "3:32, 62.0 / 71.4",
    "multi-1a": "2:45, 62.0 / 73.3",
    "multi-2": "2:43, 70–74 / 78",
    "multi-3": "2:53, 32–36 / 56",
    "multi-4": "1:56, 60–63 / 63–68",
    "multi-5": "GPUs idle near the end of the step",
    "chess-1": "39–43 GiB; GPUs 56, 99, 100, 74 % busy",
    "chess-2": "OOM",
}

HEADER = [
    "id",
    "outcome",
    "s/step",
    "predicted s/step",
    "error of the time",
    "tokens/s",
    "params",
    "grads",
    "optimizer",
    "optimizer (CPU)",
    "other",
    "predicted peak",
    "measured peak",
    "error",
    "reserved",
    "today",
]


def gib(value):
    return f"{value / GIB:.2f}" if value else "0" if value == 0 else ""


def number(value, form):
    return "" if value is None else format(value, form)


def outcome_text(result):
    oom = result.get("oom")
    return result["outcome"] + (f" in {oom['phase']}" if oom else "")


def peak_error(result):
    """Of the prediction, relative to what was measured; None where a run did not get through a
    step."""
    measured = result.get("measured", {}).get("peak_allocated")
    if result["outcome"] != "SUCCEEDED" or not measured or not result["predicted_peak"]:
        return None
    return result["predicted_peak"] / measured - 1


def predicted_step(result):
    """Seconds, as the rates of the device have them; None of a device without rates, or where
    earlier runs were told instead."""
    time = (result.get("prediction") or {}).get("time")
    return time["step_seconds"] if time and not time["earlier_runs"] else None


def percent(error):
    return "" if error is None else f"{round(100 * error, 1) + 0.0:+.1f} %"  # never "-0.0 %"


def time_error(result):
    predicted, measured = predicted_step(result), result.get("step_seconds")
    return predicted / measured - 1 if predicted and measured else None


def cells(key, result):
    measured = result.get("measured", {})
    return [
        key,
        outcome_text(result),
        number(result.get("step_seconds"), ".3f"),
        number(predicted_step(result), ".3f"),
        percent(time_error(result)),
        number(result.get("tokens_per_second"), ",.0f"),
        *(gib(measured.get(kind)) for kind in KINDS),
        gib(result.get("predicted_peak")),
        gib(measured.get("peak_allocated")),
        percent(peak_error(result)),
        gib(measured.get("reserved")),
        TODAY.get(result["id"], ""),
    ]


def measured_on(results):
    """Date, machine and versions of what was measured, and how long the runs were."""
    texts = []
    for result in results:
        machine = result.get("machine")
        if machine:
            texts.append(
                f"{machine['device_name']}, driver {machine['driver'] or '–'}, "
                f"LibTorch {machine['libtorch']}"
            )
    dates = sorted({result["date"] for result in results})
    steps = sorted({result["steps"] for result in results})
    return (
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))} "
        f"on {'; '.join(dict.fromkeys(texts)) or 'no device'}, "
        f"{' to '.join(str(n) for n in dict.fromkeys((steps[0], steps[-1])))} steps a run"
    )


def heading(results):
    data = sorted({result["data"] for result in results})
    return f"Measured {measured_on(results)}; data: {'; '.join(data)}. Memory in GiB."


def markdown(rows, results):
    """In the order of the rows, an engine's variant after its row."""
    shown = [
        (key, results[key])
        for row in rows
        for key in sorted(results)
        if results[key]["id"] == row.id
    ]
    if not shown:
        return "Nothing was measured yet.\n"
    lines = [
        HEADER,
        ["---"] * len(HEADER),
        *(cells(key, result) for key, result in dict(shown).items()),
    ]
    return (
        heading([result for _, result in shown])
        + "\n\n"
        + "".join("| " + " | ".join(line) + " |\n" for line in lines)
    )


def problems(results, judge_peaks):
    """Rows that failed or went another way than was predicted."""
    found = []
    for key, result in results.items():
        error, limit, predicted = (
            peak_error(result),
            result.get("limit_bytes"),
            result.get("predicted_peak"),
        )
        if result["outcome"] not in ("SUCCEEDED", "OOM_GPU"):
            found.append(f"{key}: {result['outcome']}: {result['message']}")
        elif limit and predicted and (predicted > limit) != (result["outcome"] == "OOM_GPU"):
            found.append(
                f"{key}: {result['outcome']}, but a peak of {gib(predicted)} GiB was predicted, "
                f"with a limit of {gib(limit)} GiB"
            )
        elif judge_peaks and error is not None and abs(error) > WORST_ERROR:
            found.append(f"{key}: the predicted peak is {100 * error:+.1f} % off")
    return found


def write_into(path, table):
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(before + BEGIN + table + END + after, encoding="utf-8")

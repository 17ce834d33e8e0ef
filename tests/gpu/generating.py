#!/usr/bin/env python3
"""Texts of a saved model on this host's first GPU, beside transformers' generate from the same
folder.

usage: tests/gpu/generating.py [--bin DIR]

Trains deploy/models/tiny for some steps in fp32, saves it, and asks `trainctl generate` for greedy
texts: transformers must give the same. Then the same of TinyLlama's shape with random weights in
bf16-true, where the first token must agree; times, predicted and measured memory are printed. Needs
torch and transformers. Exit status 1 where texts differ, or where memory of 1 GiB and more is more
than 5 % off; 77 without a GPU.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import torch
import transformers
from host_site import GIB, TOP, Site, exit_status

PROMPTS = ["Give three tips for staying healthy.", "What is"]
TOKENS = 48
LEAST_PEAK = GIB  # below, the libraries' workspaces are most of it
CASES = [("tiny", "32-true", 30, TOKENS), ("TinyLlama-1.1B", "bf16-true", 2, 1)]


def job_of(model, precision, steps, folder):
    return {
        "version": 1,
        "name": f"save-{model}",
        "model": {"path": str(TOP / "deploy/models" / model), "init": "random"},
        "data": {"path": str(TOP / "deploy/data/alpaca_2k.json")},
        "precision": precision,
        "train": {"micro_batch_size": 4, "max_steps": steps, "max_seq_length": 128},
        "optimizer": {"name": "adamw", "lr": 1e-3},
        "output": {"dir": str(folder / model), "save": "final"},
    }


def texts_of_transformers(folder, precision):
    dtype = torch.float32 if precision == "32-true" else torch.bfloat16
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).cuda().eval()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    texts = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt").input_ids.cuda()
        with torch.no_grad():
            made = model.generate(ids, max_new_tokens=TOKENS, do_sample=False)
        texts.append(made[0, ids.shape[1] :].tolist())
    return tokenizer, texts


def peak(site, job):
    described = site.json("describe", job)["jobs"][0]
    measured = max(
        point["value"]
        for point in site.points(job)
        if point["name"] == "memory_peak_allocated_bytes"
    )
    return described["prediction"]["peak_allocated"], measured


def ours(site, folder, model, precision, steps):
    """(texts, predicted peak, measured peak) of the saved model; None where a job fails."""
    path = folder / f"{model}.json"
    path.write_text(json.dumps(job_of(model, precision, steps, folder)))
    saved = site.trainctl("submit", path, "--wait", "-o", "json")
    if saved.returncode != 0:
        print(f"{model}: {saved.stderr}{site.why(f'save-{model}')}")
        return None
    words = [word for prompt in PROMPTS for word in ("--prompt", prompt)]
    begin = time.monotonic()
    said = site.json("generate", f"save-{model}", *words, "--max-new-tokens", TOKENS)
    seconds = time.monotonic() - begin
    print(f"{model:16} {said['outcome']}: texts in {seconds:.1f} s", flush=True)
    if said["outcome"] != "SUCCEEDED":
        print(site.why(said["id"]))
        return None
    return [text["text"].strip() for text in said["continuations"]], *peak(site, said["id"])


def is_good(found, folder, model, precision, must_agree):
    texts, predicted, measured = found
    tokenizer, expected = texts_of_transformers(folder / model, precision)
    good = True
    for text, tokens in zip(texts, expected):
        whole = tokenizer.decode(tokens, skip_special_tokens=True).strip()
        first = tokenizer.decode(tokens[:must_agree], skip_special_tokens=True).strip()
        good = good and text.startswith(first)
        verdict = "equal" if text == whole else "begins alike" if text.startswith(first) else "FAIL"
        print(f"{model:16} {verdict}: {text[:60]!r} / {whole[:60]!r}")
    print(f"{model:16} peak {measured / GIB:.3f} GiB, predicted {predicted / GIB:.3f}", flush=True)
    return good and (measured < LEAST_PEAK or abs(predicted / measured - 1) < 0.05)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainctl-generate-") as name:
        folder = pathlib.Path(name)
        site = Site(options.bin.resolve(), folder)
        try:
            # All jobs first: no device is given out while this process holds memory of it.
            cases = CASES if site.devices() > 0 else []
            found = [ours(site, folder, *case[:3]) for case in cases]
        finally:
            site.down()
        results = [
            texts is not None and is_good(texts, folder, *case[:2], case[3])
            for case, texts in zip(cases, found)
        ]
    sys.exit(exit_status(all(results), ran=bool(results)))


if __name__ == "__main__":
    main()

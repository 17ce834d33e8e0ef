#!/usr/bin/env python3
"""Loss curves of SmolLM2-135M over 50 steps, full and LoRA, by Hugging Face transformers and peft
in fp32: tests/baselines/curves.json.

Run it where torch, transformers and peft are installed, on the folder that deploy/example_model
makes; it takes ten minutes on two cores:

    python3 tests/baselines/generate_curves.py ~/.cache/trainctl/models/SmolLM2-135M

The file holds all that an engine needs to follow:

    inputs, targets   [rows][T]   tokens of deploy/data/alpaca.json, padded on the right with 0;
                      targets are shifted already, −100: ignored. Step s trains rows 2·s and
                      2·s + 1 modulo their count, so that each row comes five times.
    full, lora        "job": the settings, by the names of the job file; "losses": of each step
                      before its update, the mean over the step's targets that count;
                      "learning_rates": of each step

Adapters start from B = 0 and an A that needs no file: A[i, j] of target k (q, k, v, o, gate, up,
down: 0 … 6) in layer l is ((7919·i + 104729·j + 1009·k + 31·l) mod 2003 / 2003 − 1/2) · 2 /
sqrt(columns).
"""

import argparse
import json
import math
import pathlib

import peft
import torch
import transformers

from alpaca_prompt import prompt

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parents[1] / "deploy" / "data" / "alpaca.json"
ROWS, MICRO, LENGTH, STEPS = 20, 2, 96, 50
IGNORED = -100
TARGETS = {
    "q": "q_proj",
    "k": "k_proj",
    "v": "v_proj",
    "o": "o_proj",
    "gate": "gate_proj",
    "up": "up_proj",
    "down": "down_proj",
}

TRAIN = {"lr_schedule": "cosine", "lr_warmup_steps": 5}
ADAMW = {"name": "adamw", "betas": [0.9, 0.95], "eps": 1e-8}
JOBS = {
    "full": {
        "precision": "32-true",
        "train": TRAIN,
        "optimizer": {**ADAMW, "lr": 2e-5, "weight_decay": 0.01},
        "lora": None,
    },
    "lora": {
        "precision": "32-true",
        "train": TRAIN,
        "optimizer": {**ADAMW, "lr": 5e-4, "weight_decay": 0.0},
        "lora": {"r": 8, "alpha": 16, "dropout": 0.0, "targets": list(TARGETS)},
    },
}


def padded(tokens, value):
    return tokens + [value] * (LENGTH - len(tokens))


def tokenized_rows(folder):
    """(inputs, targets) of the first rows of the data."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = json.loads(DATA.read_text(encoding="utf-8"))[:ROWS]
    tokens = [tokenizer(prompt(row) + row["output"])["input_ids"][:LENGTH] for row in rows]
    return [padded(row, 0) for row in tokens], [padded(row[1:], IGNORED) for row in tokens]


def learning_rate(job, step):
    """Of step 0, 1, …: linear, lr at the last step of the warm-up, then a cosine to 0 at the run's
    end."""
    warmup, lr = job["train"]["lr_warmup_steps"], job["optimizer"]["lr"]
    if step < warmup:
        return lr * (step + 1) / warmup
    return lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (STEPS - warmup)))


def first_a(shape, layer, target):
    i, j = torch.arange(shape[0]).unsqueeze(1), torch.arange(shape[1]).unsqueeze(0)
    residue = (7919 * i + 104729 * j + 1009 * target + 31 * layer) % 2003
    return ((residue.double() / 2003 - 0.5) * 2 / math.sqrt(shape[1])).float()


def with_adapters(model, lora):
    config = peft.LoraConfig(
        r=lora["r"],
        lora_alpha=lora["alpha"],
        lora_dropout=lora["dropout"],
        bias="none",
        task_type="CAUSAL_LM",
        target_modules=[TARGETS[name] for name in lora["targets"]],
    )
    model = peft.get_peft_model(model, config)
    with torch.no_grad():
        for layer, block in enumerate(model.base_model.model.model.layers):
            for target, name in enumerate(TARGETS.values()):
                linear = getattr(block.self_attn, name, None) or getattr(block.mlp, name, None)
                a, b = linear.lora_A["default"].weight, linear.lora_B["default"].weight
                a.copy_(first_a(a.shape, layer, target))
                b.zero_()
    return model


def curve(folder, job, inputs, targets):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    if job["lora"]:
        model = with_adapters(model, job["lora"])
    numbers = job["optimizer"]
    optimizer = torch.optim.AdamW(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        lr=numbers["lr"],
        betas=numbers["betas"],
        eps=numbers["eps"],
        weight_decay=numbers["weight_decay"],
    )
    losses, rates = [], []
    for step in range(STEPS):
        rows = [(MICRO * step + i) % ROWS for i in range(MICRO)]
        optimizer.param_groups[0]["lr"] = learning_rate(job, step)
        logits = model(input_ids=inputs[rows]).logits
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets[rows].flatten(), ignore_index=IGNORED
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        rates.append(optimizer.param_groups[0]["lr"])
        print(step, losses[-1], flush=True)
    return {"job": job, "losses": losses, "learning_rates": rates}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="the folder of SmolLM2-135M")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    inputs, targets = tokenized_rows(options.model)
    made = {
        "made_by": f"transformers {transformers.__version__}, peft {peft.__version__}, "
        f"torch {torch.__version__}",
        "micro": MICRO,
    }
    for name, job in JOBS.items():
        made[name] = curve(options.model, job, torch.tensor(inputs), torch.tensor(targets))
    made |= {"inputs": inputs, "targets": targets}
    (HERE / "curves.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()

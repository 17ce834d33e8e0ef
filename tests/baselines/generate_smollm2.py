#!/usr/bin/env python3
"""The loss of SmolLM2-135M on fixed rows, by Hugging Face transformers in fp32:
tests/baselines/smollm2.json.

Run it where torch, transformers and safetensors are installed, on the folder that
deploy/example_model makes:

    python3 tests/baselines/generate_smollm2.py ~/.cache/trainctl/models/SmolLM2-135M

It holds too what greedy generate makes of the texts: the new tokens, a stop included.

The rows are tokens of TEXTS, padded on the right with 0 to the longest; a target of −100 is padding
or the last position. The loss is the mean over all other targets, and the rows' own sums stand
beside it.
"""

import json
import pathlib
import sys

import torch
import transformers

TEXTS = [
    "The capital of Spain is Madrid, and the capital of Portugal is Lisbon.",
    "def add(a, b):\n    return a + b\n\nprint(add(2, 3))",
    "Water boils at 100 degrees Celsius at sea level. On a mountain, where the air is thinner, "
    "it boils earlier.",
    "To compare two runs fairly, change one setting at a time and keep the seed.",
]
NEW = 16


def main():
    folder = sys.argv[1]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    rows = [tokenizer(text)["input_ids"] for text in TEXTS]
    length = max(map(len, rows))
    inputs = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    targets = torch.tensor([row[1:] + [-100] * (length - len(row) + 1) for row in rows])
    with torch.no_grad():
        logits = model(input_ids=inputs).logits
    sums = [
        torch.nn.functional.cross_entropy(l, t, ignore_index=-100, reduction="sum").item()
        for l, t in zip(logits, targets)
    ]
    tokens = int((targets != -100).sum())
    continuations = [
        model.generate(torch.tensor([row]), do_sample=False, max_new_tokens=NEW)[0].tolist()[
            len(row) :
        ]
        for row in rows
    ]
    out = pathlib.Path(__file__).parent / "smollm2.json"
    out.write_text(
        json.dumps(
            {
                "made_by": f"transformers {transformers.__version__}, torch {torch.__version__}",
                "inputs": inputs.tolist(),
                "targets": targets.tolist(),
                "sums": sums,
                "loss": sum(sums) / tokens,
                "lengths": [len(row) for row in rows],
                "continuations": continuations,
            }
        )
        + "\n"
    )
    print(out, sum(sums) / tokens)


if __name__ == "__main__":
    main()

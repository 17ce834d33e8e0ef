"""What transformers and peft make of a model's folder.

Runs in the environment of tests/oracles: a JSON question on stdin, the answer on stdout.

    {"model": folder, "adapter": folder or null, "data": a file of Alpaca rows,
     "rows": their indices, "length": tokens at most; or instead of these three
     "ids": of each row}
    → {"ids": of each row, "losses": of each row, the mean over its targets}
"""

import json
import pathlib
import sys

import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "baselines"))
from alpaca_prompt import prompt  # noqa: E402


def load_model(question):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        question["model"], dtype=torch.float32
    )
    if question["adapter"]:
        import peft

        model = peft.PeftModel.from_pretrained(model, question["adapter"])
    return model.eval()


def token_ids(tokenizer, eos, row, length):
    """As LitGPT builds a row: the prompt with special tokens, the output without, eos."""
    ids = tokenizer(prompt(row))["input_ids"]
    ids += tokenizer(row["output"], add_special_tokens=False)["input_ids"] + [eos]
    return ids[:length]


def loss_of(model, ids):
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0, :-1]
    return torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:])).item()


def main():
    question = json.load(sys.stdin)
    model = load_model(question)
    chosen = question["ids"] if "ids" in question else ids_of_rows(question, model)
    json.dump({"ids": chosen, "losses": [loss_of(model, ids) for ids in chosen]}, sys.stdout)


def ids_of_rows(question, model):
    tokenizer = transformers.AutoTokenizer.from_pretrained(question["model"])
    eos = tokenizer.eos_token_id
    if eos is None:
        eos = model.config.eos_token_id
    rows = json.loads(pathlib.Path(question["data"]).read_text(encoding="utf-8"))
    return [token_ids(tokenizer, eos, rows[i], question["length"]) for i in question["rows"]]


main()

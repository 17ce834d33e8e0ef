"""What Blip2Processor and Blip2ForConditionalGeneration make of an imagefolder's rows.

Runs in the environment of tests/oracles: a JSON question on stdin, the answer on stdout.

    {"model": folder, "adapter": folder or null, "data": an imagefolder with metadata.jsonl}
    → {"losses": of each row, the mean over its caption's tokens and eos, "tokens": how many,
       "of_other_pictures": the losses with the picture of the row before}
"""

import json
import pathlib
import sys

import PIL.Image
import torch
import transformers


def load_model(question):
    model = transformers.Blip2ForConditionalGeneration.from_pretrained(
        question["model"], dtype=torch.float32
    )
    if question["adapter"]:
        import peft

        model = peft.PeftModel.from_pretrained(model, question["adapter"])
    return model.eval()


def loss_of(model, pixels, ids, first):
    """first: the first of the ids that counts."""
    with torch.no_grad():
        logits = model(pixel_values=pixels, input_ids=torch.tensor([ids])).logits[0]
    targets = torch.tensor(ids[first:])
    return torch.nn.functional.cross_entropy(logits[first - 1 : -1], targets).item()


def main():
    question = json.load(sys.stdin)
    model, folder = load_model(question), pathlib.Path(question["data"])
    processor = transformers.Blip2Processor.from_pretrained(question["model"])
    lines = (folder / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    pictures = [PIL.Image.open(folder / row["file_name"]) for row in rows]
    answer = {"losses": [], "tokens": [], "of_other_pictures": []}
    first = processor.num_query_tokens + 1  # after bos
    for i, row in enumerate(rows):
        made = processor(images=pictures[i], text=row["text"], return_tensors="pt")
        other = processor(images=pictures[i - 1], return_tensors="pt")
        ids = [*made["input_ids"][0].tolist(), processor.tokenizer.eos_token_id]
        answer["losses"].append(loss_of(model, made["pixel_values"], ids, first))
        answer["of_other_pictures"].append(loss_of(model, other["pixel_values"], ids, first))
        answer["tokens"].append(len(ids) - first)
    json.dump(answer, sys.stdout)


main()

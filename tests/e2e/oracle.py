"""What transformers and peft make of a model's folder.

Runs in the environment of tests/oracles: a JSON question a line on stdin, and a line for each on
stdout.

    {"model": folder, "adapter": folder or null, and one of
     "data": a file of Alpaca rows, "rows": their indices, "length": tokens at most
     "ids": of each row
     "captions": an imagefolder with metadata.jsonl}
    → {"losses": of each row, the mean over its targets; and for captions, whose targets are the
       caption's tokens and eos, "tokens": how many, "of_other_pictures": the losses with the
       picture of the row before}
    Or "prompts" and "new"
    → {"texts": what generate adds, the likeliest token each time, at most so many}
"""

import json
import pathlib
import sys

import PIL.Image
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "baselines"))
from alpaca_prompt import prompt  # noqa: E402


def load_model(kind, question):
    model = kind.from_pretrained(question["model"], dtype=torch.float32)
    if question["adapter"]:
        import peft

        model = peft.PeftModel.from_pretrained(model, question["adapter"])
    return model.eval()


def loss_of(model, ids, first=1, **pixels):
    """first: the first of the ids that is a target."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids]), **pixels).logits[0]
    return torch.nn.functional.cross_entropy(
        logits[first - 1 : -1], torch.tensor(ids[first:])
    ).item()


def token_ids(tokenizer, eos, row, length):
    """As LitGPT builds a row: the prompt with special tokens, the output without, eos."""
    ids = tokenizer(prompt(row))["input_ids"]
    ids += tokenizer(row["output"], add_special_tokens=False)["input_ids"] + [eos]
    return ids[:length]


def ids_of_rows(question, model):
    tokenizer = transformers.AutoTokenizer.from_pretrained(question["model"])
    eos = tokenizer.eos_token_id
    if eos is None:
        eos = model.config.eos_token_id
    rows = json.loads(pathlib.Path(question["data"]).read_text(encoding="utf-8"))
    return [token_ids(tokenizer, eos, rows[i], question["length"]) for i in question["rows"]]


def of_words(question):
    model = load_model(transformers.AutoModelForCausalLM, question)
    chosen = question["ids"] if "ids" in question else ids_of_rows(question, model)
    return {"losses": [loss_of(model, ids) for ids in chosen]}


def text_after(model, tokenizer, prompt, new):
    ids = tokenizer(prompt, return_tensors="pt")
    with torch.no_grad():
        added = model.generate(**ids, do_sample=False, max_new_tokens=new)[0]
    before = tokenizer.decode(ids["input_ids"][0], skip_special_tokens=True)
    both = tokenizer.decode(added, skip_special_tokens=True)
    return both[len(before) :] if both.startswith(before) else None


def of_prompts(question):
    model = load_model(transformers.AutoModelForCausalLM, question)
    tokenizer = transformers.AutoTokenizer.from_pretrained(question["model"])
    prompts = question["prompts"]
    return {"texts": [text_after(model, tokenizer, text, question["new"]) for text in prompts]}


def answer_to(question):
    if "captions" in question:
        return of_captions(question)
    return of_prompts(question) if "prompts" in question else of_words(question)


def of_captions(question):
    model = load_model(transformers.Blip2ForConditionalGeneration, question)
    folder = pathlib.Path(question["captions"])
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
        for losses, pixels in (("losses", made), ("of_other_pictures", other)):
            answer[losses].append(loss_of(model, ids, first, pixel_values=pixels["pixel_values"]))
        answer["tokens"].append(len(ids) - first)
    return answer


torch.set_num_threads(1)  # several wait for each other on a machine that tests share
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps(answer_to(question)), flush=True)

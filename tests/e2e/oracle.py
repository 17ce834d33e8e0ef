"""What transformers and peft make of a model's folder.

Runs in the environment of tests/oracles: a JSON question a line on stdin, and a line for each on
stdout.

    {"model": folder, "adapter": folder or null, and one of
     "data": a file of Alpaca rows, "rows": their indices, "length": tokens at most
     "ids": of each row
     "captions": an imagefolder with metadata.jsonl}
    → {"losses": of each row, the mean over its targets; "grad_norms": of each row's loss, over
       all weights, or those of the adapter. For captions, whose targets are the caption's tokens
       and eos, "tokens": how many, "of_other_pictures": the losses with the picture of the row
       before}
    Or "prompts" and "new"
    → {"texts": what generate adds, the likeliest token each time, at most so many. A tokenizer
       with a chat_template makes a user's turn of each prompt}
    Or "loads": true
    → {"dtype": in which type transformers loads it by itself}
    Or "rounded": a folder of the same model, of float32, and "ids" or "captions"
    → {"dtype": in which type transformers loads the model by its configuration, "difference": the
       largest of its first row's logits from those of the other, once that is rounded to this
       type, "of_rounding": from those before}
    Or "saves": a folder
    → {"files": what peft writes there of the adapter}
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

        model = peft.PeftModel.from_pretrained(model, question["adapter"], is_trainable=True)
    return model.eval()


def loss_of(model, ids, first=1, **pixels):
    """first: the first of the ids that is a target."""
    logits = model(input_ids=torch.tensor([ids]), **pixels).logits[0]
    return torch.nn.functional.cross_entropy(logits[first - 1 : -1], torch.tensor(ids[first:]))


def grad_norm_of(model, loss):
    model.zero_grad()
    loss.backward()
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    return sum(gradient.double().square().sum() for gradient in gradients).sqrt().item()


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
    answer = {"losses": [], "grad_norms": []}
    for ids in chosen:
        loss = loss_of(model, ids)
        answer["losses"].append(loss.item())
        answer["grad_norms"].append(grad_norm_of(model, loss))
    return answer


def ids_before(tokenizer, prompt):
    if not tokenizer.chat_template:
        return tokenizer(prompt, return_tensors="pt")
    turn = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(
        turn, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )


def text_after(model, tokenizer, prompt, new):
    ids = ids_before(tokenizer, prompt)
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


def of_loading(question):
    model = transformers.AutoModelForCausalLM.from_pretrained(question["model"])
    return {"dtype": str(model.dtype).removeprefix("torch.")}


def logits_of(model, question):
    if "ids" in question:
        made = {"input_ids": torch.tensor(question["ids"][:1])}
    else:
        made = rows_of_captions(question)[1][0]
    with torch.no_grad():
        return model(**made).logits


def of_rounding(question):
    words = "ids" in question
    kind = (
        transformers.AutoModelForCausalLM if words else transformers.Blip2ForConditionalGeneration
    )
    dtype = kind.from_pretrained(question["model"]).config.dtype
    logits = logits_of(load_model(kind, question), question)
    other = load_model(kind, {**question, "model": question["rounded"]})
    before = logits_of(other, question)
    for weight in other.parameters():
        weight.data = weight.data.to(dtype).float()
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "difference": (logits - logits_of(other, question)).abs().max().item(),
        "of_rounding": (logits - before).abs().max().item(),
    }


def of_saving(question):
    folder = pathlib.Path(question["saves"])
    load_model(transformers.AutoModelForCausalLM, question).save_pretrained(folder)
    return {"files": sorted(path.name for path in folder.iterdir())}


def answer_to(question):
    if "saves" in question:
        return of_saving(question)
    if "loads" in question:
        return of_loading(question)
    if "rounded" in question:
        return of_rounding(question)
    if "captions" in question:
        return of_captions(question)
    return of_prompts(question) if "prompts" in question else of_words(question)


def rows_of_captions(question):
    """(the processor, what it makes of each row)"""
    folder = pathlib.Path(question["captions"])
    processor = transformers.Blip2Processor.from_pretrained(question["model"])
    lines = (folder / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    pictures = [PIL.Image.open(folder / row["file_name"]) for row in rows]
    return processor, [
        processor(images=picture, text=row["text"], return_tensors="pt")
        for picture, row in zip(pictures, rows, strict=True)
    ]


def of_captions(question):
    model = load_model(transformers.Blip2ForConditionalGeneration, question)
    processor, rows = rows_of_captions(question)
    answer = {"losses": [], "tokens": [], "of_other_pictures": []}
    first = processor.num_query_tokens + 1  # after bos
    for i, made in enumerate(rows):
        ids = [*made["input_ids"][0].tolist(), processor.tokenizer.eos_token_id]
        for losses, pixels in (("losses", made), ("of_other_pictures", rows[i - 1])):
            with torch.no_grad():
                loss = loss_of(model, ids, first, pixel_values=pixels["pixel_values"])
            answer[losses].append(loss.item())
        answer["tokens"].append(len(ids) - first)
    return answer


torch.set_num_threads(1)  # several wait for each other on a machine that tests share
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps(answer_to(question)), flush=True)

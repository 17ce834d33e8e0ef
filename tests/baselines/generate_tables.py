#!/usr/bin/env python3
"""Files of Arrow and Parquet for tests/data and tests/fuzz, as datasets and pyarrow write them.

usage: "$(tests/oracles data)" tests/baselines/generate_tables.py

tables/rows.jsonl holds the rows that all of tables/ have. Type, encoding and compression differ.
"""

import json
import pathlib
import shutil
import struct

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent / "tables"
COUNT = 9
WORDS = ["red", "größer", "日本", "🙂", "a\nline", 'a "quote"', "tab\t", "\\", "end"]


def turns(number):
    said = [{"role": "system", "content": "Be kind."}] if number % 3 == 0 else []
    for turn in range(1 + number % 2):
        said += [
            {"role": "user", "content": f"{WORDS[number]} {turn}?"},
            {"role": "assistant", "content": f"{turn}: {WORDS[-1 - number]}."},
        ]
    return said


def row(number):
    word = WORDS[number]
    return {
        "instruction": f"Say {word}.",
        "input": [None, "", f"{number} times"][number % 3],
        "output": word * (1 + number),
        "text": f"{word} and {number}",
        "prompt": f"{number} + 1 =",
        "completion": f" {number + 1}",
        "messages": turns(number),
        "weight": number / 2,
    }


ROWS = [row(number) for number in range(COUNT)]
PICTURES = [
    {"image": {"bytes": path.read_bytes(), "path": path.name}, "caption": f"as {path.stem}"}
    for path in [HERE.parent / "images" / name for name in ("rgb.jpg", "gray.jpg", "rgba.png")]
]
TEXTS = ["instruction", "input", "output", "text", "prompt", "completion"]


def retyped(table, text, lists=pa.list_):
    """The table with another type of texts and of lists."""
    turn = pa.struct([("role", pa.string()), ("content", text)])
    kinds = {name: text for name in TEXTS} | {"messages": lists(turn)}
    fields = [(field.name, kinds.get(field.name, field.type)) for field in table.schema]
    return pa.Table.from_pylist(ROWS, schema=pa.schema(fields))


def words_of(table):
    """Texts as numbers of a dictionary."""
    for name in TEXTS:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].combine_chunks().dictionary_encode())
    return table


def write_stream(path, table, rows=4, **options):
    written = pa.ipc.IpcWriteOptions(**options)
    with pa.OSFile(str(path), "wb") as file:
        with pa.ipc.new_stream(file, table.schema, options=written) as stream:
            stream.write_table(table, max_chunksize=rows)


def write_file(path, table, **options):
    written = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_file(str(path), table.schema, options=written) as file:
        file.write_table(table, max_chunksize=4)


def write_pages(path, table):
    """Three rows a page, and a checksum of each."""
    pq.write_table(
        table,
        path,
        compression="none",
        data_page_size=1,
        write_batch_size=3,
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    )


def varint(number):
    """Of Thrift's compact protocol, as zigzag."""
    number <<= 1
    spelled = bytearray()
    while number > 127:
        spelled.append(number & 127 | 128)
        number >>= 7
    return bytes([*spelled, number])


def write_parquet_bombs(folder):
    """A footer that counts 2^40 rows, of the file alone or everywhere; one large text in many
    cells; a page that unpacks to 400 MiB."""
    path = folder / "claims_file.parquet"
    count = 1000
    pq.write_table(pa.table({"text": ["a"] * count}), path)
    whole = path.read_bytes()
    begin = len(whole) - 8 - struct.unpack("<I", whole[-8:-4])[0]
    for name, times in (("claims_file", 1), ("claims_all", -1)):
        footer = whole[begin:-8].replace(varint(count), varint(2**40), times)
        end = struct.pack("<I", len(footer)) + whole[-4:]
        (folder / f"{name}.parquet").write_bytes(whole[:begin] + footer + end)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), ["x" * 2**20])
    pq.write_table(pa.table({"text": texts}), folder / "dictionary.parquet")
    large = pa.table({"text": [" " * (400 * 2**20)]})
    plain = {"use_dictionary": False, "write_statistics": False}
    pq.write_table(large, folder / "page.parquet", compression="zstd", **plain)


def write_bombs(folder):
    """Streams of few bytes that name many values: the same ones, or ones that take no bytes."""
    folder.mkdir()
    count = 2**31 - 2
    turns = pa.StructArray.from_arrays([pa.nulls(count)], names=["role"])
    begin, bounds = pa.array([0], pa.int32()), pa.array([0, count], pa.int32())
    for name, lists in {
        "lists": pa.ListArray.from_arrays(bounds, turns),
        "list_views": pa.ListViewArray.from_arrays(begin, pa.array([count], pa.int32()), turns),
        "sized_lists": pa.FixedSizeListArray.from_arrays(turns, count),
    }.items():
        write_stream(folder / f"{name}.arrow", pa.table({"messages": lists}))
    text, count = pa.array(["x" * 2**20]), 100
    words = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int8()), text)
    write_stream(folder / "words.arrow", pa.table({"text": words}), count, compression="zstd")
    view = text.cast(pa.string_view()).buffers()
    views = [None, pa.py_buffer(view[1].to_pybytes() * count), view[2]]
    same = pa.Array.from_buffers(pa.string_view(), count, views)
    write_stream(folder / "views.arrow", pa.table({"text": same}), count, compression="zstd")


def main():
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    with (HERE / "rows.jsonl").open("w", encoding="utf-8") as file:
        for one in ROWS:
            print(json.dumps(one, ensure_ascii=False), file=file)

    rows = datasets.Dataset.from_list(ROWS)
    rows.save_to_disk(HERE / "saved", num_shards=2)
    datasets.DatasetDict(train=rows).save_to_disk(HERE / "dict")
    datasets.DatasetDict(train=rows, test=rows.select([0])).save_to_disk(HERE / "splits")
    for name in ("dict/train", "splits/train", "splits/test", "saved"):
        (HERE / name / "dataset_info.json").unlink()  # which is not read, and names this machine
    rows.to_parquet(HERE / "rows.parquet", batch_size=4)

    pictures = datasets.Dataset.from_list(PICTURES).cast_column("image", datasets.Image())
    pictures.save_to_disk(HERE / "pictures")
    (HERE / "pictures/dataset_info.json").unlink()
    pictures.to_parquet(HERE / "pictures.parquet", batch_size=2)
    bare = pa.table({"image": [one["image"]["bytes"] for one in PICTURES]})
    captions = pa.array([one["caption"] for one in PICTURES])
    write_stream(
        HERE / "pictures.arrow", bare.append_column("caption", captions), compression="lz4"
    )

    table = pa.Table.from_pylist(ROWS)
    write_stream(HERE / "words.arrow", words_of(table), compression="zstd")
    write_stream(HERE / "large.arrow", retyped(table, pa.large_string(), pa.large_list))
    write_file(HERE / "views.feather", retyped(table, pa.string_view(), pa.list_view))
    write_file(HERE / "lz4.arrow", table, compression="lz4")
    shards = HERE / "shards" / "data"
    shards.mkdir(parents=True)
    for number, part in enumerate([table.slice(0, 5), words_of(table).slice(5)]):
        pq.write_table(
            part,
            shards / f"train-{number:05}-of-00002.parquet",
            compression="zstd",
            row_group_size=3,
            version="2.6",
            data_page_version="2.0",
        )
    binary = pa.table({name: table[name].cast(pa.binary()) for name in TEXTS})
    pq.write_table(binary.append_column("messages", table["messages"]), HERE / "binary.parquet")
    write_pages(HERE / "pages.parquet", table)
    write_bombs(HERE / "bombs")
    write_parquet_bombs(HERE / "bombs")


if __name__ == "__main__":
    main()

"""Examples of the messages of proto/trainctl.proto, as bytes, without Protobuf's own library."""

import pathlib
import re
import struct

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto/trainctl.proto"
FIELD = re.compile(r"^ +(?:repeated |optional )?(\w+) (\w+) = (\d+);")
VARINTS = ("int64", "int32", "uint64", "uint32", "bool")


def read_fields():
    """{message: [(type, name, number)]}; the alternatives of a oneof are fields like others."""
    fields, message = {}, ""
    for line in PROTO.read_text(encoding="utf-8").splitlines():
        if line.startswith("message "):
            message = line.split()[1]
            fields[message] = []
        elif found := FIELD.match(line):
            fields[message].append((found[1], found[2], int(found[3])))
    return fields


FIELDS = read_fields()


def varint(value):
    text = b""
    while value > 127:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def delimited(number, text):
    return varint(number << 3 | 2) + varint(len(text)) + text


def field(kind, name, number, values):
    if kind in VARINTS:
        return varint(number << 3) + varint(values.get(name, 1))
    if kind == "double":
        return varint(number << 3 | 1) + struct.pack("<d", 1.5)
    if kind in ("string", "bytes"):
        return delimited(number, values.get(name, "j1").encode())
    return delimited(number, whole(kind, values))


def whole(message, values):
    """With all fields; of a oneof, the last counts."""
    return b"".join(field(*one, values) for one in FIELDS[message])


def examples(message, values):
    """The message with all fields, and without each of them."""
    parts = [field(*one, values) for one in FIELDS[message]]
    rest = [b"".join(parts[:i] + parts[i + 1 :]) for i in range(len(parts))]
    return [b"".join(parts), *rest]

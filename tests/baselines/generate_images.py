#!/usr/bin/env python3
"""Small pictures of every kind, and what Pillow makes of them: tests/baselines/images.

    $(tests/oracles) tests/baselines/generate_images.py

images.json: by file name {"size", "rgb", "pixels"}: FNV-1a digests of the picture as transformers'
image processors convert it, turned as its EXIF says, and of its 224 × 224 squeeze. {"refused": …}
is what our message holds of a picture that is not taken, whatever Pillow does.
"""

import io
import json
import pathlib
import random
import struct
import zlib

import numpy
import PIL.Image
import PIL.ImageOps
from transformers.image_transforms import convert_to_rgb

HERE = pathlib.Path(__file__).resolve().parent / "images"
SIDE = 224
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
ADAM7 += [(0, 1, 1, 2)]


def fnv1a(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{digest:016x}"


def noise(width, height, mode, seed):
    """Waves with some noise: compressible, and different everywhere."""
    bands = len(PIL.Image.new(mode, (1, 1)).getbands())
    draw = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [
        127 + 90 * numpy.sin(x / (3 + band) + seed) * numpy.cos(y / (4 + band))
        for band in range(bands)
    ]
    data = numpy.stack(planes, -1) + draw.integers(-30, 30, (height, width, bands))
    data = data.clip(0, 255).astype(numpy.uint8)
    return PIL.Image.fromarray(data[..., 0] if bands == 1 else data, mode)


def saved(image, **options):
    out = io.BytesIO()
    image.save(out, **options)
    return out.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour, rows, before=b"", interlaced=0):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before
    return start + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def interlaced_png(image):
    data = numpy.array(image)
    rows = [
        data[y, x0::dx].tobytes()
        for x0, y0, dx, dy in ADAM7
        for y in range(y0, image.height, dy)
        if x0 < image.width
    ]
    return png(image.width, image.height, 8, 2, rows, interlaced=1)


def deep_rows(width, height, channels, seed):
    draw = random.Random(seed)
    return [
        struct.pack(
            f">{width * channels}H", *(draw.randrange(65536) for _ in range(width * channels))
        )
        for _ in range(height)
    ]


def palette_picture(colours):
    return noise(23, 17, "RGB", 7).quantize(colours)


def with_colour_key(image, key):
    """A PNG of the gray or RGB image, in which pixels of this colour are transparent."""
    return saved(image, format="png", transparency=key)


def jpegs():
    colour = noise(37, 29, "RGB", 1)
    yield "gray.jpg", saved(noise(31, 22, "L", 2), format="jpeg", quality=90)
    for name, subsampling in (("444", 0), ("422", 1), ("420", 2)):
        yield f"ycc_{name}.jpg", saved(colour, format="jpeg", quality=85, subsampling=subsampling)
    yield "progressive.jpg", saved(colour, format="jpeg", progressive=True, subsampling=2)
    yield "restarts.jpg", saved(colour, format="jpeg", restart_marker_blocks=2)
    yield "narrow.jpg", saved(noise(1, 40, "RGB", 3), format="jpeg")
    yield "rgb.jpg", saved(colour, format="jpeg", keep_rgb=True)
    yield "cmyk.jpg", saved(noise(20, 14, "CMYK", 4), format="jpeg")


def pngs():
    gray, colour = noise(21, 16, "L", 5), noise(21, 16, "RGB", 6)
    yield "bits.png", saved(gray.convert("1"), format="png")
    yield "gray.png", saved(gray, format="png")
    yield "gray_2bit.png", png(8, 2, 2, 0, [b"\x1b\xe4", b"\x00\xff"])
    yield "gray_4bit.png", png(4, 2, 4, 0, [b"\x01\x8f", b"\x7c\xf0"])
    yield "gray_key.png", with_colour_key(gray, gray.getpixel((3, 3)))
    yield "gray_alpha.png", saved(noise(21, 16, "LA", 8), format="png")
    yield "rgb.png", saved(colour, format="png")
    yield "rgb_key.png", with_colour_key(colour, colour.getpixel((4, 2)))
    yield "rgba.png", saved(noise(19, 24, "RGBA", 9), format="png")
    for bits in (1, 2, 4, 8):
        yield f"palette_{bits}bit.png", saved(palette_picture(2**bits), format="png", bits=bits)
    clear = palette_picture(16)
    yield "palette_key.png", saved(clear, format="png", transparency=3)
    alphas = bytes(range(10, 250, 15))
    yield "palette_alphas.png", saved(clear, format="png", transparency=alphas)
    yield "rgb_16bit.png", png(5, 3, 16, 2, deep_rows(5, 3, 3, 1))
    yield "rgba_16bit.png", png(5, 3, 16, 6, deep_rows(5, 3, 4, 2))
    yield "gray_alpha_16bit.png", png(5, 3, 16, 4, deep_rows(5, 3, 2, 3))
    yield "interlaced.png", interlaced_png(noise(21, 13, "RGB", 10))
    yield "one_pixel.png", saved(colour.crop((0, 0, 1, 1)), format="png")
    yield "side_of_224.png", saved(noise(224, 9, "L", 13).quantize(4), format="png")
    moving = [noise(12, 10, "RGB", seed) for seed in (20, 21)]
    yield "animated.png", saved(moving[0], format="png", save_all=True, append_images=moving[1:])


def webps():
    colour, clear = noise(33, 26, "RGB", 11), noise(33, 26, "RGBA", 12)
    yield "lossy.webp", saved(colour, format="webp", quality=80)
    yield "lossless.webp", saved(colour, format="webp", lossless=True)
    yield "lossy_alpha.webp", saved(clear, format="webp", quality=80)
    yield "lossless_alpha.webp", saved(clear, format="webp", lossless=True, exact=True)


def exif(orientation, order="<", kind="H", before=()):
    """A TIFF file with that entry behind others (tag, number)."""
    entries = [struct.pack(order + "HHIHxx", tag, 3, 1, number) for tag, number in before]
    value = struct.pack(order + kind, orientation).ljust(4, b"\0")
    entries.append(struct.pack(order + "HHI", 0x0112, {"H": 3, "L": 4}[kind], 1) + value)
    magic = b"II*\0" if order == "<" else b"MM\0*"
    end = struct.pack(order + "I", 0)
    return magic + struct.pack(order + "IH", 8, len(entries)) + b"".join(entries) + end


def turned():
    colour = noise(13, 8, "RGB", 14)
    for orientation in range(1, 9):
        told = exif(orientation, "<>"[orientation % 2], before=[(0x0106, 2)][: orientation % 3])
        options = {"format": "jpeg", "quality": 90, "exif": b"Exif\0\0" + told}
        yield f"turned_{orientation}.jpg", saved(colour, **options)
    jpeg = {"format": "jpeg", "quality": 90}
    yield "turned_9.jpg", saved(colour, exif=b"Exif\0\0" + exif(9), **jpeg)
    yield "turned_long.jpg", saved(colour, exif=b"Exif\0\0" + exif(6, kind="L"), **jpeg)
    clear = noise(13, 8, "RGBA", 15)
    yield "turned.png", saved(clear, format="png", exif=exif(6, ">"))
    whole = saved(clear, format="png")
    end = len(whole) - len(chunk(b"IEND", b""))
    yield "turned_behind.png", whole[:end] + chunk(b"eXIf", exif(7)) + whole[end:]
    yield "turned.webp", saved(clear, format="webp", lossless=True, exact=True, exif=exif(8))
    xmp = '<rdf:Description tiff:Orientation="6"/>'
    yield "turned_xmp.jpg", saved(colour, xmp=xmp.encode(), **jpeg)
    info = PIL.PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", xmp)
    yield "turned_xmp.png", saved(clear, format="png", pnginfo=info)
    webp = {"format": "webp", "lossless": True, "exact": True}
    yield "turned_xmp.webp", saved(clear, xmp=xmp.encode(), **webp)


def refused():
    moving = [noise(12, 10, "RGB", seed) for seed in (20, 21)]
    animated = saved(moving[0], format="webp", save_all=True, append_images=moving[1:])
    yield "animated.webp", animated, "animated"
    yield "gray_16bit.png", png(5, 3, 16, 0, deep_rows(5, 3, 1, 4)), "gray of 16 bits"
    taken = dict((*jpegs(), *pngs(), *webps()))
    for name in ("ycc_420.jpg", "progressive.jpg", "rgb.png", "lossy.webp", "lossless.webp"):
        yield f"truncated_{name}", taken[name][: len(taken[name]) * 2 // 3], "truncated"
    whole = taken["ycc_444.jpg"]
    at = whole.index(b"\xff\xc0")
    yield "twelve_bits.jpg", whole[: at + 4] + b"\x0c" + whole[at + 5 :], "precision 12"
    huge = struct.pack(">HH", 65500, 65500)
    yield "huge.jpg", whole[: at + 5] + huge + whole[at + 9 :], "65500 × 65500 pixels"
    yield "huge.png", png(60000, 60000, 8, 2, [b"\0"]), "60000 × 60000 pixels"
    yield "picture.gif", saved(moving[0], format="gif"), "neither JPEG nor PNG nor WebP"
    yield "empty.png", b"", "an empty file"


def expected(data):
    image = PIL.ImageOps.exif_transpose(PIL.Image.open(io.BytesIO(data)))
    rgb = convert_to_rgb(image, return_numpy=True)
    pixels = PIL.Image.fromarray(rgb).resize((SIDE, SIDE), resample=PIL.Image.Resampling.BICUBIC)
    return {
        "size": list(image.size),
        "rgb": fnv1a(rgb.tobytes()),
        "pixels": fnv1a(numpy.array(pixels).tobytes()),
    }


def main():
    HERE.mkdir(exist_ok=True)
    made = {}
    for name, data in (*jpegs(), *pngs(), *webps(), *turned()):
        (HERE / name).write_bytes(data)
        made[name] = expected(data)
    for name, data, message in refused():
        (HERE / name).write_bytes(data)
        made[name] = {"refused": message}
    (HERE / "images.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()

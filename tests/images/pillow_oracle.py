"""Makes pictures, asks Pillow and transformers what they are, and compares with our answer.

usage: pillow_oracle.py FOLDER PICTURES SHOW_PIXELS SUFFIX,… SIDE…

Runs in the environment of tests/oracles. Exit status 1: they differ, and it is said where.
"""

import pathlib
import random
import subprocess
import sys

import numpy
import PIL.Image
import PIL.ImageOps
import PIL.PngImagePlugin
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

LONGEST_SIDE = 700
ORIENTATION = PIL.Image.ExifTags.Base.Orientation
RESOLUTION_UNIT = PIL.Image.ExifTags.Base.ResolutionUnit
MODES = {
    ".jpg": ["L", "RGB", "CMYK"],
    ".png": ["1", "L", "LA", "P", "RGB", "RGBA"],
    ".webp": ["RGB", "RGBA"],
}


def made(draw):
    """An array of waves and noise: it has edges, gradients and single pixels that stand out."""
    width, height = (round(2 ** draw.uniform(0, LONGEST_SIDE.bit_length() - 0.6)) for _ in "wh")
    numbers = numpy.random.default_rng(draw.randrange(2**32))
    y, x = numpy.mgrid[0:height, 0:width]
    waves = 127 + 120 * numpy.sin(x / draw.uniform(1, 40)) * numpy.cos(y / draw.uniform(1, 40))
    noise = numbers.integers(-128, 129, (height, width, 4)) * draw.choice([0, 0.2, 1])
    return (waves[..., None] + noise).clip(0, 255).astype(numpy.uint8)


def tell_by_xmp(draw, suffix, options):
    form = draw.choice(['<x tiff:Orientation="{}"/>', "<tiff:Orientation>{}</tiff:Orientation>"])
    text = form.format(draw.randrange(10))
    if suffix == ".png":
        options["pnginfo"] = PIL.PngImagePlugin.PngInfo()
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", text)
    else:
        options["xmp"] = text.encode()


def saved(folder, number, draw, suffixes):
    data, suffix = made(draw), draw.choice(suffixes)
    mode = draw.choice(MODES[suffix])
    image = PIL.Image.fromarray(data, "CMYK" if mode == "CMYK" else "RGBA")
    options = {"quality": draw.choice([30, 75, 95])} if suffix != ".png" else {}
    if mode == "P":
        image = image.convert("RGB").quantize(draw.choice([2, 9, 256]))
        if draw.random() < 0.5:
            options["transparency"] = bytes(draw.randrange(256) for _ in range(2))
    elif mode != "CMYK":
        image = image.convert(mode)
    if suffix == ".jpg" and mode == "RGB":
        options |= {"subsampling": draw.randrange(3), "progressive": draw.random() < 0.5}
    if suffix == ".webp":
        options["lossless"] = draw.random() < 0.3
    if draw.random() < 0.5:
        options["exif"] = PIL.Image.Exif()
        # A tag that says nothing of it leaves it to XMP.
        options["exif"][draw.choice([ORIENTATION, RESOLUTION_UNIT])] = draw.randrange(1, 9)
    if draw.random() < 0.3:
        tell_by_xmp(draw, suffix, options)
    path = folder / f"{number}_{mode}_{image.width}x{image.height}{suffix}"
    image.save(path, **options)
    return path


def differences(folder, side, seed, count, show_pixels, suffixes):
    draw = random.Random(seed)
    paths = [saved(folder, number, draw, suffixes) for number in range(count)]
    answer = subprocess.run(
        [show_pixels, str(side), *paths], check=True, stdout=subprocess.PIPE
    ).stdout
    shape = (count, side * side * 3 * 5)
    ours = numpy.frombuffer(answer, dtype=numpy.uint8).reshape(shape)
    squeeze = BlipImageProcessorPil(
        size={"height": side, "width": side}, do_rescale=False, do_normalize=False
    )
    whole = BlipImageProcessorPil(size={"height": side, "width": side})
    wrong = []
    for path, of_picture in zip(paths, ours, strict=True):
        image = PIL.ImageOps.exif_transpose(PIL.Image.open(path))
        pixels = of_picture[: side * side * 3].reshape(side, side, 3).transpose(2, 0, 1)
        numbers = of_picture[side * side * 3 :].view(numpy.float32).reshape(3, side, side)
        expected = numpy.asarray(squeeze(image, return_tensors="np").pixel_values[0])
        if not (pixels == expected).all():
            most = numpy.abs(pixels.astype(int) - expected.astype(int))
            wrong.append(f"{path.name}: {(most > 0).sum()} pixels, by up to {most.max()}")
        elif not (numbers == whole(image, return_tensors="np").pixel_values[0]).all():
            wrong.append(f"{path.name}: normalized")
    return wrong


def main():
    folder, count, show_pixels = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    suffixes = sys.argv[4].split(",")
    wrong = []
    for seed, side in enumerate(map(int, sys.argv[5:])):
        of_side = folder / str(side)
        of_side.mkdir()
        found = differences(of_side, side, seed, count, show_pixels, suffixes)
        wrong += [f"to {side}: {words}" for words in found]
    print("\n".join(wrong) or f"{count} pictures are equal to each side")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes what Pillow makes of small images, for src/dataset's tests to agree with bit for bit.

    python3 -m venv /tmp/pillow && /tmp/pillow/bin/pip install pillow==13.0.0
    /tmp/pillow/bin/python tests/data/pillow/generate.py

resize.json: digests of Image.resize over sizes and filters, of images made by noise() below and by
the same function in resample_test.cc. decode.json: digests of the decoded pixels of the JPEG and PNG
files that are written beside it.
"""
import hashlib
import json
import pathlib
import random

import PIL
from PIL import Image

HERE = pathlib.Path(__file__).parent
FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}


def noise(count, seed):
    """Bytes with many 0 and 255 among them, so that filters overshoot on both sides."""
    values = bytearray()
    state = seed
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        top = state >> 24
        values.append(0 if top < 64 else 255 if top >= 192 else (top - 64) * 2)
    return bytes(values)


def smooth(width, height):
    """An image like a photograph: gradients, an edge and a little texture."""
    rows = bytearray()
    for y in range(height):
        for x in range(width):
            edge = 80 if x * 2 > y * 3 else 0
            rows += bytes(((x * 5 + y) % 256, (255 - y * 4) % 256, (x * y // 3 + edge) % 256))
    return Image.frombytes("RGB", (width, height), bytes(rows))


def digest(image):
    return hashlib.sha256(image.tobytes()).hexdigest()


def resize_cases():
    chosen = random.Random(1)
    fixed = [((8, 8), (4, 4)), ((7, 5), (3, 2)), ((5, 7), (11, 13)), ((1, 1), (9, 9)),
             ((64, 48), (64, 20)), ((64, 48), (20, 48)), ((33, 1), (2, 1)), ((1, 33), (1, 2)),
             ((100, 3), (1, 1)), ((3, 100), (200, 1)), ((256, 8), (224, 7)), ((96, 64), (75, 50)),
             ((28, 28), (32, 32)), ((17, 19), (19, 17)), ((2, 2), (1, 1)), ((3, 3), (2, 2))]
    drawn = [tuple((chosen.randint(1, 90), chosen.randint(1, 90)) for _ in range(2))
             for _ in range(44)]
    for number, (size, to) in enumerate(fixed + drawn):
        for name in FILTERS:
            yield {"from": size, "to": to, "channels": 1 if number % 3 == 0 else 3,
                   "seed": number + 1, "filter": name}


def resize_digest(case):
    count = case["from"][0] * case["from"][1] * case["channels"]
    mode = "L" if case["channels"] == 1 else "RGB"
    image = Image.frombytes(mode, case["from"], noise(count, case["seed"]))
    return digest(image.resize(case["to"], FILTERS[case["filter"]]))


def write_files():
    photo = smooth(75, 51)
    jpegs = {
        "420.jpg": (photo, {"quality": 85, "subsampling": "4:2:0"}),
        "422.jpg": (photo, {"quality": 85, "subsampling": "4:2:2"}),
        "444.jpg": (photo, {"quality": 95, "subsampling": "4:4:4"}),
        "progressive.jpg": (photo, {"quality": 80, "progressive": True}),
        "gray.jpg": (photo.convert("L"), {"quality": 90}),
        "cmyk.jpg": (photo.convert("CMYK"), {"quality": 90}),
        "one_pixel.jpg": (photo.crop((3, 3, 4, 4)), {"quality": 75}),
    }
    alpha = smooth(20, 14)
    alpha.putalpha(Image.linear_gradient("L").resize(alpha.size))
    palette = photo.quantize(16)
    pngs = {
        "rgb.png": (photo, {}),
        "gray.png": (photo.convert("L"), {}),
        "bilevel.png": (photo.convert("1"), {}),
        "palette.png": (palette, {}),
        "palette_alpha.png": (palette, {"transparency": 3}),
        "rgba.png": (alpha, {}),
        "gray_alpha.png": (alpha.convert("LA"), {}),
        "gray16.png": (Image.frombytes("I;16", (20, 10), noise(400, 7)), {}),
    }
    for name, (image, options) in (jpegs | pngs).items():
        image.save(HERE / name, **options)
    return sorted(jpegs | pngs)


def decode_record(name):
    with Image.open(HERE / name) as image:
        if image.mode == "I;16":  # Pillow's convert() of 16 bits changed over versions: upper byte
            image = Image.frombytes("L", image.size, image.tobytes()[1::2])
        rgb = image.convert("RGB")
        gray = rgb.convert("L")
    return {"file": name, "size": rgb.size, "rgb": digest(rgb), "gray": digest(gray)}


def main():
    cases = [case | {"sha256": resize_digest(case)} for case in resize_cases()]
    records = [decode_record(name) for name in write_files()]
    for file, rows in (("resize.json", cases), ("decode.json", records)):
        lines = ",\n".join("  " + json.dumps(row) for row in rows)
        (HERE / file).write_text(f'{{"pillow": "{PIL.__version__}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

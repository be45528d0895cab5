#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Converts the frame buffer of Xvfb (XWD, 32 bits a pixel) to a small PNG with a palette: xwd2png.py IN OUT"""
import collections
import struct
import sys
import zlib


def read_xwd(path):
    """Returns width, height and the rows as lists of (red, green, blue)."""
    with open(path, "rb") as file:
        data = file.read()
    field = struct.unpack(">25I", data[:100])
    width, height, bits, line, colours = field[4], field[5], field[11], field[12], field[19]
    if bits != 32 or field[7] != 0:
        sys.exit("%s: %d bits a pixel, byte order %d: want 32 and 0" % (path, bits, field[7]))
    start = field[0] + 12 * colours
    rows = []
    for y in range(height):
        row = data[start + y * line:start + y * line + 4 * width]
        rows.append(list(zip(row[2::4], row[1::4], row[0::4])))
    return width, height, rows


def palette_of(rows):
    """Maps each colour to one of 256: the frequent ones stay exact, the others take the nearest of these."""
    seen = collections.Counter(pixel for row in rows for pixel in row)
    palette = [colour for colour, _ in seen.most_common(256)]
    index = {}
    for colour in seen:
        index[colour] = min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(colour, palette[i])))
    return palette, index


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main():
    width, height, rows = read_xwd(sys.argv[1])
    palette, index = palette_of(rows)
    pixels = b"".join(b"\0" + bytes(index[p] for p in row) for row in rows)
    with open(sys.argv[2], "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
                   chunk(b"PLTE", b"".join(bytes(c) for c in palette)) + chunk(b"IDAT", zlib.compress(pixels, 9)) +
                   chunk(b"IEND", b""))


main()

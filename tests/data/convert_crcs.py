#!/usr/bin/env python3
"""Writes convert_crcs.jsonl: for each pair of element types, of which the first has at most 16 bits,
the CRC-32 of all values after the conversion, little-endian, with a byte for each element below 8
bits, whose upper bits are zero.

The values come from numpy and ml_dtypes, which round from float32; as float32 has all values of a
type of at most 16 bits, that is one rounding. The rules that numpy leaves open, or that differ from
XLA's, are written here: floats to integers stop at their limits, a NaN keeps its sign and has no
payload, integers wrap around.

    pip install numpy==2.4.2 ml_dtypes==0.6.0
    python3 tests/data/convert_crcs.py > tests/data/convert_crcs.jsonl
"""

import json
import zlib

import ml_dtypes
import numpy as np

FLOATS = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e3m4": ml_dtypes.float8_e3m4,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
    "f6e2m3fn": ml_dtypes.float6_e2m3fn,
    "f6e3m2fn": ml_dtypes.float6_e3m2fn,
}
INTEGERS = {f"{sign}{bits}": (sign == "s", bits) for sign in "su" for bits in (1, 2, 4, 8, 16, 32, 64)}
# The bits of the NaN without a sign; other types have no NaN, or one with the bits of -0.
NANS = {
    "f16": 0x7E00, "f32": 0x7FC00000, "f64": 0x7FF8 << 48, "bf16": 0x7FC0, "f8e5m2": 0x7E,
    "f8e4m3fn": 0x7F, "f8e4m3": 0x7C, "f8e3m4": 0x78, "f8e4m3b11fnuz": 0x80, "f8e4m3fnuz": 0x80,
    "f8e5m2fnuz": 0x80, "f8e8m0fnu": 0xFF, "f4e2m1fn": 8, "f6e2m3fn": 0x20, "f6e3m2fn": 0x20,
}
HAVE_SIGNED_NAN = {"f16", "f32", "f64", "bf16", "f8e5m2", "f8e4m3fn", "f8e4m3", "f8e3m4"}


def bits_of(kind):
    if kind == "pred":
        return 8
    if kind in INTEGERS:
        return INTEGERS[kind][1]
    digits = kind[1:] if kind[0] == "f" else kind[2:]
    return int(digits.split("e")[0])


def storage(kind):
    return max(8, bits_of(kind))


def given(kind):
    """All patterns of a type, and their values: integers, or float64 with the sign of NaNs."""
    patterns = np.arange(1 << storage(kind), dtype=np.uint32)
    bits = bits_of(kind)
    low = patterns & ((1 << bits) - 1)
    if kind == "pred":
        return (patterns != 0).astype(np.int64), None
    if kind in INTEGERS:
        signed = INTEGERS[kind][0]
        value = low.astype(np.int64)
        return np.where(signed & (value >> (bits - 1) == 1), value - (1 << bits), value), None
    raw = low.astype(np.uint16 if bits == 16 else np.uint8).view(FLOATS[kind])
    value = raw.astype(np.float32).astype(np.float64)
    negative = (low >> (bits - 1)) & 1 == 1 if kind != "f8e8m0fnu" else np.zeros(len(low), bool)
    return value, negative


def converted(value, negative, kind):
    """The patterns of values in another type, as unsigned integers of 64 bits."""
    if kind == "pred":
        return (value != 0).astype(np.uint64)
    if kind in INTEGERS:
        signed, bits = INTEGERS[kind]
        if negative is None:
            number = [int(v) for v in value]
        else:
            least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
            limit = lambda v: 0 if v != v else least if v <= least else most if v >= most else int(v)
            number = [limit(v) for v in value]
        mask = (1 << bits) - 1
        number = [v & mask for v in number]
        return np.array(number, dtype=np.uint64)
    if kind == "f64":
        out = value.astype(np.float64).view(np.uint64)
    else:
        with np.errstate(all="ignore"):
            out = value.astype(np.float32).astype(FLOATS[kind])
        width = {1: np.uint8, 2: np.uint16, 4: np.uint32}[out.dtype.itemsize]
        out = out.view(width).astype(np.uint64)
    if negative is not None:
        nan = np.isnan(value)
        sign = np.uint64(1 << (bits_of(kind) - 1)) if kind in HAVE_SIGNED_NAN else np.uint64(0)
        fixed = np.uint64(NANS[kind]) | np.where(negative, sign, np.uint64(0))
        out = np.where(nan, fixed, out)
    return out


def main():
    kinds = ["pred", *INTEGERS, *FLOATS]
    for source in [kind for kind in kinds if bits_of(kind) <= 16]:
        value, negative = given(source)
        for to in kinds:
            if to == source:
                continue
            patterns = converted(value, negative, to)
            width = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[storage(to)]
            image = patterns.astype(width).tobytes()
            print(json.dumps({"from": source, "to": to, "crc32": f"{zlib.crc32(image):08x}"}))


if __name__ == "__main__":
    main()

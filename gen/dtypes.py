# SPDX-License-Identifier: MIT
"""Element types, who carries an operation out, and what a wait compares by."""
from dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """An element type. `acc` is the type that sums of it accumulate in; `kind` is int, uint or float."""
    name: str
    ctype: str
    bits: int
    kind: str
    acc: str
    digits: int = 0  # bits of a float's significand, the leading one included

    @property
    def bytes(self):
        return self.bits // 8

    @property
    def native(self):
        """C computes with the type itself: integers, f32, f64."""
        return self.acc == self.name

    @property
    def wide(self):
        """The type that creation computes its values in."""
        return "f64" if self.kind == "float" else "u64"

    @property
    def whole(self):
        """The type of the whole numbers that become elements."""
        return "i64" if self.kind == "float" else self.name


DTYPES = (
    DType("i8", "int8_t", 8, "int", acc="i8"),
    DType("u8", "uint8_t", 8, "uint", acc="u8"),
    DType("i16", "int16_t", 16, "int", acc="i16"),
    DType("u16", "uint16_t", 16, "uint", acc="u16"),
    DType("i32", "int32_t", 32, "int", acc="i32"),
    DType("u32", "uint32_t", 32, "uint", acc="u32"),
    DType("i64", "int64_t", 64, "int", acc="i64"),
    DType("u64", "uint64_t", 64, "uint", acc="u64"),
    DType("f16", "iris_f16", 16, "float", acc="f32", digits=11),
    DType("bf16", "iris_bf16", 16, "float", acc="f32", digits=8),
    DType("f32", "float", 32, "float", acc="f32", digits=24),
    DType("f64", "double", 64, "float", acc="f64", digits=53),
    DType("f8e4m3", "iris_f8e4m3", 8, "float", acc="f32", digits=4),
    DType("f8e5m2", "iris_f8e5m2", 8, "float", acc="f32", digits=3),
    DType("f8e4m3fnuz", "iris_f8e4m3fnuz", 8, "float", acc="f32", digits=4),
    DType("f8e5m2fnuz", "iris_f8e5m2fnuz", 8, "float", acc="f32", digits=3),
)
BY_NAME = {t.name: t for t in DTYPES}
assert len(BY_NAME) == len(DTYPES), "two dtypes share a name"
assert all(t.acc in BY_NAME for t in DTYPES), "a dtype accumulates in one that does not exist"


@dataclass(frozen=True)
class Group:
    """Who carries an operation out together."""
    name: str
    suffix: str  # ends the symbol
    who: str     # for comments


GROUPS = (
    Group("lane", "", "One lane calls it alone."),
    Group("wave", "_wave", "Every lane of one wave calls it together."),
    Group("wg", "_wg", "Every lane of one workgroup calls it together."),
)


@dataclass(frozen=True)
class Cmp:
    """A comparison that a wait is for: value seen <c> value expected."""
    name: str
    c: str
    text: str


CMPS = (
    Cmp("eq", "==", "equals"),
    Cmp("ne", "!=", "differs from"),
    Cmp("gt", ">", "is above"),
    Cmp("ge", ">=", "is at least"),
    Cmp("lt", "<", "is below"),
    Cmp("le", "<=", "is at most"),
)

# SPDX-License-Identifier: MIT
"""Arrays cross from C to Python and back by DLPack: structs as the standard lists them, read by ctypes, and where NumPy
is installed, NumPy itself: it writes into the symmetric heap, and its arrays are what iris_register takes.

    python3 dlpack.py libiris.so
"""
import ctypes
import pathlib
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, \
    c_void_p

try:
    import numpy
except ImportError:
    numpy = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from gen.dtypes import DTYPES  # noqa: E402

CPU, FLOAT = 1, 2
F32 = 1 + [t.name for t in DTYPES].index("f32")  # IRIS_F32


class Tensor(ctypes.Structure):
    """DLTensor."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("manager_ctx", c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, c_void_p)), ("flags", c_uint64), ("tensor", Tensor)]


class Unversioned(ctypes.Structure):
    """DLManagedTensor."""
    _fields_ = [("tensor", Tensor), ("manager_ctx", c_void_p), ("deleter", ctypes.CFUNCTYPE(None, c_void_p))]


class Array(ctypes.Structure):
    """iris_dlpack_array."""
    _fields_ = [("first", c_void_p), ("bytes", c_size_t), ("data", c_void_p), ("dtype", c_int), ("dims", c_int32),
                ("elements", c_int64), ("compact", c_int32), ("read_only", c_int32), ("size", POINTER(c_int64)),
                ("stride", POINTER(c_int64))]


iris = ctypes.CDLL(sys.argv[1])
iris.iris_error_string.restype = c_char_p
iris.iris_malloc.restype = c_void_p
iris.iris_malloc.argtypes = [c_void_p, c_size_t]
world = c_void_p()


def run(name, *args):
    """A function that returns a status."""
    status = getattr(iris, name)(*args)
    assert status == 0, f"{name}: {iris.iris_error_string(world).decode()}"


class Shared:
    """An array in the heap, as a library that knows DLPack takes it."""

    def __init__(self, pointer, dtype, shape, versioned):
        self.what = pointer, dtype, shape
        self.versioned = versioned

    def make(self):
        pointer, dtype, shape = self.what
        made = c_void_p()
        name = "iris_to_dlpack" if self.versioned else "iris_to_dlpack_unversioned"
        run(name, world, c_void_p(pointer), c_int(dtype), c_int(len(shape)), (c_int64 * len(shape))(*shape), None,
            byref(made))
        return made

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
        return new(self.make(), b"dltensor_versioned" if self.versioned else b"dltensor", None)

    def __dlpack_device__(self):
        return CPU, 0


def by_hand(pointer, dtype):
    """What is made is what the standard says, field by field."""
    for kind, versioned in ((Versioned, True), (Unversioned, False)):
        address = Shared(pointer, dtype, (3, 4), versioned).make()
        made = ctypes.cast(address, POINTER(kind)).contents
        t = made.tensor
        assert (t.data, t.device_type, t.device_id, t.ndim) == (pointer, CPU, 0, 2)
        assert (t.code, t.bits, t.lanes, t.byte_offset) == (FLOAT, 32, 1, 0)
        assert (t.shape[:2], t.strides[:2]) == ([3, 4], [4, 1])
        assert not versioned or (made.major, made.flags) == (1, 0)
        made.deleter(address)


def by_numpy(pointer, dtype):
    """NumPy writes what ctypes reads in the heap; and what NumPy hands on is understood."""
    floats = (ctypes.c_float * 12).from_address(pointer)
    for versioned in (True, False):
        try:
            shared = numpy.from_dlpack(Shared(pointer, dtype, (3, 4), versioned))
        except (RuntimeError, ValueError, BufferError):
            if versioned:
                continue  # a NumPy from before DLPack 1.0
            raise
        assert shared.shape == (3, 4) and shared.dtype == numpy.float32
        floats[5] = 7.5 + versioned
        assert shared[1, 1] == 7.5 + versioned
        assert shared.ctypes.data == pointer
        del shared
    theirs = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)[::-1, 1::2]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    capsule, array = theirs.__dlpack__(), Array()
    run("iris_from_dlpack_unversioned", world, c_void_p(get(capsule, b"dltensor")), byref(array))
    assert (array.data, array.dtype, array.dims, array.elements) == (theirs.ctypes.data, dtype, 2, 12)
    assert (array.first, array.bytes) == (theirs.ctypes.data - 3 * 24, 4 * (3 * 6 + 2 * 2 + 1))
    assert not array.compact and array.size[:2] == [4, 3] and array.stride[:2] == [-6, 2]


def main():
    run("iris_init", byref(world), None)
    heap = iris.iris_malloc(world, 48)
    by_hand(heap, F32)
    if numpy:
        by_numpy(heap, F32)
    run("iris_finalize", world)
    print("with NumPy " + numpy.__version__ if numpy else "without NumPy, which is not installed")


main()

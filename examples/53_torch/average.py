# SPDX-License-Identifier: MIT
"""Averages an array of PyTorch, or of NumPy where that is not installed, over ranks that are threads of this process.

    average.py LIBRARY [RANKS]      LIBRARY: average.c and init.c; RANKS: 1 to 64, 2 when not given

It ends with 0 when every array is the mean, 1 when not, 2 when it does not take its arguments, 77 when neither PyTorch
nor NumPy is installed.
"""
import ctypes
import os
import re
import sys
import traceback

try:
    import torch
except ImportError:
    torch = None
try:
    import numpy
except ImportError:
    numpy = None

SHAPE = 100, 77


def refuse(why):
    print(f"{sys.argv[0]}: {why}; see --help", file=sys.stderr)
    sys.exit(2)


def loaded(path):
    """The library of average.c and init.c."""
    os.environ["IRIS_SPAWN"] = "thread"  # the library reads it
    try:
        library = ctypes.CDLL(os.path.abspath(path))
    except OSError as error:
        refuse(f"'{path}' is no library: {error}")
    if not hasattr(library, "average"):
        refuse(f"'{path}' is not the library of average.c and init.c")
    return library


def filled(value, device):
    """An array on this rank's device; on the host platform torch has it where the program is."""
    if torch is None:
        return numpy.full(SHAPE, value, dtype=numpy.float32)
    on_gpu = iris.iris_platform_name() != b"host"
    array = torch.full(SHAPE, value, dtype=torch.float32, device=f"cuda:{device}" if on_gpu else "cpu")
    if on_gpu:
        torch.cuda.synchronize(device)  # its kernel has filled the array
    return array


def rank_main(world, _):
    """What iris_spawn calls for each rank."""
    try:
        rank, ranks = iris.iris_rank(world), iris.iris_world_size(world)
        array = filled(float(rank), iris.iris_device(world))
        capsule = array.__dlpack__()  # keeps the array until it is gone
        if iris.average(world, contents(capsule, b"dltensor")) != 0:
            return 1
        right = bool((array == (ranks - 1) / 2).all())
        sys.stdout.write(f"rank {rank}: {'all' if right else 'not all'} elements are {(ranks - 1) / 2}\n")
        sys.stdout.flush()
        return 0 if right else 1
    except Exception:  # no exception passes through C
        traceback.print_exc()
        return 1


if sys.argv[1:2] in (["-h"], ["--help"]):
    print(__doc__)
    sys.exit(0)
if len(sys.argv) not in (2, 3):
    refuse(f"{len(sys.argv) - 1} arguments are not what it takes, a library and perhaps a number of ranks")
asked = sys.argv[2] if len(sys.argv) > 2 else "2"
if not re.fullmatch(r"[1-9]|[1-5][0-9]|6[0-4]", asked):
    refuse(f"'{asked}' is not what it takes, a number of ranks from 1 to 64")
iris = loaded(sys.argv[1])
if torch is None and numpy is None:
    print("skipped: neither PyTorch nor NumPy is installed for this Python")
    sys.exit(77)
iris.iris_platform_name.restype = ctypes.c_char_p
for function in iris.iris_rank, iris.iris_world_size, iris.iris_device:
    function.argtypes = [ctypes.c_void_p]
iris.average.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
contents = ctypes.pythonapi.PyCapsule_GetPointer
contents.restype, contents.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
print(f"arrays of {'PyTorch' if torch else 'NumPy'}", flush=True)
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(rank_main)
sys.exit(iris.iris_spawn(int(asked), callback, None))

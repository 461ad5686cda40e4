# SPDX-License-Identifier: MIT
"""Wrong headers that the gates of signals must notice: `tests/isa/check.py --mutants` compiles collectives.c with each.

The gates' own breakages are edits of instructions; here the sources lack what a careless change would leave out, so
that a gate which looks for it in the wrong place, or finds it by chance, shows.
"""
import re
from dataclasses import dataclass
from pathlib import Path

import collectives
import signals

RAISE = """    irisi_drain();
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        irisi_raise_at(at, value, op);"""
NEIGHBOURS = tuple(k for k in signals.KERNELS if re.search("ring|chain|two_phase|send_recv", k))
MEET = tuple(k for k in collectives.MEETINGS + (signals.ATOMIC,) + collectives.MORE[:3]
             if k not in NEIGHBOURS and "relay" not in k)  # a relay tells in another way
EVERYBODY = tuple(k for k in signals.KERNELS if re.search("fetch|relay", k))


@dataclass(frozen=True)
class Mutant:
    name: str
    header: str  # under include/
    old: str     # occurs once
    new: str
    gate: str       # a part of the text of those that must notice it,
    kernels: tuple  # in each of these
    archs: tuple = ("gfx90a", "gfx942", "gfx950")
    seldom: bool = False  # like another; only with --all


MUTANTS = (
    Mutant("a neighbour is told of puts under way", "iris/signal.h", RAISE, RAISE.replace("    irisi_drain();\n", ""),
           "follow their puts", NEIGHBOURS),
    Mutant("each wave waits for its puts once the workgroup has met", "iris/signal.h", RAISE,
           RAISE.replace("    irisi_drain();\n    iris_sync_wg();\n", "    iris_sync_wg();\n    irisi_drain();\n"),
           "follow their puts", NEIGHBOURS, seldom=True),
    Mutant("a neighbour is told before the workgroup has met", "iris/signal.h", RAISE,
           RAISE.replace("    iris_sync_wg();\n", ""), "follow their puts", NEIGHBOURS, seldom=True),
    Mutant("members meet while puts are under way", "iris/collective/collective.h", """    s->step++;
    irisi_drain();
""", """    s->step++;
""", "follow their puts", MEET),
    Mutant("all are told of puts under way", "iris/collective/collective.h", """s->ctx->rank);
    irisi_drain();
    iris_sync_wg();
    for""", """s->ctx->rank);
    iris_sync_wg();
    for""", "follow their puts", EVERYBODY),
    Mutant("a first meeting writes nothing back", "iris/collective/collective.h", "    irisi_slice_arrive(s, 0);",
           "    irisi_slice_arrive(s, 1);", "meeting", signals.ENTRY + signals.SOMETIMES),
    Mutant("a wait keeps stale lines", "iris/signal.h", """        seen = irisi_poll(&signal->value);
    }
    irisi_acquired();
    irisi_trace_close_wait(ctx, event, from, signal, seen);
    return seen;""", """        seen = irisi_poll(&signal->value);
    }
    irisi_trace_close_wait(ctx, event, from, signal, seen);
    return seen;""", "drop stale lines", signals.KERNELS),
    Mutant("a wait keeps what the far cache has", "iris/arch/amd/memory.h",
           '#define IRISI_INV_SYSTEM "buffer_invl2\\n\\tbuffer_wbinvl1_vol"',
           '#define IRISI_INV_SYSTEM "buffer_wbinvl1_vol"', "drop stale lines", signals.KERNELS, ("gfx90a",)),
    Mutant("a wait keeps what the near cache has", "iris/arch/amd/memory.h",
           '#define IRISI_INV_SYSTEM "buffer_invl2\\n\\tbuffer_wbinvl1_vol"', '#define IRISI_INV_SYSTEM "buffer_invl2"',
           "drop stale lines", signals.KERNELS, ("gfx90a",), seldom=True),
)


def write(mutant, include, folder):
    """The changed header, below a folder that is to come first."""
    text = (Path(include) / mutant.header).read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"mutants: {mutant.header} has what '{mutant.name}' replaces {text.count(mutant.old)} times")
    at = Path(folder) / mutant.header
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def unnoticed(mutant, kernels, isa, arch):
    """Sentences about the kernels in which no gate notices it."""
    some = [gate for gate in signals.GATES[arch] if mutant.gate in gate.text]
    for name in mutant.kernels:
        if not any(list(gate.check(kernels[name], isa)) for gate in some if name in gate.kernels):
            yield f"{name}: not noticed"

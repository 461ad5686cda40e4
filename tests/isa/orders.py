# SPDX-License-Identifier: MIT
"""What an atomic of each order and scope is between two ordinary stores (orders.c): nothing less, and nothing more.

A relaxed atomic that wrote a cache back would be right and slow; a release that did not would be fast and wrong. So a
kernel's accesses to memory, caches and their waits are compared with the whole expected sequence.
"""
import re

from gates import Gate

OPERATIONS = ("add", "fetch", "set")
ORDERS = ("relaxed", "acquire", "release", "acq_rel")
SCOPES = ("wg", "agent", "system")
WAIT = r"s_waitcnt vmcnt\(0\)"
NAMES = {"add": "global_atomic_add_x2", "fetch": "global_load_dwordx2", "set": "global_store_dwordx2"}
# How far an access goes, what writes back and what drops stale lines, by scope.
GFX942 = {"bits": {"wg": " sc0", "agent": " sc1", "system": " sc0 sc1"},
          "add": {"wg": " sc0", "agent": " sc0", "system": " sc0 sc1"},  # here sc0 asks for the old value
          "set": {"wg": " sc0", "agent": " sc1", "system": " sc0 sc1"},
          "release": {"agent": ["buffer_wbl2 sc1", WAIT], "system": ["buffer_wbl2 sc0 sc1", WAIT]},
          "acquire": {"agent": ["buffer_inv sc1", WAIT], "system": ["buffer_inv sc0 sc1", WAIT]}}
GFX90A = {"bits": {"wg": "", "agent": " glc", "system": " glc"},
          "add": {"wg": " glc", "agent": " glc", "system": " glc"},  # glc asks for the old value
          "set": {"wg": "", "agent": "", "system": ""},  # the page decides how far a store goes
          "release": {"agent": [WAIT], "system": ["buffer_wbl2", WAIT]},
          "acquire": {"agent": ["buffer_wbinvl1_vol", WAIT], "system": ["buffer_invl2", "buffer_wbinvl1_vol", WAIT]}}
PTX_SCOPES = {"wg": "cta", "agent": "gpu", "system": "sys"}


def amd_sequence(machine, operation, order, scope):
    """Patterns of what memory and caches see, in order."""
    bits = machine.get(operation, machine["bits"])[scope]
    atomic = [rf"{NAMES[operation]} [^a-z]*(?:[vs]\[?[\d:]+\]?(?:, )?)+{bits}"]
    before = machine["release"].get(scope, []) if operation != "fetch" and order in ("release", "acq_rel") else []
    after = machine["acquire"].get(scope, []) if order in ("acquire", "acq_rel") else []
    ordinary = r"global_store_dword v\d+, v\d+, s\[[\d:]+\]"
    return [ordinary, *before, *atomic, *([] if operation == "set" else [WAIT, *after, ordinary])]


def check_amd(machine):
    def check(listing, _isa):
        operation, order, scope = re.fullmatch(r"isa_order_([a-z]+)_(\w+)_([a-z]+)", listing.name).groups()
        want = amd_sequence(machine, operation, order, scope)
        seen = []
        for instr in listing.code:
            text = re.sub(r" lgkmcnt\(0\)", "", instr.text)
            if re.match(r"(global|buffer|flat|scratch)_|s_waitcnt .*vmcnt", text) and text not in seen[-1:]:
                seen.append(text)
        for i, pattern in enumerate(want):
            if i >= len(seen) or not re.fullmatch(pattern, seen[i]):
                yield f"expected {pattern}, found {seen[i] if i < len(seen) else 'nothing'}"
                return
        if len(seen) > len(want):
            yield f"more than that order asks for: {seen[len(want)]}"
    return check


def check_ptx(listing, _isa):
    operation, order, scope = re.fullmatch(r"isa_order_([a-z]+)_(\w+)_([a-z]+)", listing.name).groups()
    # A load cannot release, a store cannot acquire: that half of the order does nothing.
    half = {"fetch": {"release": "relaxed", "acq_rel": "acquire"}, "set": {"acquire": "relaxed", "acq_rel": "release"}}
    name = {"add": "(atom|red)", "fetch": "ld", "set": "st"}[operation]
    want = rf"^{name}\.{half.get(operation, {}).get(order, order)}\.{PTX_SCOPES[scope]}\.global\."
    if len(listing.find(want)) != 1:
        yield f"not one {want}"
    for i in listing.find(r"^(fence|membar)"):
        yield f"more than that order asks for: {listing.code[i].text}"


def gates_of(check, breaks):
    """One gate for each order and scope; breaks(order, scope) are edits of its first kernel, an addition."""
    return tuple(Gate(f"an atomic that is {order} at scope {scope}: what that takes and no more",
                      tuple(f"isa_order_{operation}_{order}_{scope}" for operation in OPERATIONS), check,
                      breaks(order, scope)) for order in ORDERS for scope in SCOPES)


def amd_breaks(order, scope):
    edits = [("^global_atomic_add_x2", "global_atomic_add_x2 v[4:5], v3, v[2:3], s[6:7]"),
             ("^global_store_dword ", "buffer_wbl2 sc0 sc1")]
    if order in ("acquire", "acq_rel") and scope != "wg":
        edits.append((r"^buffer_(inv|wbinvl1_vol)", "s_nop 0"))
    if order in ("release", "acq_rel") and scope == "system":
        edits.append(("^buffer_wbl2", "s_nop 0"))
    if scope != "wg" and order != "relaxed":
        edits.append((rf"^{WAIT}", "s_nop 0"))
    return tuple(edits)


def ptx_breaks(order, scope):
    other = {"relaxed": "acq_rel"}.get(order, "relaxed")
    return ((r"^atom\.", f"atom.{other}.{PTX_SCOPES[scope]}.global.add.u64"),
            (r"^atom\.", f"atom.{order}.{'sys' if scope == 'wg' else 'cta'}.global.add.u64"),
            (r"^st\.", "fence.sc.sys"))


GATES = {"gfx90a": gates_of(check_amd(GFX90A), amd_breaks), "gfx942": gates_of(check_amd(GFX942), amd_breaks),
         "gfx950": gates_of(check_amd(GFX942), amd_breaks), "ptx": gates_of(check_ptx, ptx_breaks)}

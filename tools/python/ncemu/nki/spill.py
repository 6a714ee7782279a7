"""Spilling, an option (`ncemu nki --spill`): where SBUF is full, the tile whose next use is farthest away leaves it.

A tile that one transfer loaded from a tensor that the kernel does not write is loaded again; another is stored in memory
of its own and loaded from there. The new transfers stand right before the use; they run ahead as far as memory allows.
"""

import heapq

from ncemu.nki.errors import NkiError
from ncemu.nki.tensor import row_major
from ncemu.nki.trace import LOOP_OPEN, PRINT, Storage

# Instructions whose first operand is read, and fields beside the first that are written.
READ_ONLY = frozenset(("load_stationary", "match_value_load", "set_rng_seed", "register_load", PRINT))
WRITTEN = frozenset(("reduce_res",))


def accesses(tr):
    """Of each SBUF tile: the positions that touch it, and those that write it."""
    touched, writers = {}, {}
    for position, record in enumerate(tr.instructions):
        if record is None:
            continue
        mnemonic = record[0]
        if mnemonic is LOOP_OPEN:
            raise NkiError("err_not_supported", "spilling around a run-time loop is not supported", tr.sites[record[2]])
        for at, (field, operand) in enumerate(record[3]):
            if type(operand) is not tuple or operand[0] != "sbuf":
                continue
            s = operand[1]
            if s.fixed is not None:
                continue
            at_s = touched.setdefault(s, [])
            if not at_s or at_s[-1] != position:
                at_s.append(position)
            if (at == 0 and mnemonic not in READ_ONLY) or field in WRITTEN or \
                    (field == "index" and mnemonic == "match_replace8"):
                writers.setdefault(s, []).append(position)
    return touched, writers


def source_of(tr, s, writers):
    """The transfer that loads the whole tile, if nothing else writes it and it can be repeated."""
    if len(writers.get(s, ())) != 1:
        return None
    record = tr.instructions[writers[s][0]]
    if record[0] != "dma_copy" or len(record[3]) != 2:
        return None
    dst, src = record[3][0][1], record[3][1][1]
    elements = 1
    for _, n in dst[6]:
        elements *= n
    whole = dst[3] == 0 and dst[4] == s.partitions and elements == s.elements and dst[5] == 0
    if not whole or src[0] != "hbm" or src[1].is_written or src[1].kind != "input" or src[7] is not None:
        return None
    return dst, src


def spill(tr, capacity, unit=64):
    """Rewrites the trace's instructions so that the tiles alive at any place take at most `capacity` bytes."""
    touched, writers = accesses(tr)
    fixed = max([s.fixed[1] + s.bytes for s in tr.storages if s.space == "sbuf" and s.fixed is not None and s.last >= 0],
                default=0)
    room = capacity - fixed
    size = {s: -(-s.bytes // unit) * unit for s in touched}
    starts = {}
    for s, positions in touched.items():
        starts.setdefault(positions[0], []).append(s)
    new, where = [], {}            # instructions; tile -> its present copy
    cursor = dict.fromkeys(touched, 0)
    live, used = set(), 0
    far = []                       # (-next use, number, tile): the farthest first, with stale entries
    out = {}                       # tiles that left: tile -> their place in memory, or None
    spilled = 0

    def next_use(s):
        positions = touched[s]
        return positions[cursor[s]] if cursor[s] < len(positions) else None

    def make_room(needed, busy, site):
        nonlocal used, spilled
        held = []
        while used + needed > room:
            if not far:
                raise NkiError("err_out_of_memory", f"SBUF holds {capacity} bytes per partition; even with spilling one "
                               f"instruction needs more", tr.sites[site])
            key, number, s = heapq.heappop(far)
            if s not in live or next_use(s) != -key:
                continue
            if s in busy:
                held.append((key, number, s))
                continue
            live.discard(s)
            used -= size[s]
            spilled += 1
            if source_of(tr, s, writers) is not None:
                out[s] = None
            elif s not in out or out[s] is None or out[s][1]:
                place = out[s][0] if s in out and out[s] is not None else memory(tr, s)
                new.append(transfer(place, where.get(s, s), site, False))
                out[s] = (place, False)
        for entry in held:
            heapq.heappush(far, entry)

    for position, record in enumerate(tr.instructions):
        if record is None:
            continue
        tiles = {o[1] for _, o in record[3] if type(o) is tuple and o[0] == "sbuf" and o[1].fixed is None}
        for s in sorted(tiles, key=lambda t: t.number):
            if s in live:
                continue
            make_room(size[s], tiles, record[2])
            live.add(s)
            used += size[s]
            if s in out:
                copy = where[s] = another(tr, s)
                if out[s] is None:
                    dst, src = source_of(tr, s, writers)
                    new.append(["dma_copy", None, record[2], [(None, renamed(dst, copy)), (None, src)], "spill"])
                else:
                    new.append(transfer(out[s][0], copy, record[2], True))
        new.append([record[0], record[1], record[2], [
            (f, renamed(o, where[o[1]]) if type(o) is tuple and o[0] == "sbuf" and o[1] in where else o) for f, o in record[3]],
            record[4]])
        for s in tiles:
            cursor[s] += 1
            if out.get(s) is not None and position in writers.get(s, ()):
                out[s] = (out[s][0], True)  # what lies in memory is old
            following = next_use(s)
            if following is None:
                live.discard(s)
                used -= size[s]
            else:
                heapq.heappush(far, (-following, s.number, s))
    tr.instructions = new
    recount(tr)
    return spilled


def another(tr, s):
    """A tile like it, for the time after it came back."""
    copy = Storage(s.name, s.space, s.dtype, s.shape, s.partitions, s.elements, s.site)
    copy.number, copy.is_written = len(tr.storages), True
    tr.storages.append(copy)
    return copy


def memory(tr, s):
    """Where a tile goes in HBM."""
    place = Storage(tr.unique("spill"), "hbm", s.dtype, (s.partitions, s.elements), 0, s.partitions * s.elements, s.site)
    place.kind, place.number, place.last = "hbm", len(tr.storages), 0
    tr.storages.append(place)
    return place


def transfer(place, tile, site, back):
    """A copy of the whole tile to its place, or back."""
    here = ("sbuf", tile, None, 0, tile.partitions, 0, ((1, tile.elements),), None)
    there = ("hbm", place, None, 0, 0, 0, row_major((tile.partitions, tile.elements)), None)
    pair = (here, there) if back else (there, here)
    return ["dma_copy", None, site, [(None, pair[0]), (None, pair[1])], "spill"]


def renamed(operand, storage):
    return (operand[0], storage, *operand[2:])


def recount(tr):
    """First and last uses by the new positions."""
    for s in tr.storages:
        if s.space != "hbm":
            s.first, s.last = 1 << 60, -1
    for position, record in enumerate(tr.instructions):
        if record is None:
            continue
        for _, o in record[3]:
            if type(o) is tuple and o[0] in ("sbuf", "psum"):
                s = o[1]
                s.first, s.last = min(s.first, position), max(s.last, position)

"""Addresses for a traced kernel's tiles: linear scan over the trace, by the first and last instruction that touch one.

Rotation first: memory that has been free for longest is taken, so that a tile of the next iteration rarely waits for
readers of the last one. What does not fit that way is tried at the lowest address, then by size. SBUF tiles start at
multiples of 64 bytes; a PSUM tile takes whole banks.
"""

from ncemu.nki.errors import NkiError

ALIGNMENT = 64


def allocate(tr, capacity, banks, bank_bytes):
    for s in tr.storages:
        if s.last < 0 and s.fixed is None:
            continue
        if s.fixed is not None:
            s.start, s.address = s.fixed
    _space(tr, "sbuf", capacity, ALIGNMENT)
    _space(tr, "psum", banks * bank_bytes, bank_bytes)


def _space(tr, space, capacity, unit):
    live = [s for s in tr.storages if s.space == space and s.last >= 0 and s.fixed is None]
    fixed = [s for s in tr.storages if s.space == space and s.last >= 0 and s.fixed is not None]
    if not live:
        return
    needed = {s: -(-s.bytes // unit) * unit for s in live}
    live.sort(key=lambda s: (s.first, s.number))
    for strategy in (_rotate, _lowest, _by_size):
        if strategy(live, fixed, needed, capacity):
            return
    _report(tr, space, live + fixed, capacity)


def _clear(at, size, taken):
    return all(at + size <= t.address or t.address + n <= at for t, n in taken)


def _rotate(live, fixed, needed, capacity):
    return _scan(live, fixed, needed, capacity, True)


def _lowest(live, fixed, needed, capacity):
    return _scan(live, fixed, needed, capacity, False)


def _scan(live, fixed, needed, capacity, rotate):
    active = []  # (storage, size), of those alive
    cursor = 0
    for s in live:
        active = [(t, n) for t, n in active if t.last >= s.first]
        taken = active + [(t, t.bytes) for t in fixed if t.first <= s.last and t.last >= s.first]
        size = needed[s]
        taken.sort(key=lambda e: e[0].address)
        gaps, end = [], 0
        for t, n in taken:
            if t.address > end:
                gaps.append((end, t.address))
            end = max(end, t.address + n)
        gaps.append((end, capacity))
        spot = None
        if rotate:
            for lo, hi in gaps:
                at = max(lo, cursor)
                if at + size <= hi:
                    spot = at
                    break
        if spot is None:
            for lo, hi in gaps:
                if lo + size <= hi:
                    spot = lo
                    break
        if spot is None:
            return False
        unit = ALIGNMENT
        spot = -(-spot // unit) * unit
        if not _clear(spot, size, taken) or spot + size > capacity:
            return False
        s.address = spot
        cursor = spot + size
        active.append((s, size))
    return True


def _by_size(live, fixed, needed, capacity):
    """Largest first, each at the lowest address free over its whole life."""
    placed = [(t, t.bytes) for t in fixed]
    for s in sorted(live, key=lambda s: (-needed[s], s.first, s.number)):
        near = sorted([(t.address, t.address + n) for t, n in placed if t.first <= s.last and t.last >= s.first])
        at = 0
        for lo, hi in near:
            if at + needed[s] <= lo:
                break
            at = max(at, -(-hi // ALIGNMENT) * ALIGNMENT)
        if at + needed[s] > capacity:
            return False
        s.address = at
        placed.append((s, needed[s]))
    return True


def _report(tr, space, tiles, capacity):
    """Where the demand is highest: what is alive there, largest first."""
    events = sorted({t.first for t in tiles})
    worst = max(events, key=lambda at: sum(t.bytes for t in tiles if t.first <= at <= t.last))
    alive = sorted([t for t in tiles if t.first <= worst <= t.last], key=lambda t: (-t.bytes, t.number))
    total = sum(t.bytes for t in alive)
    lines = []
    for t in alive[:8]:
        file, line = tr.sites[t.site]
        lines.append(f"  {t.bytes:>8} bytes  {t.name} {t.dtype}{list(t.shape)}  {file}:{line}")
    site = tr.sites[tr.instructions[min(worst, len(tr.instructions) - 1)][2]]
    raise NkiError("err_out_of_memory",
                   f"{space.upper()} is full: {total} bytes per partition are alive here, {capacity} are there; the largest "
                   f"tiles:\n" + "\n".join(lines), site)

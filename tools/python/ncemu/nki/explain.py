"""What the interface decided for a kernel, for `ncemu nki --explain`."""

import collections

from ncemu.nki.trace import LOOP_CLOSE, LOOP_OPEN


def text(run):
    tr = run.trace
    lines = [f"decisions for {tr.name} on {tr.target.name}"]
    lines += memory(tr)
    lines += engines(tr)
    lines += products(tr)
    if tr.spilled:
        lines.append(f"  spilling: {tr.spilled} times a tile left SBUF")
    return "\n".join(lines)


def kept(tr):
    return [i for i in tr.instructions if i is not None and i[0] not in (LOOP_OPEN, LOOP_CLOSE)]


def memory(tr):
    """Tiles by the line that made them: how many lives, bytes, and the most that are alive at once."""
    groups = collections.defaultdict(list)
    for s in tr.storages:
        if s.space != "hbm" and s.last >= 0:
            groups[(tr.sites[s.site], s.name, s.space, s.dtype, tuple(s.shape))].append(s)
    lines = ["  memory: a tile lives from its first to its last instruction; what has been free for longest is used again"]
    for (site, name, space, dtype, shape), tiles in groups.items():
        events = sorted([(t.first, 1) for t in tiles] + [(t.last + 1, -1) for t in tiles])
        alive = most = 0
        for _, step in events:
            alive += step
            most = max(most, alive)
        placed = ", placed by the kernel" if tiles[0].fixed is not None else ""
        lines.append(f"    {site[0]}:{site[1]}: {name} {dtype}{list(shape)} in {space}: {tiles[0].bytes} bytes per partition, "
                     f"{len(tiles)} times, at most {most} at once{placed}")
    return lines


def engines(tr):
    counts = collections.Counter()
    for mnemonic, engine, _, _, macro in kept(tr):
        counts[(mnemonic, engine or "default", macro or "")] += 1
    lines = ["  engines: fixed table (default: the first engine of the instruction's row)"]
    for (mnemonic, engine, macro), n in counts.items():
        lines.append(f"    {n:>7} {mnemonic} on {engine}" + (f", from {macro}" if macro else ""))
    return lines


def products(tr):
    dropped = sum(i is None for i in tr.instructions)
    accumulating = sum(i[0] == "matmul" and ("accumulate", "true") in i[3] for i in kept(tr))
    total = sum(i[0] == "matmul" for i in kept(tr))
    lines = [f"  products: {total}, of which {accumulating} add to what a product has written before"]
    if dropped:
        lines.append(f"  zeros in PSUM that products replace: {dropped} memsets left out")
    return lines

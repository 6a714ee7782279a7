"""nki.collectives: one core is emulated, so that every call refuses."""

from ncemu.nki.errors import UnsupportedError


def _refused(name):
    def f(*_, **__):
        raise UnsupportedError(f"nki.collectives.{name}: one core is emulated, collectives are not supported")
    f.__name__ = name
    return f


all_gather, all_reduce, reduce_scatter, all_to_all, collective_permute, collective_permute_implicit, rank_id = (
    _refused(n) for n in ("all_gather", "all_reduce", "reduce_scatter", "all_to_all", "collective_permute",
                          "collective_permute_implicit", "rank_id"))


class ReplicaGroup:
    def __init__(self, groups=None, **_):
        self.groups = groups

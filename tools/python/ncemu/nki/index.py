"""Index objects of nl.arange and nl.mgrid: integers that depend affinely on the place in a tile.

An Index is const + sum over the tile's axes of coefficient * position. It is never expanded into numbers, so that a
subscript compiles to one access pattern. Comparisons give a Mask: a conjunction of `Index >= 0` (or == 0, != 0).
"""

from ncemu.nki.errors import NkiError
from ncemu.nki.operators import span_of


def broadcast_shapes(a, b):
    if a == b:
        return a
    rank = max(len(a), len(b))
    a = (1,) * (rank - len(a)) + a
    b = (1,) * (rank - len(b)) + b
    out = []
    for x, y in zip(a, b):
        if x != y and x != 1 and y != 1:
            raise NkiError("err_shape_mismatch", f"shapes {list(a)} and {list(b)} do not broadcast")
        out.append(y if x == 1 else x)
    return tuple(out)


class Index:
    __slots__ = ("shape", "coefs", "const", "dense")
    __array_ufunc__ = None  # numpy scalars hand over to us

    def __init__(self, shape, coefs, const=0, dense=None):
        self.shape, self.coefs, self.const = shape, coefs, const
        self.dense = dense  # the whole grid's shape, for nl.mgrid: that of the tile that nisa.iota makes

    @property
    def ndim(self):
        return len(self.shape)

    def widen(self, rank):
        """Coefficients at `rank` axes, aligned at the last."""
        return (0,) * (rank - len(self.coefs)) + self.coefs

    def range(self):
        lo = hi = self.const
        for c, n in zip(self.coefs, self.shape):
            if c > 0:
                hi += c * (n - 1)
            elif c < 0:
                lo += c * (n - 1)
        return lo, hi

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            key = (key,)
        if Ellipsis in key:
            at = key.index(Ellipsis)
            missing = len(self.shape) - sum(k is not None and k is not Ellipsis for k in key)
            key = key[:at] + (slice(None),) * missing + key[at + 1:]
        shape, coefs, const, axis = [], [], self.const, 0
        for k in key:
            if k is None:
                shape.append(1)
                coefs.append(0)
                continue
            if axis >= len(self.shape):
                raise NkiError("err_index_rank", f"an index of {len(self.shape)} axes has no axis {axis}")
            n, c = self.shape[axis], self.coefs[axis]
            axis += 1
            if isinstance(k, slice):
                start, stop, step = k.indices(n)
                shape.append(max(0, -(-(stop - start) // step)))
                coefs.append(c * step)
                const += c * start
            else:
                const += c * int(k)
        shape.extend(self.shape[axis:])
        coefs.extend(self.coefs[axis:])
        return Index(tuple(shape), tuple(coefs), const)

    def __setitem__(self, key, value):
        raise NkiError("err_cannot_assign_to_index",
                       "an index has no elements to assign to; nisa.iota makes a tile of it")

    def __add__(self, other):
        if isinstance(other, int):
            return Index(self.shape, self.coefs, self.const + other, self.dense)
        if isinstance(other, Index):
            shape = broadcast_shapes(self.shape, other.shape)
            rank = len(shape)
            coefs = tuple([a + b for a, b in zip(self.widen(rank), other.widen(rank))])
            return Index(shape, coefs, self.const + other.const, self.dense if other.dense == self.dense else None)
        if hasattr(other, "__index__"):
            return self + int(other)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        if isinstance(other, (int, Index)) or hasattr(other, "__index__"):
            return self + (-other if isinstance(other, Index) else -int(other))
        return NotImplemented

    def __rsub__(self, other):
        return (self * -1) + other

    def __mul__(self, other):
        if isinstance(other, Index):
            raise NkiError("err_unsupported_index", "an index times an index is not affine")
        if not hasattr(other, "__index__"):
            return NotImplemented
        other = int(other)
        return Index(self.shape, tuple([c * other for c in self.coefs]), self.const * other, self.dense)

    __rmul__ = __mul__

    def _split(self, divisor, what):
        """(quotient, remainder) by a divisor, where both stay affine."""
        divisor = int(divisor)
        if divisor <= 0:
            raise NkiError("err_unsupported_index", f"{what} by {divisor}")
        lo, hi = self.range()
        if lo // divisor == hi // divisor:  # the quotient is the same everywhere
            q = lo // divisor
            return Index(self.shape, (0,) * len(self.coefs), q), self - q * divisor
        if all(c % divisor == 0 for c in self.coefs):
            quotient = Index(self.shape, tuple([c // divisor for c in self.coefs]), self.const // divisor)
            return quotient, Index(self.shape, (0,) * len(self.coefs), self.const % divisor)
        # Axes whose steps are multiples of the divisor go to the quotient if the others never carry.
        outer = Index(self.shape, tuple([c if c % divisor == 0 else 0 for c in self.coefs]))
        inner = Index(self.shape, tuple([0 if c % divisor == 0 else c for c in self.coefs]), self.const)
        lo, hi = inner.range()
        if lo // divisor == hi // divisor:
            q = lo // divisor
            return (Index(self.shape, tuple([c // divisor for c in outer.coefs]), q), inner - q * divisor)
        raise NkiError("err_unsupported_index",
                       f"{what} of an index whose axes cross a multiple of {divisor}: write the axis as two")

    def __floordiv__(self, divisor):
        return self._split(divisor, "a quotient")[0]

    def __mod__(self, divisor):
        return self._split(divisor, "a remainder")[1]

    def __ge__(self, other):
        return Mask.of(self - other, "ge")

    def __gt__(self, other):
        return Mask.of(self - other - 1, "ge")

    def __le__(self, other):
        return Mask.of(-(self - other), "ge")

    def __lt__(self, other):
        return Mask.of(-(self - other) - 1, "ge")

    def __eq__(self, other):
        return Mask.of(self - other, "eq")

    def __ne__(self, other):
        return Mask.of(self - other, "ne")

    __hash__ = None

    def __bool__(self):
        raise NkiError("err_control_flow_condition_depending_on_arange",
                       "control flow depending on nl.arange or nl.mgrid is not supported: use mask=")

    def __repr__(self):
        terms = [f"{c}*i{k}" for k, c in enumerate(self.coefs) if c]
        return f"index {list(self.shape)}: " + " + ".join([str(self.const), *terms])


class Mask:
    """A conjunction of constraints (Index, relation): the index is >= 0, == 0 or != 0."""

    __slots__ = ("constraints",)

    def __init__(self, constraints):
        self.constraints = constraints

    @staticmethod
    def of(index, relation):
        if not isinstance(index, Index):
            raise NkiError("err_unsupported_mask", "a mask compares an index with a number or an index")
        return Mask(((index, relation),))

    def __and__(self, other):
        if other is True or other is None:
            return self
        if other is False:
            return False
        if isinstance(other, Mask):
            return Mask(self.constraints + other.constraints)
        return NotImplemented

    __rand__ = __and__

    def __or__(self, other):
        raise NkiError("err_unsupported_mask", "a mask is a conjunction: 'or' is not supported")

    __ror__ = __or__

    def __invert__(self):
        if len(self.constraints) == 1:
            index, relation = self.constraints[0]
            if relation == "ge":
                return Mask(((-index - 1, "ge"),))
            return Mask(((index, "ne" if relation == "eq" else "eq"),))
        raise NkiError("err_unsupported_mask", "the negation of several conditions is not supported")

    def __bool__(self):
        raise NkiError("err_control_flow_condition_depending_on_arange",
                       "control flow depending on nl.arange or nl.mgrid is not supported: use mask=")


def arange(*args):
    """nl.arange: an index of one axis."""
    span = span_of("arange", args)
    if not span:
        raise NkiError("err_empty_slice", f"nl.arange({', '.join([str(a) for a in args])}) has no element")
    return Index((len(span),), (span.step,), span.start)


class Grid(tuple):
    """What nl.mgrid gives: the indices, also as .p .x .y .z .w."""

    p = property(lambda self: self[0])
    x = property(lambda self: self[1])
    y = property(lambda self: self[2])
    z = property(lambda self: self[3])
    w = property(lambda self: self[4])


class MeshGrid:
    """An open grid: index k varies along axis k alone and broadcasts along the others.

    Kernels combine indices of different grids (`_, f = nl.mgrid[0:1, 0:1024]`), which dense ones would not allow.
    """

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            key = (key,)
        spans = [range(int(k.start or 0), int(k.stop), int(k.step or 1)) for k in key]
        rank = len(spans)
        dense = tuple([len(s) for s in spans])
        out = []
        for axis, s in enumerate(spans):
            shape = tuple([len(s) if k == axis else 1 for k in range(rank)])
            coefs = tuple([s.step if k == axis else 0 for k in range(rank)])
            out.append(Index(shape, coefs, s.start, dense))
        return Grid(out)


mgrid = MeshGrid()


class DynamicSlice:
    """nl.ds(start, size)."""

    __slots__ = ("start", "size")

    def __init__(self, start, size):
        self.start, self.size = start, int(size)


def ds(start, size):
    return DynamicSlice(start, size)

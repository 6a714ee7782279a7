"""Tensors and tiles as a kernel sees them: a storage and an access pattern, one (step, count) per axis.

On chip one axis is the partition; a tile has it first. Views cost nothing and are checked against the tensor's
shape when an instruction uses them, because a mask may remove what lies outside (`outside`).
"""

from ncemu.nki import trace as tracing
from ncemu.nki.errors import NkiError, OutOfBoundError, UnsupportedError
from ncemu.nki.operators import pairs
from ncemu.nki.types import SIZE, isa_type, public_type


_slice, _all = slice, slice(None)


class Tensor:
    __slots__ = ("storage", "part", "offset", "dims", "pdim", "dtype_", "outside", "rows", "register")
    __array_ufunc__ = None  # numpy arrays hand arithmetic over to us

    def __init__(self, storage, part, offset, dims, pdim, dtype=None, outside=None, rows=None, register=None):
        self.storage = storage
        self.part = part        # first partition, relative to the storage
        self.offset = offset    # elements: in each partition on chip, from the start in HBM
        self.dims = dims        # ((step, count), ...)
        self.pdim = pdim        # which axis is the partition; None in HBM
        self.dtype_ = dtype     # of a reinterpreting view, else the storage's
        self.outside = outside  # subscripts that leave the tensor: (const, coefficients, size, axis)
        self.rows = rows        # rows chosen by a tile: (index tile, step, count of rows)
        self.register = register  # (register, step in elements): moves the offset at run time

    # ---- what kernels ask --------------------------------------------------------------------

    @property
    def shape(self):
        return tuple([n for _, n in self.dims])

    @property
    def ndim(self):
        return len(self.dims)

    @property
    def isa(self):
        return self.dtype_ or self.storage.dtype

    @property
    def dtype(self):
        return public_type(self.dtype_ or self.storage.dtype)

    @property
    def buffer(self):
        return self.storage.space

    @property
    def name(self):
        return self.storage.name

    @property
    def itemsize(self):
        return SIZE[self.isa]

    @property
    def size(self):
        n = 1
        for _, count in self.dims:
            n *= count
        return n

    def __len__(self):
        return self.dims[0][1]

    def __iter__(self):
        for i in range(self.dims[0][1]):
            yield self[i]

    def describe(self):
        return f"{self.storage.name}{list(self.shape)}"

    def __repr__(self):
        return f"{self.isa} {self.describe()} in {self.storage.space}"

    def __bool__(self):
        raise NkiError("err_dynamic_control_flow_not_supported",
                       f"control flow depending on the values of {self.describe()} is not supported")

    def _no_value(self, *_):
        raise NkiError("err_dynamic_control_flow_not_supported",
                       f"{self.describe()} has values when the kernel runs, not while it is traced: Python has no number for it")

    __float__ = __int__ = __array__ = _no_value

    __hash__ = object.__hash__

    # ---- views -------------------------------------------------------------------------------

    def whole(self):
        """True when the view is its storage from the first to the last element."""
        s = self.storage
        if self.offset or self.part or self.rows or self.register or self.dtype_ not in (None, s.dtype):
            return False
        return self.size == s.elements * (s.partitions if self.pdim is not None else 1)

    def with_dims(self, dims, pdim=0):
        self.settled()
        return Tensor(self.storage, self.part, self.offset, dims, pdim if self.pdim is not None else None,
                      self.dtype_, None, self.rows, self.register)

    def settled(self):
        """Raises if a subscript leaves the tensor."""
        if self.outside is not None:
            for const, coefs, size, axis in self.outside:
                lo = hi = const
                for c, (_, n) in zip(coefs, self.dims):
                    if c > 0:
                        hi += c * (n - 1)
                    else:
                        lo += c * (n - 1)
                if lo < 0 or hi >= size:
                    raise OutOfBoundError(
                        f"out-of-bound access for tensor '{self.storage.name}' on dimension {axis}: index range "
                        f"[{lo}, {hi}] exceeds the dimension's size of {size}")
            self.outside = None
        return self

    def narrow(self, axis, lo, hi):
        """Keeps positions [lo, hi) of an axis."""
        dims = list(self.dims)
        step, count = dims[axis]
        dims[axis] = (step, hi - lo)
        part, offset = self.part, self.offset
        if axis == self.pdim:
            part += lo * step
        else:
            offset += lo * step
        outside = self.outside
        if outside is not None:
            outside = [(const + coefs[axis] * lo, coefs, size, of) for const, coefs, size, of in outside]
        rows = self.rows
        if rows is not None and axis == 0:
            rows = (rows[0].narrow(0, lo, hi), *rows[1:])
        return Tensor(self.storage, part, offset, tuple(dims), self.pdim, self.dtype_, outside, rows, self.register)

    # __getitem__ is subscript.subscript, which needs this class.

    def __setitem__(self, key, value):
        from ncemu.nki.adapter import assign
        assign(self, key, value)

    def broadcast_to(self, *shape, **named):
        from ncemu.nki.macros import broadcast_to
        shape = named.get("shape", shape)
        if len(shape) == 1 and not isinstance(shape[0], int):
            shape = shape[0]
        return broadcast_to(self, tuple(shape))

    def expand_to(self, shape):
        """Broadcast over axes of size 1, the partition aligned first and the other axes last."""
        if self.shape == shape:
            return self
        dims = self.dims
        missing = len(shape) - len(dims)
        if missing > 0:
            pad = ((0, 1),) * missing
            dims = dims[:1] + pad + dims[1:] if self.pdim is not None else pad + dims
        if missing < 0:
            raise NkiError("err_shape_mismatch", f"{self.describe()} does not broadcast to {list(shape)}")
        out = []
        for (step, n), want in zip(dims, shape):
            if n == want:
                out.append((step, n))
            elif n == 1:
                out.append((0, want))
            else:
                raise NkiError("err_shape_mismatch", f"{self.describe()} does not broadcast to {list(shape)}")
        return self.with_dims(tuple(out))

    def reshape(self, *shape, **named):
        shape = named.get("shape", shape)
        if len(shape) == 1 and not isinstance(shape[0], int):
            shape = shape[0]
        shape = [int(n) for n in shape]
        if shape.count(-1) == 1:
            known = 1
            for n in shape:
                known *= n if n != -1 else 1
            shape[shape.index(-1)] = self.size // known
        total = 1
        for n in shape:
            total *= n
        if total != self.size:
            raise NkiError("err_shape_mismatch",
                           f"{self.describe()} has {self.size} elements, {list(shape)} has {total}")
        self.settled()
        if self.pdim is None:
            return self.with_dims(regroup(self.dims, shape, self))
        if self.pdim != 0:
            raise NkiError("err_failed_to_infer_tile_from_local_tensor",
                           f"reshape of {self.describe()}, whose first dimension is not the partition")
        if shape and shape[0] == self.dims[0][1]:
            return self.with_dims((self.dims[0], *(regroup(self.dims[1:], shape[1:], self) or ((0, 1),))))
        raise NkiError("err_shape_mismatch", f"reshape of {self.describe()} to {list(shape)} moves elements between "
                       f"partitions")

    def view(self, dtype):
        """The same bytes as another type."""
        self.settled()
        isa = isa_type(dtype)
        old, new = SIZE[self.isa], SIZE[isa]
        if old == new:
            return Tensor(self.storage, self.part, self.offset, self.dims, self.pdim, isa, None, self.rows)
        step, n = self.dims[-1]
        if step != 1 or n * old % new or self.offset * old % new:
            raise NkiError("err_shape_mismatch",
                           f"{self.describe()} of {old}-byte elements is not a whole number of {new}-byte ones")
        dims = [(s * old // new, c) if k != self.pdim else (s, c) for k, (s, c) in enumerate(self.dims)]
        if any(s * old % new for k, (s, _) in enumerate(self.dims[:-1]) if k != self.pdim):
            raise NkiError("err_shape_mismatch", f"rows of {self.describe()} do not start at {new}-byte elements")
        dims[-1] = (1, n * old // new)
        return Tensor(self.storage, self.part, self.offset * old // new, tuple(dims), self.pdim, isa, None)

    def ap(self, pattern, offset=0, dtype=None, scalar_offset=None, vector_offset=None, indirect_dim=0):
        """Any pattern over the storage: [[step, count], ...]; on chip the first is the partition, its step one row."""
        pattern = pairs(pattern, "an access pattern")
        if not pattern or min([n for _, n in pattern]) < 1:
            raise NkiError("err_unsupported_access_pattern", f"an access pattern has counts of at least 1, found {list(pattern)}")
        s = self.storage
        if scalar_offset is not None:
            raise UnsupportedError("ap() with scalar_offset is not supported")
        if self.pdim is None:
            rows = None
            if vector_offset is not None:
                if indirect_dim != 0:
                    raise UnsupportedError("ap() with vector_offset chooses along the first dimension only")
                step = s.elements // s.shape[0]
                rows = (vector_offset, step, s.shape[0])
                pattern = ((step, pattern[0][1]), *pattern[1:])
            view = Tensor(s, 0, int(offset), pattern, None, self.dtype_, None, rows)
            last = int(offset) + sum([st * (n - 1) for st, n in pattern if st > 0])
            if rows is None and last >= s.elements:
                raise OutOfBoundError(f"out-of-bound access for tensor '{s.name}': flat index {last} exceeds its flat size of "
                                      f"{s.elements}")
            return view if dtype is None else view.view(dtype)
        free = s.elements
        step, count = pattern[0]
        if count > 1 and step != free:
            raise NkiError("err_unsupported_access_pattern",
                           f"the partition step of {self.describe()} must be its free size {free}, found {step}")
        part, at = divmod(int(offset), free)
        rest = pattern[1:] or ((0, 1),)
        last = at + sum([st * (n - 1) for st, n in rest if st > 0])
        if last >= free or part + count > s.partitions:
            raise OutOfBoundError(f"out-of-bound access for tensor '{s.name}': flat index {last + (part + count - 1) * free} exceeds "
                                  f"a row of {free} or the flat size of {s.partitions * free}")
        view = Tensor(s, part, at, ((1, count), *rest), 0, self.dtype_)
        return view if dtype is None else view.view(dtype)

    def permute(self, *order):
        if len(order) == 1 and not isinstance(order[0], int):
            order = order[0]
        if self.pdim is not None and order[0] != self.pdim:
            raise NkiError("err_failed_to_infer_tile_from_local_tensor", "the partition stays the first dimension")
        return self.with_dims(tuple([self.dims[k] for k in order]))

    def expand_dim(self, dim):
        """A new axis of size 1."""
        dims = list(self.dims)
        dims.insert(dim if dim >= 0 else len(dims) + 1 + dim, (0, 1))
        return self.with_dims(tuple(dims))

    def squeeze_dim(self, dim):
        """Drops an axis of size 1; a tile keeps its partition and two dimensions."""
        dim = dim + self.ndim if dim < 0 else dim
        if self.dims[dim][1] != 1 or dim == self.pdim:
            raise NkiError("err_shape_mismatch", f"axis {dim} of {self.describe()} cannot be dropped")
        dims = self.dims[:dim] + self.dims[dim + 1:]
        return self.with_dims(dims if len(dims) > 1 or self.pdim is None else (*dims, (0, 1)))

    def select(self, dim, index):
        """One index of an axis, which is dropped."""
        return self[tuple([slice(None)] * (dim + self.ndim if dim < 0 else dim) + [index])]

    def slice(self, dim, start, end=None, step=1, **named):
        end = named.get("stop", end)
        return self[tuple([_all] * (dim + self.ndim if dim < 0 else dim) + [_slice(start, end, step)])]

    def broadcast(self, dim, size):
        """An axis of size 1 repeated."""
        shape = list(self.shape)
        shape[dim] = size
        return self.expand_to(tuple(shape))

    def reshape_dim(self, dim, shape):
        """One axis as several."""
        dim = dim + self.ndim if dim < 0 else dim
        shape = [int(n) for n in shape]
        if -1 in shape:
            known = 1
            for n in shape:
                known *= n if n != -1 else 1
            shape[shape.index(-1)] = self.dims[dim][1] // known
        if dim == self.pdim:
            raise NkiError("err_shape_mismatch", f"the partition of {self.describe()} stays one axis")
        return self.with_dims((*self.dims[:dim], *regroup(self.dims[dim:dim + 1], shape, self), *self.dims[dim + 1:]))

    def flatten_dims(self, start_dim, end_dim):
        """Neighbouring axes as one."""
        start, end = [d + self.ndim if d < 0 else d for d in (start_dim, end_dim)]
        n = 1
        for _, c in self.dims[start:end + 1]:
            n *= c
        return self.with_dims((*self.dims[:start], *regroup(self.dims[start:end + 1], [n], self), *self.dims[end + 1:]))

    def astype(self, dtype):
        from ncemu.nki.macros import copy
        return copy(self, dtype=dtype)


def _arithmetic(name, reverse=False):
    def method(self, other):
        from ncemu.nki import macros
        f = getattr(macros, name)
        return f(other, self) if reverse else f(self, other)
    return method


for _dunder, _name in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"),
                       ("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor"),
                       ("lshift", "left_shift"), ("rshift", "right_shift"), ("mod", "mod"), ("pow", "power")):
    setattr(Tensor, f"__{_dunder}__", _arithmetic(_name))
    setattr(Tensor, f"__r{_dunder}__", _arithmetic(_name, reverse=True))
for _dunder, _name in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"),
                       ("eq", "equal"), ("ne", "not_equal")):
    setattr(Tensor, f"__{_dunder}__", _arithmetic(_name))


def _negate(self):
    from ncemu.nki import macros
    return macros.negative(self)


def _add_in_place(self, other):
    from ncemu.nki.adapter import add_in_place
    return add_in_place(self, other)


Tensor.__neg__ = _negate
Tensor.__iadd__ = _add_in_place


def regroup(dims, shape, of):
    """The same elements, in the same order, under another shape; no element moves."""
    merged = []  # without units, adjacent ones joined
    for step, n in dims:
        if n == 1:
            continue
        if merged and merged[-1][0] == step * n:
            merged[-1] = (step, merged[-1][1] * n)
        else:
            merged.append((step, n))
    out, k = [], len(merged) - 1
    left = merged[k][1] if merged else 1
    step = merged[k][0] if merged else 1
    for want in reversed(shape):
        if want == 1:
            out.append((step if left > 1 else 0, 1))
            continue
        while left == 1 and k > 0:
            k -= 1
            step, left = merged[k]
        if left % want:
            raise NkiError("err_shape_mismatch", f"{of.describe()} is not contiguous enough for shape {list(shape)}")
        out.append((step, want))
        left //= want
        step *= want
    return tuple(reversed(out))


def row_major(shape):
    dims, step = [], 1
    for n in reversed(shape):
        dims.append((step, n))
        step *= n
    return tuple(reversed(dims))


def whole_view(storage):
    """The view of a whole storage under its own shape."""
    if storage.space == "hbm":
        return Tensor(storage, 0, 0, row_major(storage.shape), None)
    free = row_major(storage.shape[1:]) or ((0, 1),)
    return Tensor(storage, 0, 0, ((1, storage.shape[0]), *free), 0)


_pairs = {}  # shape of a tile -> (elements per partition, dimensions)


def new_tile(shape, dtype, space, name=None, trace=None, site=None):
    """A fresh tile [partitions, free...] without a subscript yet."""
    trace = trace or tracing.current()
    known = _pairs.get(shape)
    if known is not None:
        elements, dims = known
        storage = trace.storage(name or "tile", space, dtype, shape, shape[0], elements, site)
        return Tensor(storage, 0, 0, dims, 0)
    given = shape
    shape = tuple([int(n) for n in shape])
    if len(shape) == 1:
        shape = (shape[0], 1)
    if shape[0] > tracing.PARTITIONS:
        raise NkiError("err_num_partition_exceed_arch_limit",
                       f"number of partitions {shape[0]} of {list(shape)} exceeds the architecture's limit of 128")
    elements = 1
    for n in shape[1:]:
        elements *= n
    tile = whole_view(trace.storage(name or "tile", space, dtype, shape, shape[0], elements, site))
    if given == shape and isinstance(given, tuple):
        _pairs[shape] = (elements, tile.dims)
    return tile

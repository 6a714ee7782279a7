"""Views against numpy's own strides, and the memory that tiles are given."""

import numpy as np
import pytest

import ncemu


def moved(make_view, values):
    """What a copy of a view of a tensor in HBM moves, as an array of the view's shape."""
    b = ncemu.Builder()
    view = make_view(b.tensor("x", "input", values.shape, "f32"))
    y = b.tensor("y", "output", view.shape, "f32")
    b.emit("dma_copy", dst=y, src=view)
    return ncemu.run(b.finish(), {"x": values})["y"]


CASES = {
    "index": (lambda x: x[1], lambda a: a[1]),
    "slices": (lambda x: x[0:2, 1, 2:7], lambda a: a[0:2, 1, 2:7]),
    "steps": (lambda x: x[:, ::2, 1::3], lambda a: a[:, ::2, 1::3]),
    "from the end": (lambda x: x[-1, -2:, :-1], lambda a: a[-1, -2:, :-1]),
    "ellipsis": (lambda x: x[..., 3], lambda a: a[..., 3]),
    "permute": (lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "reshape": (lambda x: x.reshape(3, 8, 5), lambda a: a.reshape(3, 8, 5)),
    "broadcast": (lambda x: x[:, 0:1, :].broadcast(1, 6), lambda a: np.broadcast_to(a[:, 0:1, :], (3, 6, 10))),
    "raw": (lambda x: x.ap([[40, 2], [0, 3], [2, 5]], offset=7),
            lambda a: np.lib.stride_tricks.as_strided(a.reshape(-1)[7:], (2, 3, 5), (160, 0, 8))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_view_shows_the_elements_that_numpy_shows(name, random):
    make, expected = CASES[name]
    values = random.standard_normal((3, 4, 10)).astype(np.float32)
    assert np.array_equal(moved(make, values), expected(values))


def test_shapes_strides_and_offsets_are_numpys():
    x = ncemu.Builder().tensor("x", "input", (3, 4, 10), "f32")
    a = np.zeros((3, 4, 10), np.float32)
    for view, array in ((x, a), (x[1:, ::2, 3:9], a[1:, ::2, 3:9]), (x.permute(1, 0, 2), a.transpose(1, 0, 2))):
        assert view.shape == array.shape and view.size == array.size and view.ndim == array.ndim
        assert view.strides == tuple(s // 4 for s in array.strides)
        assert view.offset * 4 == array.__array_interface__["data"][0] - a.__array_interface__["data"][0]


def test_an_integer_keeps_the_partition_dimension_of_a_tile():
    t = ncemu.Builder().tile("t", (128, 4, 8), "f32")
    assert t[5].shape == (1, 4, 8) and t[5].partition == 5
    assert t[5, 0].shape == (1, 8) and t[:, 2, 3].shape == (128,)
    assert t[64:].ap([[1, 32]], partition=3, partitions=2).shape == (2, 32)


@pytest.mark.parametrize("mistake, words", [
    (lambda x: x[3], "index 3 of dimension 0, which has size 3"),
    (lambda x: x[:, 2:9], "slice 2:9 of dimension 1, which has size 4"),
    (lambda x: x[0, 0, 0, 0], "4 indices"),
    (lambda x: x.reshape(7, 7), "cannot reshape"),
    (lambda x: x.permute(0, 0, 1), "once"),
    (lambda x: x.ap([[1, 200]]), "from element 0 to 199 of 'x', which has 120"),
    (lambda x: x.ap([[-1, 3]]), "from element -2"),
    (lambda x: x.ap([1, 2]), "[[step, count], ...]"),
    (lambda x: x[1.5], "must be an integer"),
])
def test_what_lies_outside_is_refused_in_words(mistake, words):
    x = ncemu.Builder().tensor("x", "input", (3, 4, 10), "f32")
    with pytest.raises(ncemu.Error) as caught:
        mistake(x)
    assert words in caught.value.message


def fill(b, names, elements, space="sbuf"):
    """A chain: each tile is written, read by the next, and then never again."""
    before = b.tile("start", (128, elements), "f32", space)
    b.emit("memset", dst=before, value=1.0, engine="vector", file="k.py", line=1)
    for i, name in enumerate(names):
        t = b.tile(name, (128, elements), "f32", space)
        b.emit("tensor_copy", dst=t, src=before, engine="vector", file="k.py", line=2 + i)
        before = t
    return before


def test_tiles_of_ten_times_the_memory_fit_when_few_live_together():
    b = ncemu.Builder()
    y = b.tensor("y", "output", (128, 8192), "f32")
    last = fill(b, [f"t{i}" for i in range(59)], 8192)  # 32 KiB each: six fit into 192 KiB
    b.emit("dma_copy", dst=y, src=last)
    assert np.all(ncemu.run(b.finish())["y"] == 1)


def test_memory_is_used_again_as_late_as_possible_unless_it_shall_be_compact():
    def offsets(allocate):
        b = ncemu.Builder()
        fill(b, ["t"] * 4, 8192)
        text = b.finish(allocate=allocate).text()
        return len({part.split(",")[4] for part in text.split(".ap(")[1:]})

    assert offsets("rotate") == 5 and offsets("compact") == 2


def test_tiles_that_live_together_never_share_bytes():
    b = ncemu.Builder()
    sizes = [100, 3000, 7, 1, 12000, 513, 40]
    tiles = [b.tile(f"t{i}", (128, n), "f32") for i, n in enumerate(sizes)]
    for i, t in enumerate(tiles):
        b.emit("memset", dst=t, value=float(i), engine="vector")
    outputs = [b.tensor(f"y{i}", "output", (128, n), "f32") for i, n in enumerate(sizes)]
    for y, t in zip(outputs, tiles):
        b.emit("dma_copy", dst=y, src=t)
    result = ncemu.run(b.finish())
    assert all(np.all(result[f"y{i}"] == i) for i in range(len(sizes)))


def test_what_does_not_fit_names_the_largest_live_tiles_with_their_lines():
    b = ncemu.Builder()
    tiles = []
    for i, n in enumerate((30000, 10000, 12000)):
        b.at("k.py", 10 + i)
        tiles.append(b.tile(f"t{i}", (128, n), "f32"))
        b.emit("memset", dst=tiles[-1], value=0.0)
    for t in tiles:
        b.emit("tensor_copy", dst=t, src=t)
    with pytest.raises(ncemu.Error) as caught:
        b.finish()
    error = caught.value
    assert "tile 't2' does not fit into SBUF: it needs 48000 bytes" in error.message and error.line == 12
    assert [(n.line, n.message) for n in error.diagnostics[0].notes] == [
        (10, "tile 't0' takes 120000 bytes per partition"), (11, "tile 't1' takes 40000 bytes per partition")]


def test_a_tile_from_before_a_loop_lives_through_the_whole_loop():
    b = ncemu.Builder()
    y = b.tensor("y", "output", (128, 16384), "f32")
    kept = b.tile("kept", (128, 16384), "f32")
    b.emit("memset", dst=kept, value=5.0)
    total = b.tile("total", (128, 16384), "f32")
    b.emit("memset", dst=total, value=0.0)
    with b.loop(0, 3):
        b.emit("tensor_tensor", dst=total, src0=total, src1=kept, op="add", engine="vector")
        scratch = b.tile("scratch", (128, 16000), "f32")  # may not take the place of `kept`: the next round reads it
        b.emit("memset", dst=scratch, value=9.0, engine="vector")
    b.emit("dma_copy", dst=y, src=total)
    assert np.all(ncemu.run(b.finish(allocate="compact"))["y"] == 15)


def test_tiles_placed_by_hand_stay_there_and_are_kept_clear_of():
    b = ncemu.Builder()
    y = b.tensor("y", "output", (128, 64), "f32")
    fixed = b.tile("fixed", (128, 64), "f32", offset=0)
    b.emit("memset", dst=fixed, value=2.0)
    other = b.tile("other", (128, 64), "f32")
    b.emit("memset", dst=other, value=3.0)
    b.emit("tensor_tensor", dst=fixed, src0=fixed, src1=other, op="add")
    b.emit("dma_copy", dst=y, src=fixed)
    assert b.lifetimes()[0].fixed and (b.lifetimes()[0].first, b.lifetimes()[0].last) == (0, 3)
    program = b.finish()
    assert ".ap(sbuf, f32, 0, 128, 256, [[1, 64]])" in program.text()
    assert np.all(ncemu.run(program)["y"] == 5)


def test_tiles_placed_over_each_other_while_both_live_fail_the_check():
    def overlap(offset):
        b = ncemu.Builder()
        y = b.tensor("y", "output", (128, 64), "f32")
        a, c = b.tile("a", (128, 64), "f32", offset=0), b.tile("c", (128, 64), "f32", offset=offset)
        for t in (a, c):
            b.emit("memset", dst=t, value=1.0, engine="vector")
        b.emit("tensor_tensor", dst=a, src0=a, src1=c, op="add")
        b.emit("dma_copy", dst=y, src=a)
        return [f for f in ncemu.check(b.finish()).findings if f.check == "overlap"]

    assert overlap(256) == []
    assert "'a' and 'c'" in overlap(128)[0].message


def test_psum_tiles_take_whole_banks():
    b = ncemu.Builder()
    tiles = [b.tile(f"t{i}", (128, 8), "f32", "psum") for i in range(8)]
    for t in tiles:
        b.emit("memset", dst=t, value=0.0, engine="vector")
    ninth = b.tile("ninth", (128, 8), "f32", "psum")
    b.emit("tensor_copy", dst=ninth, src=tiles[0], engine="vector")
    for t in tiles:
        b.emit("tensor_copy", dst=t, src=t, engine="vector")
    with pytest.raises(ncemu.Error, match="does not fit into PSUM"):
        b.finish()


def test_a_policy_of_ones_own_places_tiles_by_their_lifetimes():
    b = ncemu.Builder()
    y = b.tensor("y", "output", (128, 4096), "f32")
    views = []
    for i in range(10):
        views.append(b.tile(f"t{i}", (128, 4096), "f32"))
        b.emit("memset", dst=views[i], value=float(i), engine="vector")
        if i:
            b.emit("tensor_tensor", dst=views[i], src0=views[i], src1=views[i - 1], op="add", engine="vector")
    b.emit("dma_copy", dst=y, src=views[-1])
    lives = b.lifetimes()
    assert [(t.name, t.first, t.last) for t in lives[:3]] == [("t0", 0, 2), ("t1", 1, 4), ("t2", 3, 6)]
    assert all(t.bytes == 16384 and t.partitions == 128 and t.space == "sbuf" for t in lives)
    for i, view in enumerate(views):  # no more than two live together
        b.place(view, 0, i % 2 * 16384)
    result = ncemu.run(b.finish())
    assert np.all(result["y"] == sum(range(10))) and result.passed


def test_a_tile_that_is_never_used_takes_no_memory():
    b = ncemu.Builder()
    for _ in range(100):
        b.tile("unused", (128, 40000), "f32")
    t = b.tile("t", (128, 40000), "f32")
    b.emit("memset", dst=t, value=0.0)
    assert [life.used for life in b.lifetimes()] == [False] * 100 + [True]
    assert b.finish().instruction_count == 1


def wandering(places, count=6000):
    """Tiles by hand at places that wander, beside tiles that find their own and one that lives through it all."""
    b = ncemu.Builder()
    y = b.tensor("y", "output", (1, 4096), "f32")
    total = b.tile("total", (1, 4096), "f32")
    b.emit("memset", dst=total, value=0.0, engine="vector")
    for i in range(count):
        by_hand = b.tile("by_hand", (1, 4096), "f32", offset=i % places * 16384)
        free = b.tile("free", (1, 4096), "f32")
        b.emit("memset", dst=by_hand, value=1.0, engine="vector")
        b.emit("memset", dst=free, value=2.0, engine="vector")
        if i % 1000 == 0:
            b.emit("tensor_tensor", dst=total, src0=total, src1=by_hand, op="add", engine="vector")
            b.emit("tensor_tensor", dst=total, src0=total, src1=free, op="add", engine="vector")
    b.emit("dma_copy", dst=y, src=total)
    return b


def test_thousands_of_tiles_by_hand_and_by_lifetime_keep_clear_of_each_other():
    b = wandering(11)
    assert [t.offset for t in b.lifetimes() if t.name == "by_hand"][:12] == [i % 11 * 16384 for i in range(12)]
    result = ncemu.run(b.finish())
    assert np.all(result["y"] == 6 * 3) and result.passed


def test_where_tiles_by_hand_come_by_everywhere_nothing_else_can_stay():
    with pytest.raises(ncemu.Error, match="tile 'total' does not fit"):
        wandering(12).finish()

// Series in time, made so that a frame costs the same for a hundred entries and for a million: slices with prefix sums,
// quantities with their integral.

// Slices that do not overlap, in order of time. `before[i]` is the length of the first i slices together: what is
// busy between two moments follows from two binary searches, however many slices lie between.
export interface Slices {
  begin: Float64Array;
  end: Float64Array;
  id: Uint32Array;
  before: Float64Array;
}

// A quantity that changes at moments. `area[i]` is its integral up to at[i].
export interface Steps {
  at: Float64Array;
  value: Float64Array;
  area: Float64Array;
  top: number; // of the scale
  text: (value: number) => string;
}

export function toSlices(begin: Float64Array, end: Float64Array, id: Uint32Array): Slices {
  const before = new Float64Array(begin.length + 1);
  for (let i = 0; i < begin.length; i++) before[i + 1] = before[i] + end[i] - begin[i];
  return { begin, end, id, before };
}

// The values of these ids. A loop: Float64Array.from takes ten times as long.
export function picked(ids: Uint32Array, values: ArrayLike<number>): Float64Array {
  const all = new Float64Array(ids.length);
  for (let i = 0; i < ids.length; i++) all[i] = values[ids[i]];
  return all;
}

export function slices(ids: Uint32Array, begin: ArrayLike<number>, end: ArrayLike<number>): Slices {
  return toSlices(picked(ids, begin), picked(ids, end), ids);
}

const digit = 16; // bits that one pass of `ordered` sorts by

// The numbers 0 .. n-1 in order of their values, equal ones as they were. Values are whole and not negative, as ticks are:
// sorting them digit by digit takes a tenth of what comparing them takes.
export function ordered(values: Float64Array): Uint32Array {
  const n = values.length;
  let order = new Uint32Array(n);
  let most = 0;
  let sorted = true;
  for (let i = 0; i < n; i++) {
    order[i] = i;
    most = Math.max(most, values[i]);
    if (i > 0 && values[i] < values[i - 1]) sorted = false;
  }
  if (sorted) return order;
  let next = new Uint32Array(n);
  for (let unit = 1; unit <= most; unit *= 1 << digit) {
    const first = new Uint32Array((1 << digit) + 1);
    const key = (i: number) => Math.floor(values[i] / unit) & ((1 << digit) - 1);
    for (let i = 0; i < n; i++) first[key(i) + 1]++;
    for (let d = 0; d < 1 << digit; d++) first[d + 1] += first[d];
    for (let k = 0; k < n; k++) next[first[key(order[k])]++] = order[k];
    [order, next] = [next, order];
  }
  return order;
}

// The numbers 0 .. n-1 by their key (0 .. 65535), keys ascending, each group in order.
export function grouped(keys: ArrayLike<number>): Map<number, Uint32Array> {
  const size = new Uint32Array(1 << 16);
  for (let i = 0; i < keys.length; i++) size[keys[i]]++;
  const groups = new Map<number, Uint32Array>();
  for (let key = 0; key < size.length; key++) if (size[key] > 0) groups.set(key, new Uint32Array(size[key]));
  const filled = new Uint32Array(1 << 16);
  for (let i = 0; i < keys.length; i++) groups.get(keys[i])![filled[keys[i]]++] = i;
  return groups;
}

// Distributes slices over as few lanes as keep them apart.
export function lanes(ids: Uint32Array, begin: ArrayLike<number>, end: ArrayLike<number>): Slices[] {
  const order = ordered(picked(ids, begin)).map((k) => ids[k]);
  const lane = new Uint16Array(ids.length);
  const free: number[] = [];
  for (let k = 0; k < order.length; k++) {
    let l = 0;
    while (l < free.length && free[l] > begin[order[k]]) l++;
    free[l] = end[order[k]];
    lane[k] = l;
  }
  return free.map((_, l) => slices(free.length === 1 ? order : order.filter((_, k) => lane[k] === l), begin, end));
}

// A quantity from what changes it at which moments, in any order.
export function steps(moments: Float64Array, changes: Float64Array, text: Steps['text'], top?: number): Steps {
  const at = new Float64Array(moments.length);
  const value = new Float64Array(moments.length);
  let n = 0;
  let sum = 0;
  for (const i of ordered(moments)) {
    sum += changes[i];
    if (n === 0 || at[n - 1] !== moments[i]) at[n++] = moments[i];
    value[n - 1] = sum;
  }
  return integrate(at.slice(0, n), value.slice(0, n), text, top);
}

// One that rises by `amount(i)` from begin[i] to end[i].
export function between(begin: Float64Array, end: Float64Array, amount: (i: number) => number, text: Steps['text'], top?: number): Steps {
  const n = begin.length;
  const moments = new Float64Array(2 * n);
  const changes = new Float64Array(2 * n);
  for (let i = 0; i < n; i++) {
    moments[i] = begin[i];
    moments[n + i] = end[i];
    changes[i] = amount(i);
    changes[n + i] = -changes[i];
  }
  return steps(moments, changes, text, top);
}

export function integrate(at: Float64Array, value: Float64Array, text: Steps['text'], top?: number): Steps {
  const area = new Float64Array(at.length);
  let most = 0;
  for (let i = 0; i < at.length; i++) {
    if (i > 0) area[i] = area[i - 1] + value[i - 1] * (at[i] - at[i - 1]);
    most = Math.max(most, value[i]);
  }
  return { at, value, area, top: top ?? (most || 1), text };
}

// When any slice is there.
export function union(begin: Float64Array, end: Float64Array): Slices {
  const from = new Float64Array(begin.length);
  const to = new Float64Array(begin.length);
  let n = 0;
  for (const s of ordered(begin)) {
    if (n > 0 && begin[s] <= to[n - 1]) {
      to[n - 1] = Math.max(to[n - 1], end[s]);
    } else {
      from[n] = begin[s];
      to[n++] = end[s];
    }
  }
  return toSlices(from.slice(0, n), to.slice(0, n), new Uint32Array(n));
}

// First index whose value is greater than t.
export function after(values: Float64Array, t: number, low = 0): number {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

// How long slices cover [from, until).
export function covered(s: Slices, from: number, until: number): number {
  const upTo = (t: number) => {
    const i = after(s.begin, t);
    return i === 0 ? 0 : s.before[i - 1] + Math.min(t, s.end[i - 1]) - s.begin[i - 1];
  };
  return until > from ? upTo(until) - upTo(from) : 0;
}

// The mean of a quantity over [from, until).
export function mean(s: Steps, from: number, until: number): number {
  const upTo = (t: number) => {
    const i = after(s.at, t);
    return i === 0 ? 0 : s.area[i - 1] + s.value[i - 1] * (t - s.at[i - 1]);
  };
  if (until > from) return (upTo(until) - upTo(from)) / (until - from);
  const i = after(s.at, from);
  return i === 0 ? 0 : s.value[i - 1];
}

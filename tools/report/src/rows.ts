// The rows of the timeline: which slices and counters there are, in the order and under the names the page shows.

import { bytes, count, percent, si } from './format';
import { NONE, type Trace } from './trace';

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

export interface Block {
  id: number; // of the tile
  from: number;
  until: number;
  low: number; // share of the row's height, from the top
  high: number;
}

export interface Row {
  group: string;
  label: string;
  title: string;
  color: string; // a variable of the style sheet
  height: number;
  space: number; // below it
  item?: 'instruction' | 'transfer' | 'span' | 'step';
  colorOf?: (id: number) => string; // of a slice, where they differ
  slices?: Slices;
  stalls?: Slices;
  steps?: Steps;
  blocks?: Block[];
}

export const groups = ['Engines', 'Critical path', 'DMA queues', 'DMA engines', 'Counters', 'Memory map', 'Semaphores'];

function slices(ids: number[], begin: ArrayLike<number>, end: ArrayLike<number>): Slices {
  const n = ids.length;
  const all = {
    begin: new Float64Array(n),
    end: new Float64Array(n),
    id: Uint32Array.from(ids),
    before: new Float64Array(n + 1),
  };
  for (let i = 0; i < n; i++) {
    all.begin[i] = begin[ids[i]];
    all.end[i] = end[ids[i]];
    all.before[i + 1] = all.before[i] + all.end[i] - all.begin[i];
  }
  return all;
}

// Distributes slices over as few lanes as keep them apart.
function lanes(ids: number[], begin: ArrayLike<number>, end: ArrayLike<number>): Slices[] {
  ids.sort((a, b) => begin[a] - begin[b] || a - b);
  const members: number[][] = [];
  const free: number[] = [];
  for (const id of ids) {
    let lane = free.findIndex((t) => t <= begin[id]);
    if (lane < 0) {
      lane = members.length;
      members.push([]);
    }
    free[lane] = end[id];
    members[lane].push(id);
  }
  return members.map((m) => slices(m, begin, end));
}

function steps(changes: [number, number][], text: Steps['text'], top?: number): Steps {
  changes.sort((a, b) => a[0] - b[0]);
  const at: number[] = [];
  const value: number[] = [];
  let sum = 0;
  for (const [t, change] of changes) {
    sum += change;
    if (at.length > 0 && at[at.length - 1] === t) {
      value[value.length - 1] = sum;
    } else {
      at.push(t);
      value.push(sum);
    }
  }
  return integrate(Float64Array.from(at), Float64Array.from(value), text, top);
}

function integrate(at: Float64Array, value: Float64Array, text: Steps['text'], top?: number): Steps {
  const area = new Float64Array(at.length);
  let most = 0;
  for (let i = 0; i < at.length; i++) {
    if (i > 0) area[i] = area[i - 1] + value[i - 1] * (at[i] - at[i - 1]);
    most = Math.max(most, value[i]);
  }
  return { at, value, area, top: top ?? (most || 1), text };
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

function engineRows(trace: Trace): Row[] {
  const rows: Row[] = [];
  const loadStationary = trace.header.texts.indexOf('load_stationary');
  trace.header.engines.forEach((engine, e) => {
    const parts: { label: string; title: string; ids: number[] }[] =
      engine === 'tensor'
        ? [
            { label: 'tensor', title: 'tensor engine: matmuls and control', ids: [] },
            { label: 'weights', title: 'tensor engine: weight loads', ids: [] },
          ]
        : [{ label: engine, title: `${engine} engine`, ids: [] }];
    for (let i = 0; i < trace.count; i++) {
      if (trace.engine[i] !== e) continue;
      const weights = engine === 'tensor' && trace.rowMnemonic[trace.row[i]] === loadStationary;
      parts[weights ? 1 : 0].ids.push(i);
    }
    for (const part of parts) {
      const packed = lanes(part.ids, trace.start, trace.busyUntil);
      if (packed.length === 0) packed.push(slices([], [], []));
      packed.forEach((lane, l) => {
        const stalled = Array.from(lane.id).filter((i) => trace.stalledSince[i] < trace.start[i]);
        rows.push({
          group: 'Engines',
          label: l === 0 ? part.label : `${part.label} ${l + 1}`,
          title: part.title,
          color: `--${engine}`,
          height: l === 0 ? 26 : 18,
          space: 3,
          item: 'instruction',
          slices: lane,
          stalls: slices(stalled, trace.stalledSince, trace.start),
        });
      });
    }
  });
  return rows;
}

// The steps of the critical path, which follow one another without a gap.
function pathRows(trace: Trace): Row[] {
  if (trace.pathKind.length === 0) return [];
  const { engines, step_kinds } = trace.header;
  const colorOf = (step: number) => {
    const kind = step_kinds[trace.pathKind[step]];
    if (kind === 'runs') return `--${engines[trace.engine[trace.pathSerial[step]]]}`;
    return kind.startsWith('dma') ? '--dma' : '--stall';
  };
  return [
    {
      group: 'Critical path',
      label: 'steps',
      title: 'the chain of instructions, transfers and signals that determines the total',
      color: '--stall',
      colorOf,
      height: 20,
      space: 3,
      item: 'step',
      slices: slices(Array.from(trace.pathKind, (_, k) => k), trace.pathBegin, trace.pathEnd),
    },
  ];
}

function dmaRows(trace: Trace): Row[] {
  const rows: Row[] = [];
  const queues = new Map<number, number[]>();
  for (let t = 0; t < trace.transfers; t++) {
    const queue = trace.transferQueue[t];
    if (!queues.has(queue)) queues.set(queue, []);
    queues.get(queue)!.push(t);
  }
  for (const queue of [...queues.keys()].sort((a, b) => a - b)) {
    const pending = lanes(queues.get(queue)!, trace.transferTrigger, trace.transferDone);
    pending.forEach((lane, l) =>
      rows.push({
        group: 'DMA queues',
        label: l === 0 ? `queue ${queue}` : '',
        title: `DMA queue ${queue}: transfers from trigger to completion`,
        color: '--dma',
        height: l === 0 || pending.length <= 4 ? 12 : pending.length <= 16 ? 6 : 3,
        space: l === pending.length - 1 ? 4 : 1,
        item: 'transfer',
        slices: lane,
      }),
    );
  }
  const engines = new Map<number, number[]>();
  for (let s = 0; s < trace.spanEngine.length; s++) {
    const engine = trace.spanEngine[s];
    if (!engines.has(engine)) engines.set(engine, []);
    engines.get(engine)!.push(s);
  }
  for (const engine of [...engines.keys()].sort((a, b) => a - b)) {
    lanes(engines.get(engine)!, trace.spanBegin, trace.spanEnd).forEach((lane, l) =>
      rows.push({
        group: 'DMA engines',
        label: l === 0 ? `engine ${engine}` : '',
        title: `DMA engine ${engine}: when it moves bytes`,
        color: '--dma',
        height: 11,
        space: 2,
        item: 'span',
        slices: lane,
      }),
    );
  }
  return rows;
}

function counterRows(trace: Trace): Row[] {
  const rows: Row[] = [];
  const add = (label: string, title: string, color: string, s: Steps) => {
    if (s.at.length > 0) rows.push({ group: 'Counters', label, title, color, height: 30, space: 3, steps: s });
  };
  const rate: [number, number][] = [];
  for (let s = 0; s < trace.spanEngine.length; s++) {
    const length = trace.spanEnd[s] - trace.spanBegin[s];
    if (length <= 0) continue;
    const bytesPerUs = (trace.spanBytes[s] / length) * trace.header.ticks_per_us;
    rate.push([trace.spanBegin[s], bytesPerUs], [trace.spanEnd[s], -bytesPerUs]);
  }
  add('DMA rate', 'bytes per second that the DMA engines move', '--dma', steps(rate, (v) => si(v * 1e6, 'B/s')));
  const pending: [number, number][] = [];
  for (let t = 0; t < trace.transfers; t++) pending.push([trace.transferTrigger[t], 1], [trace.transferDone[t], -1]);
  add('pending', 'transfers triggered and not completed', '--dma', steps(pending, (v) => count(Math.round(v))));
  for (const [space, label, size] of [
    [0, 'SBUF', trace.header.sbuf_bytes],
    [1, 'PSUM', trace.header.psum_bytes],
  ] as const) {
    const use: [number, number][] = [];
    for (let t = 0; t < trace.tileText.length; t++) {
      if (trace.tileSpace[t] !== space) continue;
      const amount = trace.tileBytes[t] * trace.tilePartitions[t];
      use.push([trace.tileFrom[t], amount], [trace.tileUntil[t], -amount]);
    }
    const capacity = size * 128;
    add(
      `${label} use`,
      `bytes of tiles between their first write and their last use`,
      '--memory',
      steps(use, (v) => `${bytes(v)}, ${percent(v / capacity)}`, capacity),
    );
  }
  if (trace.gateBegin.length > 0) {
    const gate: [number, number][] = [];
    for (let g = 0; g < trace.gateBegin.length; g++) gate.push([trace.gateBegin[g], 1], [trace.gateEnd[g], -1]);
    add('clock gate', 'the tensor engine runs at half rate', '--tensor', steps(gate, (v) => (v > 0.5 ? 'half rate' : 'full rate'), 1));
  }
  return rows;
}

function memoryRows(trace: Trace): Row[] {
  const rows: Row[] = [];
  for (const [space, label, size, height] of [
    [0, 'SBUF', trace.header.sbuf_bytes, 150],
    [1, 'PSUM', trace.header.psum_bytes, 84],
  ] as const) {
    const blocks: Block[] = [];
    let most = 0;
    for (let t = 0; t < trace.tileText.length; t++) {
      if (trace.tileSpace[t] !== space) continue;
      const end = trace.tileOffset[t] + trace.tileBytes[t];
      most = Math.max(most, end);
      blocks.push({ id: t, from: trace.tileFrom[t], until: trace.tileUntil[t], low: trace.tileOffset[t], high: end });
    }
    if (blocks.length === 0) continue;
    // PSUM in whole, so that its eight banks are seen; SBUF as far as it is used.
    const shown = space === 1 ? size : Math.min(size, most * 1.02);
    for (const b of blocks) {
      b.low /= shown;
      b.high /= shown;
    }
    rows.push({
      group: 'Memory map',
      label: `${label} map`,
      title: `addresses of the tiles within a partition (0 to ${bytes(shown)}) from first write to last use`,
      color: '--memory',
      height,
      space: 3,
      blocks,
    });
  }
  return rows;
}

function semaphoreRows(trace: Trace): Row[] {
  const changes = new Map<number, { at: number[]; value: number[] }>();
  for (let c = 0; c < trace.semaphoreAt.length; c++) {
    const n = trace.semaphoreNumber[c];
    if (!changes.has(n)) changes.set(n, { at: [], value: [] });
    const of = changes.get(n)!;
    of.at.push(trace.semaphoreAt[c]);
    of.value.push(trace.semaphoreValue[c]);
  }
  return [...changes.keys()]
    .sort((a, b) => a - b)
    .map((n) => {
      const { at, value } = changes.get(n)!;
      const name = trace.header.semaphores[n];
      return {
        group: 'Semaphores',
        label: name || `S[${n}]`,
        title: `semaphore ${n}${name ? ` (${name})` : ''}: its value`,
        color: '--sync',
        height: 20,
        space: 3,
        steps: integrate(Float64Array.from(at), Float64Array.from(value), (v) => count(Math.round(v))),
      };
    });
}

export function buildRows(trace: Trace): Row[] {
  return [...engineRows(trace), ...pathRows(trace), ...dmaRows(trace), ...counterRows(trace), ...memoryRows(trace), ...semaphoreRows(trace)];
}

// Where items are drawn, so that they can be found again: row of each instruction and of each transfer.
export function placeItems(trace: Trace, rows: Row[]): { instruction: Uint16Array; transfer: Uint16Array } {
  const places = {
    instruction: new Uint16Array(trace.count).fill(0xffff),
    transfer: new Uint16Array(trace.transfers).fill(0xffff),
  };
  rows.forEach((row, r) => {
    if (!row.slices || (row.item !== 'instruction' && row.item !== 'transfer')) return;
    for (const id of row.slices.id) places[row.item][id] = r;
  });
  return places;
}

// What instruction i waited for, as an item: the transfer where its producer is one.
export function producerOf(trace: Trace, instruction: number): { kind: 'instruction' | 'transfer'; id: number } | null {
  const producer = trace.producer[instruction];
  if (producer === NONE) return null;
  const transfer = trace.transferOf[producer];
  return transfer === NONE ? { kind: 'instruction', id: producer } : { kind: 'transfer', id: transfer };
}

// The rows of the timeline: which slices and counters there are, in the order and under the names the page shows.

import { bytes, count, percent, si } from './format';
import { between, grouped, integrate, lanes, picked, slices, type Slices, type Steps } from './series';
import { NONE, type Trace } from './trace';

// What lies at one range of addresses.
export interface Band {
  low: number; // share of the row's height, from the top
  high: number;
  tiles: Slices; // id: of the tile's life
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
  bands?: Band[];
}

export const groups = ['Engines', 'Critical path', 'DMA queues', 'DMA engines', 'Counters', 'Memory map', 'Semaphores'];

function engineRows(trace: Trace): Row[] {
  const rows: Row[] = [];
  const ofEngine = grouped(trace.engine);
  const loadStationary = trace.header.texts.indexOf('load_stationary');
  trace.header.engines.forEach((engine, e) => {
    const all = ofEngine.get(e) ?? new Uint32Array(0);
    const weights = (i: number) => trace.rowMnemonic[trace.row[i]] === loadStationary;
    const parts: { label: string; title: string; ids: Uint32Array }[] =
      engine === 'tensor'
        ? [
            { label: 'tensor', title: 'tensor engine: matmuls and control', ids: all.filter((i) => !weights(i)) },
            { label: 'weights', title: 'tensor engine: weight loads', ids: all.filter(weights) },
          ]
        : [{ label: engine, title: `${engine} engine`, ids: all }];
    for (const part of parts) {
      const packed = lanes(part.ids, trace.start, trace.busyUntil);
      if (packed.length === 0) packed.push(slices(part.ids, [], []));
      packed.forEach((lane, l) => {
        const stalled = lane.id.filter((i) => trace.stalledSince[i] < trace.start[i]);
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
      slices: slices(Uint32Array.from(trace.pathKind, (_, k) => k), trace.pathBegin, trace.pathEnd),
    },
  ];
}

function dmaRows(trace: Trace): Row[] {
  const rows: Row[] = [];
  for (const [queue, transfers] of grouped(trace.transferQueue)) {
    const pending = lanes(transfers, trace.transferTrigger, trace.transferDone);
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
  for (const [engine, spans] of grouped(trace.spanEngine)) {
    lanes(spans, trace.spanBegin, trace.spanEnd).forEach((lane, l) =>
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
  const rate = (span: number) => {
    const length = trace.spanEnd[span] - trace.spanBegin[span];
    return length > 0 ? (trace.spanBytes[span] / length) * trace.header.ticks_per_us : 0; // bytes per microsecond
  };
  add('DMA rate', 'bytes per second that the DMA engines move', '--dma', between(trace.spanBegin, trace.spanEnd, rate, (v) => si(v * 1e6, 'B/s')));
  add(
    'pending',
    'transfers triggered and not completed',
    '--dma',
    between(trace.transferTrigger, trace.transferDone, () => 1, (v) => count(Math.round(v))),
  );
  for (const [space, label, size] of [
    [0, 'SBUF', trace.header.sbuf_bytes],
    [1, 'PSUM', trace.header.psum_bytes],
  ] as const) {
    if (!trace.tileSpace.includes(space)) continue;
    const amount = (tile: number) => (trace.tileSpace[tile] === space ? trace.tileBytes[tile] * trace.tilePartitions[tile] : 0);
    const capacity = size * 128;
    add(
      `${label} use`,
      `bytes of tiles between their first write and their last use`,
      '--memory',
      between(trace.tileFrom, trace.tileUntil, amount, (v) => `${bytes(v)}, ${percent(v / capacity)}`, capacity),
    );
  }
  if (trace.gateBegin.length > 0) {
    const text = (v: number) => (v > 0.5 ? 'half rate' : 'full rate');
    add('clock gate', 'the tensor engine runs at half rate', '--tensor', between(trace.gateBegin, trace.gateEnd, () => 1, text, 1));
  }
  return rows;
}

function memoryRows(trace: Trace): Row[] {
  const rows: Row[] = [];
  for (const [space, label, size, height] of [
    [0, 'SBUF', trace.header.sbuf_bytes, 150],
    [1, 'PSUM', trace.header.psum_bytes, 84],
  ] as const) {
    const places = new Map<number, number[]>(); // by offset and size
    let most = 0;
    for (let t = 0; t < trace.tileText.length; t++) {
      if (trace.tileSpace[t] !== space) continue;
      most = Math.max(most, trace.tileOffset[t] + trace.tileBytes[t]);
      const key = trace.tileOffset[t] * 2 ** 24 + trace.tileBytes[t];
      if (!places.has(key)) places.set(key, []);
      places.get(key)!.push(t);
    }
    if (places.size === 0) continue;
    // PSUM in whole, so that its eight banks are seen; SBUF as far as it is used.
    const shown = space === 1 ? size : Math.min(size, most * 1.02);
    // Tiles of other partitions may lie at the same addresses: more than one lane then.
    const bands = [...places.values()].flatMap((tiles) =>
      lanes(Uint32Array.from(tiles), trace.tileFrom, trace.tileUntil).map((lane) => ({
        low: trace.tileOffset[tiles[0]] / shown,
        high: (trace.tileOffset[tiles[0]] + trace.tileBytes[tiles[0]]) / shown,
        tiles: lane,
      })),
    );
    rows.push({
      group: 'Memory map',
      label: `${label} map`,
      title: `addresses of the tiles within a partition (0 to ${bytes(shown)}) from first write to last use`,
      color: '--memory',
      height,
      space: 3,
      bands,
    });
  }
  return rows;
}

function semaphoreRows(trace: Trace): Row[] {
  return [...grouped(trace.semaphoreNumber)].map(([n, changes]) => {
    const name = trace.header.semaphores[n];
    return {
      group: 'Semaphores',
      label: name || `S[${n}]`,
      title: `semaphore ${n}${name ? ` (${name})` : ''}: its value`,
      color: '--sync',
      height: 20,
      space: 3,
      steps: integrate(picked(changes, trace.semaphoreAt), picked(changes, trace.semaphoreValue), (v) => count(Math.round(v))),
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

// The timeline: which part of the run is in view, what lies where, and a canvas that shows it.

import { ticks as niceTicks } from 'd3-array';
import { drawRow } from './draw_rows';
import { drawSelection } from './draw_selection';
import { moment } from './format';
import type { Row } from './rows';
import { fontFamily, instructionOf, type Box, type Scene, type View } from './scene';
import { after, mean, type Slices } from './series';
import { NONE, type Item, type Trace } from './trace';

export interface Hit {
  row: Row;
  t: number;
  item?: Item;
  stall?: boolean; // the wait before the item, not the item itself
  span?: number;
  step?: number; // of the critical path
  tile?: number;
  value?: string;
}

interface Laid {
  row: Row;
  y: number;
}

const axisHeight = 24;
const gap = 3;
const margin = 0.005; // of the width, beside the run

export class Timeline implements Scene {
  view: View;
  selected: Item | null = null;
  hovered: Item | null = null;
  matches: Uint8Array | null = null; // by instruction; null: no search
  onView: (view: View) => void = () => {};

  readonly context: CanvasRenderingContext2D;
  private laid: Laid[] = [];
  private places: { instruction: Uint16Array; transfer: Uint16Array };
  width = 0;
  private height = 0;
  private scale = 1;
  private queued = false;
  private colors = new Map<string, string>();
  private reasonColors: string[] = [];
  matchedBefore = new Map<Row, Uint32Array>();
  pathBefore = new Map<Row, Uint32Array>();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    readonly trace: Trace,
    private readonly rows: Row[],
    places: { instruction: Uint16Array; transfer: Uint16Array },
  ) {
    this.context = canvas.getContext('2d')!;
    this.places = places;
    this.view = this.whole();
  }

  whole(): View {
    const total = Math.max(1, this.trace.header.total);
    return { from: -total * margin, until: total * (1 + margin) };
  }

  // `shown`: the rows to draw, from the top. Returns the height.
  layout(shown: Set<string>): number {
    this.laid = [];
    let y = axisHeight + gap;
    let group = '';
    for (const row of this.rows) {
      if (row.group !== group) {
        group = row.group;
        y += groupHeight;
      }
      if (!shown.has(row.group)) continue;
      this.laid.push({ row, y });
      y += row.height + row.space;
    }
    this.height = y + gap;
    return this.height;
  }

  resize(width: number): void {
    this.scale = window.devicePixelRatio || 1;
    this.width = Math.max(50, width);
    this.canvas.width = Math.round(this.width * this.scale);
    this.canvas.height = Math.round(this.height * this.scale);
    this.canvas.style.height = `${this.height}px`;
    this.readColors();
    this.invalidate();
  }

  readColors(): void {
    this.colors.clear();
    const style = getComputedStyle(this.canvas);
    const read = (name: string) => style.getPropertyValue(name).trim();
    for (const name of ['--text', '--quiet', '--line', '--card', '--accent', '--match', '--stall', '--path', '--memory', '--dma', '--zebra'])
      this.colors.set(name, read(name));
    for (const engine of this.trace.header.engines) this.colors.set(`--${engine}`, read(`--${engine}`));
    this.reasonColors = this.trace.header.reasons.map((reason) => read(`--reason-${reason}`) || this.color('--stall'));
    this.invalidate();
  }

  color(name: string): string {
    return this.colors.get(name) ?? '#888';
  }

  reasonColor(reason: number): string {
    return this.reasonColors[reason];
  }

  setView(from: number, until: number): void {
    const whole = this.whole();
    const most = whole.until - whole.from;
    const length = Math.min(most, Math.max(until - from, Math.min(most, 8)));
    if (until - from !== length) {
      const middle = (from + until) / 2;
      from = middle - length / 2;
    }
    // A little before the begin and after the end can be seen, whatever the zoom.
    const beside = length * margin;
    from = Math.min(Math.max(from, -beside), Math.max(-beside, this.trace.header.total + beside - length));
    this.view = { from, until: from + length };
    this.onView(this.view);
    this.invalidate();
  }

  zoom(factor: number, at?: number): void {
    const { from, until } = this.view;
    const fixed = at ?? (from + until) / 2;
    this.setView(fixed - (fixed - from) * factor, fixed + (until - fixed) * factor);
  }

  pan(share: number): void {
    const { from, until } = this.view;
    const by = (until - from) * share;
    this.setView(from + by, until + by);
  }

  timeAt(x: number): number {
    return this.view.from + (x / this.width) * (this.view.until - this.view.from);
  }
  xAt(t: number): number {
    return ((t - this.view.from) / (this.view.until - this.view.from)) * this.width;
  }

  extent(item: Item): View {
    const t = this.trace;
    return item.kind === 'instruction'
      ? { from: t.start[item.id], until: t.complete[item.id] }
      : { from: t.transferTrigger[item.id], until: t.transferDone[item.id] };
  }

  // Moves the view so that the item can be seen, and so that it is wide enough to be seen.
  reveal(item: Item): void {
    const { from, until } = this.extent(item);
    let length = this.view.until - this.view.from;
    const least = ((until - from) * this.width) / 24;
    const most = Math.max(8, (until - from) * 60);
    if (until - from > length * 0.9 || least > length) length = (until - from) * 1.5;
    else if (length > most) length = most;
    const inside = from >= this.view.from && until <= this.view.until;
    if (inside && length === this.view.until - this.view.from) {
      this.invalidate();
      return;
    }
    const middle = (from + until) / 2;
    this.setView(middle - length / 2, middle + length / 2);
  }

  setMatches(matches: Uint8Array | null): void {
    this.matches = matches;
    this.matchedBefore = matches ? this.sums(matches) : new Map();
    this.invalidate();
  }
  setPath(path: Uint8Array | null): void {
    this.pathBefore = path ? this.sums(path) : new Map();
    this.invalidate();
  }
  private sums(marks: Uint8Array): Map<Row, Uint32Array> {
    const all = new Map<Row, Uint32Array>();
    for (const row of this.rows) {
      if (!row.slices || row.item === 'span') continue;
      const sum = new Uint32Array(row.slices.id.length + 1);
      for (let i = 0; i < row.slices.id.length; i++) sum[i + 1] = sum[i] + (marks[instructionOf(this.trace, row, row.slices.id[i])] ?? 0);
      all.set(row, sum);
    }
    return all;
  }
  hit(x: number, y: number): Hit | null {
    const laid = this.laid.find((l) => y >= l.y && y < l.y + l.row.height + l.row.space);
    if (!laid) return null;
    const { row } = laid;
    const t = this.timeAt(x);
    const slack = (this.view.until - this.view.from) / this.width; // a pixel
    const found: Hit = { row, t };
    if (row.slices) {
      const id = pick(row.slices, t, slack);
      if (id !== NONE) {
        if (row.item === 'span') {
          found.span = id;
          found.item = { kind: 'transfer', id: this.trace.spanTransfer[id] };
        } else if (row.item === 'step') {
          found.step = id;
          found.item = this.itemOf(id);
        } else {
          found.item = { kind: row.item!, id };
        }
      } else if (row.stalls) {
        const waiting = pick(row.stalls, t, slack);
        if (waiting !== NONE) {
          found.item = { kind: 'instruction', id: waiting };
          found.stall = true;
        }
      }
    } else if (row.steps) {
      found.value = row.steps.text(mean(row.steps, t - slack / 2, t + slack / 2));
    } else if (row.bands) {
      const share = (y - laid.y) / row.height;
      for (const band of row.bands) {
        if (share < band.low || share >= band.high) continue;
        const tile = pick(band.tiles, t, slack);
        if (tile !== NONE) found.tile = tile;
      }
    }
    return found;
  }

  // What a step of the critical path belongs to: the transfer where it is a part of one.
  private itemOf(step: number): Item | undefined {
    const instruction = this.trace.pathSerial[step];
    if (instruction < 0) return undefined;
    const moves = this.trace.header.step_kinds[this.trace.pathKind[step]].startsWith('dma');
    return moves ? this.shownAs(instruction) : { kind: 'instruction', id: instruction };
  }

  invalidate(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      this.draw();
    });
  }

  private draw(): void {
    const c = this.context;
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    this.drawAxis();
    for (const { row, y } of this.laid) drawRow(this, row, y);
    this.drawEnds();
    drawSelection(this);
  }

  private drawAxis(): void {
    const c = this.context;
    const from = this.trace.us(this.view.from);
    const until = this.trace.us(this.view.until);
    const marks = niceTicks(from, until, Math.max(2, Math.floor(this.width / 110)));
    const step = marks.length > 1 ? marks[1] - marks[0] : until - from;
    c.font = `11px ${fontFamily}`;
    c.textBaseline = 'middle';
    c.textAlign = 'center';
    for (const mark of marks) {
      const x = Math.round(this.xAt(mark * this.trace.header.ticks_per_us)) + 0.5;
      c.strokeStyle = this.color('--line');
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, axisHeight - 5);
      c.lineTo(x, this.height);
      c.stroke();
      const label = `${moment(mark, step)} us`;
      const half = c.measureText(label).width / 2;
      if (x - half < 2 || x + half > this.width - 2) continue;
      c.fillStyle = this.color('--quiet');
      c.fillText(label, x, axisHeight / 2 - 1);
    }
  }

  // The window of the kernel: outside nothing happens.
  private drawEnds(): void {
    const c = this.context;
    c.fillStyle = this.color('--line');
    for (const t of [0, this.trace.header.total]) {
      const x = this.xAt(t);
      if (x >= 0 && x <= this.width) c.fillRect(Math.round(x) - 0.5, axisHeight, 1, this.height);
    }
  }

  box(item: Item): Box | null {
    const r = this.places[item.kind][item.id];
    const laid = r === undefined ? undefined : this.laid.find((l) => l.row === this.rows[r]);
    if (!laid) return null;
    const t = this.trace;
    const [from, until] =
      item.kind === 'instruction'
        ? [t.start[item.id], t.busyUntil[item.id]]
        : [t.transferTrigger[item.id], t.transferDone[item.id]];
    const tall = laid.row.height >= 18;
    return { x0: this.xAt(from), x1: this.xAt(until), y: laid.y, h: laid.row.height - (tall ? 5 : 0) };
  }

  // The instruction as an item of the timeline: its transfer where it triggered one and that can be seen.
  shownAs(instruction: number): Item {
    const transfer = this.trace.transferOf[instruction];
    return transfer === NONE ? { kind: 'instruction', id: instruction } : { kind: 'transfer', id: transfer };
  }
}

export const groupHeight = 20;
export const layoutSizes = { axisHeight, gap, groupHeight };

// The slice at t, or the nearest one within `slack`.
function pick(s: Slices, t: number, slack: number): number {
  const i = after(s.begin, t);
  if (i > 0 && s.end[i - 1] > t) return s.id[i - 1];
  const left = i > 0 ? t - s.end[i - 1] : Infinity;
  const right = i < s.id.length ? s.begin[i] - t : Infinity;
  if (Math.min(left, right) > slack) return NONE;
  return left <= right ? s.id[i - 1] : s.id[i];
}

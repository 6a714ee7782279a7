// The timeline: rows on a canvas, drawn with as much detail as fits. Slices narrower than a pixel are drawn as the
// share of the pixel they cover, found by binary search, so that a frame costs the same for a hundred instructions
// and for a million.

import { ticks as niceTicks } from 'd3-array';
import { moment } from './format';
import type { Row } from './rows';
import { after, covered, mean, type Slices } from './series';
import { NONE, type Item, type Trace } from './trace';

export interface View {
  from: number; // ticks
  until: number;
}

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
const thinnest = 1.5; // pixels below which slices are drawn together

export class Timeline {
  view: View;
  selected: Item | null = null;
  hovered: Item | null = null;
  matches: Uint8Array | null = null; // by instruction; null: no search
  path: Uint8Array | null = null; // by instruction; null: not shown
  onView: (view: View) => void = () => {};

  private readonly context: CanvasRenderingContext2D;
  private laid: Laid[] = [];
  private places: { instruction: Uint16Array; transfer: Uint16Array };
  private width = 0;
  private height = 0;
  private scale = 1;
  private queued = false;
  private colors = new Map<string, string>();
  private reasonColors: string[] = [];
  private matchedBefore = new Map<Row, Uint32Array>();
  private pathBefore = new Map<Row, Uint32Array>();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly trace: Trace,
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

  private color(name: string): string {
    return this.colors.get(name) ?? '#888';
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
    this.path = path;
    this.pathBefore = path ? this.sums(path) : new Map();
    this.invalidate();
  }
  private sums(marks: Uint8Array): Map<Row, Uint32Array> {
    const all = new Map<Row, Uint32Array>();
    for (const row of this.rows) {
      if (!row.slices || row.item === 'span') continue;
      const sum = new Uint32Array(row.slices.id.length + 1);
      for (let i = 0; i < row.slices.id.length; i++) sum[i + 1] = sum[i] + (marks[this.instructionOf(row, row.slices.id[i])] ?? 0);
      all.set(row, sum);
    }
    return all;
  }
  // -1: a step of the critical path without an instruction.
  private instructionOf(row: Row, id: number): number {
    if (row.item === 'step') return this.trace.pathSerial[id];
    return row.item === 'transfer' ? this.trace.transferInstruction[id] : id;
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
    } else if (row.blocks) {
      const share = (y - laid.y) / row.height;
      const block = row.blocks.find((b) => t >= b.from && t < b.until && share >= b.low && share < b.high);
      if (block) found.tile = block.id;
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
    for (const { row, y } of this.laid) {
      c.fillStyle = this.color('--zebra');
      c.fillRect(0, y, this.width, row.height);
      if (row.slices) this.drawSlices(row, y);
      if (row.steps) this.drawSteps(row, y);
      if (row.blocks) this.drawBlocks(row, y);
    }
    this.drawEnds();
    this.drawSelection();
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

  private drawSlices(row: Row, y: number): void {
    const tall = row.height >= 18;
    const stallHeight = tall ? 5 : 0;
    const h = row.height - stallHeight;
    if (row.stalls && tall) this.drawStalls(row.stalls, y + h, stallHeight);
    const c = this.context;
    const s = row.slices!;
    const { from, until } = this.view;
    const perPixel = (until - from) / this.width;
    const matched = this.matchedBefore.get(row);
    const onPath = row.item === 'step' ? undefined : this.pathBefore.get(row);
    const marked = this.matches !== null && row.item !== 'span';
    let i = Math.max(0, after(s.end, from));
    while (i < s.id.length && s.begin[i] < until) {
      const x0 = this.xAt(s.begin[i]);
      const x1 = this.xAt(s.end[i]);
      c.fillStyle = this.color(row.colorOf ? row.colorOf(s.id[i]) : row.color);
      if (x1 - x0 >= thinnest) {
        const left = Math.max(x0, -1);
        const right = Math.min(x1, this.width + 1);
        const inset = right - left > 4 ? 0.5 : 0;
        c.globalAlpha = marked && !(matched && matched[i + 1] > matched[i]) ? 0.22 : this.tone(row, s.id[i]);
        c.fillRect(left, y, right - left - inset, h);
        c.globalAlpha = 1;
        if (tall && right - left > 34) this.drawLabel(row, s.id[i], left, y, right - left, h);
        if (onPath && onPath[i + 1] > onPath[i]) this.mark('--path', left, y, right - left, 2.5);
        if (matched && matched[i + 1] > matched[i]) this.mark('--match', left, y + h - 2.5, right - left, 2.5);
        i++;
        continue;
      }
      // All slices that begin in this pixel, as one.
      const pixel = Math.floor(x0);
      const end = from + (pixel + 1) * perPixel;
      const next = Math.max(i + 1, after(s.begin, end, i));
      const share = Math.min(1, covered(s, from + pixel * perPixel, end) / perPixel);
      const some = matched ? matched[next] - matched[i] : 0;
      c.globalAlpha = (0.18 + 0.82 * share) * (marked && some === 0 ? 0.22 : 1);
      c.fillRect(pixel, y, 1, h);
      c.globalAlpha = 1;
      if (onPath && onPath[next] > onPath[i]) this.mark('--path', pixel, y, 1, 2.5);
      if (some > 0) this.mark('--match', pixel, y + h - 2.5, 1.5, 2.5);
      i = next;
    }
  }

  private mark(color: string, x: number, y: number, w: number, h: number): void {
    this.context.fillStyle = this.color(color);
    this.context.fillRect(x, y, w, h);
  }

  // Neighbours are told apart by two tones.
  private tone(row: Row, id: number): number {
    if (row.item === 'instruction' && this.trace.flops[id] === 0 && this.isControl(id)) return 0.55;
    return id % 2 === 0 ? 1 : 0.84;
  }
  private isControl(id: number): boolean {
    return this.trace.rowOperandBegin[this.trace.row[id]] === this.trace.rowOperandBegin[this.trace.row[id] + 1];
  }

  private drawLabel(row: Row, id: number, x: number, y: number, w: number, h: number): void {
    const c = this.context;
    const instruction = this.instructionOf(row, id);
    if (instruction < 0) return;
    let label = this.trace.mnemonic(instruction);
    if (w > 150) {
      const first = this.trace.operands(instruction)[0];
      if (first) label += ` ${first.text}`;
    }
    c.font = `11px ${fontFamily}`;
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    c.fillStyle = this.color('--card');
    const room = Math.floor((w - 8) / 5.9);
    if (label.length > room) label = room < 4 ? '' : `${label.slice(0, room - 1)}\u2026`;
    c.fillText(label, x + 4, y + h / 2 + 0.5);
  }

  private drawStalls(s: Slices, y: number, h: number): void {
    const c = this.context;
    const { from, until } = this.view;
    const perPixel = (until - from) / this.width;
    let i = Math.max(0, after(s.end, from));
    while (i < s.id.length && s.begin[i] < until) {
      const x0 = this.xAt(s.begin[i]);
      const x1 = this.xAt(s.end[i]);
      const color = this.reasonColors[this.trace.reason[s.id[i]]];
      c.fillStyle = color;
      if (x1 - x0 >= thinnest) {
        const left = Math.max(x0, -1);
        const right = Math.min(x1, this.width + 1);
        c.globalAlpha = 0.85;
        c.fillRect(left, y + 1, right - left, h - 1);
        i++;
      } else {
        const pixel = Math.floor(x0);
        const end = from + (pixel + 1) * perPixel;
        const next = Math.max(i + 1, after(s.begin, end, i));
        c.globalAlpha = 0.15 + 0.7 * Math.min(1, covered(s, from + pixel * perPixel, end) / perPixel);
        c.fillRect(pixel, y + 1, 1, h - 1);
        i = next;
      }
      c.globalAlpha = 1;
    }
  }

  private drawSteps(row: Row, y: number): void {
    const c = this.context;
    const s = row.steps!;
    const { from, until } = this.view;
    const perPixel = (until - from) / this.width;
    c.beginPath();
    c.moveTo(0, y + row.height);
    for (let x = 0; x < this.width; x++) {
      const value = mean(s, from + x * perPixel, from + (x + 1) * perPixel);
      const top = y + row.height - Math.min(1, value / s.top) * (row.height - 1);
      c.lineTo(x, top);
      c.lineTo(x + 1, top);
    }
    c.lineTo(this.width, y + row.height);
    c.closePath();
    c.fillStyle = this.color(row.color);
    c.globalAlpha = 0.3;
    c.fill();
    c.globalAlpha = 0.9;
    c.strokeStyle = this.color(row.color);
    c.lineWidth = 1;
    c.stroke();
    c.globalAlpha = 1;
  }

  private drawBlocks(row: Row, y: number): void {
    const c = this.context;
    c.font = `10px ${fontFamily}`;
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    c.lineWidth = 1;
    for (const block of row.blocks!) {
      const x0 = Math.max(-1, this.xAt(block.from));
      const x1 = Math.min(this.width + 1, this.xAt(block.until));
      if (x1 < 0 || x0 > this.width || x1 - x0 < 0.3) continue;
      const top = y + block.low * row.height;
      const h = Math.max(1, (block.high - block.low) * row.height);
      c.fillStyle = this.color(row.color);
      c.globalAlpha = block.id % 2 === 0 ? 0.5 : 0.36;
      c.fillRect(x0, top, x1 - x0, h);
      c.globalAlpha = 1;
      if (x1 - x0 > 3 && h > 2.5) {
        c.strokeStyle = this.color('--card');
        c.strokeRect(x0 + 0.5, top + 0.5, x1 - x0 - 1, h - 1);
      }
      if (x1 - x0 > 40 && h > 9) {
        c.fillStyle = this.color('--text');
        const label = this.trace.header.texts[this.trace.tileText[block.id]];
        const room = Math.floor((x1 - x0 - 8) / 5.5);
        c.fillText(label.length > room ? `${label.slice(0, room - 1)}\u2026` : label, Math.max(x0, 0) + 4, top + h / 2);
      }
    }
  }

  private box(item: Item): { x0: number; x1: number; y: number; h: number } | null {
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
  private shownAs(instruction: number): Item {
    const transfer = this.trace.transferOf[instruction];
    return transfer === NONE ? { kind: 'instruction', id: instruction } : { kind: 'transfer', id: transfer };
  }

  private drawSelection(): void {
    if (this.hovered) this.outline(this.hovered, '--quiet', 1);
    const item = this.selected;
    if (!item) return;
    const t = this.trace;
    const instruction = item.kind === 'instruction' ? item.id : t.transferInstruction[item.id];
    const producer = item.kind === 'instruction' ? t.producer[instruction] : NONE;
    if (producer !== NONE) this.arrow(this.shownAs(producer), item, 1);
    if (item.kind === 'transfer') this.arrow({ kind: 'instruction', id: instruction }, item, 0.5);
    const begin = t.consumerBegin[instruction];
    const end = Math.min(t.consumerBegin[instruction + 1], begin + 24);
    for (let i = begin; i < end; i++) this.arrow(item, { kind: 'instruction', id: t.consumer[i] }, 0.5);
    if (item.kind === 'instruction') this.tail(item);
    this.outline(item, '--accent', 2);
  }

  // From the end of its interval to its completion.
  private tail(item: Item): void {
    const box = this.box(item);
    if (!box) return;
    const x = this.xAt(this.trace.complete[item.id]);
    const c = this.context;
    c.strokeStyle = this.color('--accent');
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(box.x1, box.y + box.h / 2);
    c.lineTo(x, box.y + box.h / 2);
    c.moveTo(x, box.y + 2);
    c.lineTo(x, box.y + box.h - 2);
    c.stroke();
  }

  private outline(item: Item, color: string, width: number): void {
    const box = this.box(item);
    if (!box) return;
    const c = this.context;
    c.strokeStyle = this.color(color);
    c.lineWidth = width;
    const x = Math.max(-4, box.x0);
    const w = Math.max(2, Math.min(this.width + 4, box.x1) - x);
    c.strokeRect(x - 0.5, box.y - 0.5, w + 1, box.h + 1);
  }

  private arrow(from: Item, to: Item, alpha: number): void {
    const a = this.box(from);
    const b = this.box(to);
    if (!a || !b) return;
    const c = this.context;
    const x0 = to.kind === 'transfer' ? a.x0 : Math.max(a.x0, Math.min(a.x1, b.x0));
    const x1 = b.x0;
    const y0 = a.y + a.h / 2;
    const y1 = b.y + b.h / 2;
    const bend = Math.max(14, Math.abs(x1 - x0) / 2);
    c.globalAlpha = alpha;
    c.strokeStyle = c.fillStyle = this.color('--accent');
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 4, y1);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - 7, y1 - 3.5);
    c.lineTo(x1 - 7, y1 + 3.5);
    c.closePath();
    c.fill();
    c.globalAlpha = 1;
  }
}

export const groupHeight = 20;
export const layoutSizes = { axisHeight, gap, groupHeight };
const fontFamily = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

// The slice at t, or the nearest one within `slack`.
function pick(s: Slices, t: number, slack: number): number {
  const i = after(s.begin, t);
  if (i > 0 && s.end[i - 1] > t) return s.id[i - 1];
  const left = i > 0 ? t - s.end[i - 1] : Infinity;
  const right = i < s.id.length ? s.begin[i] - t : Infinity;
  if (Math.min(left, right) > slack) return NONE;
  return left <= right ? s.id[i - 1] : s.id[i];
}

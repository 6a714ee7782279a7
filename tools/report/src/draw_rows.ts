// Draws rows with as much detail as fits: slices narrower than a pixel as the share of the pixel that they cover, found by
// binary search, so that a frame costs the same for a hundred instructions and for a million.

import { readable } from './contrast';
import type { Row } from './rows';
import { fontFamily, instructionOf, type Scene } from './scene';
import { after, covered, mean, type Slices } from './series';

const faint = 0.22; // what a search did not find
const thinnest = 1.5; // pixels below which slices are drawn together

export function drawRow(scene: Scene, row: Row, y: number): void {
  scene.context.fillStyle = scene.color('--zebra');
  scene.context.fillRect(0, y, scene.width, row.height);
  if (row.slices) drawSlices(scene, row, y);
  if (row.steps) drawSteps(scene, row, y);
  if (row.bands) drawBands(scene, row, y);
}

// The slices in view from the left: one by one where they are wide enough, as `share` of a pixel where they are not,
// then all from number `i` up to `next` together.
function visit(
  scene: Scene,
  s: Slices,
  wide: (i: number, left: number, right: number) => void,
  pixel: (i: number, next: number, x: number, share: number) => void,
): void {
  const { from, until } = scene.view;
  const perPixel = (until - from) / scene.width;
  let i = after(s.end, from);
  while (i < s.id.length && s.begin[i] < until) {
    const x0 = scene.xAt(s.begin[i]);
    const x1 = scene.xAt(s.end[i]);
    if (x1 - x0 >= thinnest) {
      wide(i, Math.max(x0, -1), Math.min(x1, scene.width + 1));
      i++;
      continue;
    }
    const x = Math.floor(x0);
    const end = from + (x + 1) * perPixel;
    const next = Math.max(i + 1, after(s.begin, end, i));
    pixel(i, next, x, Math.min(1, covered(s, from + x * perPixel, end) / perPixel));
    i = next;
  }
}

function drawSlices(scene: Scene, row: Row, y: number): void {
  const tall = row.height >= 18;
  const stallHeight = tall ? 5 : 0;
  const h = row.height - stallHeight;
  if (row.stalls && tall) drawStalls(scene, row.stalls, y + h, stallHeight);
  const c = scene.context;
  const s = row.slices!;
  const matched = scene.matchedBefore.get(row);
  const onPath = row.item === 'step' ? undefined : scene.pathBefore.get(row);
  const marked = scene.matches !== null && row.item !== 'span';
  const colorOf = (i: number) => scene.color(colorName(row, s.id[i]));
  visit(
    scene,
    s,
    (i, left, right) => {
      const found = matched !== undefined && matched[i + 1] > matched[i];
      c.fillStyle = colorOf(i);
      c.globalAlpha = marked && !found ? faint : tone(scene, row, s.id[i]);
      c.fillRect(left, y, right - left - (right - left > 4 ? 0.5 : 0), h);
      c.globalAlpha = 1;
      if (tall && right - left > 34) drawLabel(scene, row, s.id[i], left, y, right - left, h, marked && !found);
      if (onPath && onPath[i + 1] > onPath[i]) mark(scene, '--path', left, y, right - left, 2.5);
      if (found) mark(scene, '--match', left, y + h - 2.5, right - left, 2.5);
    },
    (i, next, x, share) => {
      const found = matched !== undefined && matched[next] > matched[i];
      c.fillStyle = colorOf(i);
      c.globalAlpha = (0.18 + 0.82 * share) * (marked && !found ? faint : 1);
      c.fillRect(x, y, 1, h);
      c.globalAlpha = 1;
      if (onPath && onPath[next] > onPath[i]) mark(scene, '--path', x, y, 1, 2.5);
      if (found) mark(scene, '--match', x, y + h - 2.5, 1.5, 2.5);
    },
  );
}

function mark(scene: Scene, color: string, x: number, y: number, w: number, h: number): void {
  scene.context.fillStyle = scene.color(color);
  scene.context.fillRect(x, y, w, h);
}

// Neighbours are told apart by two tones.
function tone(scene: Scene, row: Row, id: number): number {
  if (row.item === 'instruction' && scene.trace.flops[id] === 0 && isControl(scene, id)) return 0.55;
  return id % 2 === 0 ? 1 : 0.84;
}
function isControl(scene: Scene, id: number): boolean {
  return scene.trace.rowOperandBegin[scene.trace.row[id]] === scene.trace.rowOperandBegin[scene.trace.row[id] + 1];
}

// Which variable of the style sheet a slice is drawn in.
function colorName(row: Row, id: number): string {
  return row.colorOf ? row.colorOf(id) : row.color;
}

function drawLabel(scene: Scene, row: Row, id: number, x: number, y: number, w: number, h: number, faded: boolean): void {
  const c = scene.context;
  const instruction = instructionOf(scene.trace, row, id);
  if (instruction < 0) return;
  let label = scene.trace.mnemonic(instruction);
  if (w > 150) {
    const first = scene.trace.operands(instruction)[0];
    if (first) label += ` ${first.text}`;
  }
  c.font = `11px ${fontFamily}`;
  c.textAlign = 'left';
  c.textBaseline = 'middle';
  c.fillStyle = faded ? scene.color('--quiet') : readable(scene.color(colorName(row, id)), scene.color('--card'), scene.color('--text'));
  const room = Math.floor((w - 8) / 5.9);
  if (label.length > room) label = room < 4 ? '' : `${label.slice(0, room - 1)}\u2026`;
  c.fillText(label, x + 4, y + h / 2 + 0.5);
}

function drawStalls(scene: Scene, s: Slices, y: number, h: number): void {
  const c = scene.context;
  const color = (i: number) => scene.reasonColor(scene.trace.reason[s.id[i]]);
  visit(
    scene,
    s,
    (i, left, right) => {
      c.fillStyle = color(i);
      c.globalAlpha = 0.85;
      c.fillRect(left, y + 1, right - left, h - 1);
    },
    (i, _, x, share) => {
      c.fillStyle = color(i);
      c.globalAlpha = 0.15 + 0.7 * share;
      c.fillRect(x, y + 1, 1, h - 1);
    },
  );
  c.globalAlpha = 1;
}

function drawSteps(scene: Scene, row: Row, y: number): void {
  const c = scene.context;
  const s = row.steps!;
  const { from, until } = scene.view;
  const perPixel = (until - from) / scene.width;
  c.beginPath();
  c.moveTo(0, y + row.height);
  for (let x = 0; x < scene.width; x++) {
    const value = mean(s, from + x * perPixel, from + (x + 1) * perPixel);
    const top = y + row.height - Math.min(1, value / s.top) * (row.height - 1);
    c.lineTo(x, top);
    c.lineTo(x + 1, top);
  }
  c.lineTo(scene.width, y + row.height);
  c.closePath();
  c.fillStyle = scene.color(row.color);
  c.globalAlpha = 0.3;
  c.fill();
  c.globalAlpha = 0.9;
  c.strokeStyle = scene.color(row.color);
  c.lineWidth = 1;
  c.stroke();
  c.globalAlpha = 1;
}

function drawBands(scene: Scene, row: Row, y: number): void {
  const c = scene.context;
  c.font = `10px ${fontFamily}`;
  c.textAlign = 'left';
  c.textBaseline = 'middle';
  c.lineWidth = 1;
  for (const { low, high, tiles } of row.bands!) {
    const top = y + low * row.height;
    const h = Math.max(1, (high - low) * row.height);
    visit(
      scene,
      tiles,
      (i, left, right) => {
        c.fillStyle = scene.color(row.color);
        c.globalAlpha = tiles.id[i] % 2 === 0 ? 0.5 : 0.36;
        c.fillRect(left, top, right - left, h);
        c.globalAlpha = 1;
        if (right - left > 3 && h > 2.5) {
          c.strokeStyle = scene.color('--card');
          c.strokeRect(left + 0.5, top + 0.5, right - left - 1, h - 1);
        }
        if (right - left < 40 || h < 11) return;
        c.fillStyle = scene.color('--text');
        const label = scene.trace.header.texts[scene.trace.tileText[tiles.id[i]]];
        const room = Math.floor((right - left - 8) / 5.5);
        c.fillText(label.length > room ? `${label.slice(0, room - 1)}\u2026` : label, Math.max(left, 0) + 4, top + h / 2);
      },
      (_, __, x, share) => {
        c.fillStyle = scene.color(row.color);
        c.globalAlpha = 0.1 + 0.4 * share;
        c.fillRect(x, top, 1, h);
        c.globalAlpha = 1;
      },
    );
  }
}

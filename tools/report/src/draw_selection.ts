// Draws what is selected: its outline, when it completes, whom it waited for and whom it released.

import type { Scene } from './scene';
import { NONE, type Item } from './trace';

const mostArrows = 24; // to what it released

export function drawSelection(scene: Scene): void {
  if (scene.hovered) outline(scene, scene.hovered, '--quiet', 1);
  const item = scene.selected;
  if (!item) return;
  const t = scene.trace;
  const instruction = item.kind === 'instruction' ? item.id : t.transferInstruction[item.id];
  const producer = item.kind === 'instruction' ? t.producer[instruction] : NONE;
  if (producer !== NONE) arrow(scene, scene.shownAs(producer), item, 1);
  if (item.kind === 'transfer') arrow(scene, { kind: 'instruction', id: instruction }, item, 0.5);
  const begin = t.consumerBegin[instruction];
  const end = Math.min(t.consumerBegin[instruction + 1], begin + mostArrows);
  for (let i = begin; i < end; i++) arrow(scene, item, { kind: 'instruction', id: t.consumer[i] }, 0.5);
  if (item.kind === 'instruction') tail(scene, item);
  outline(scene, item, '--accent', 2);
}

// From the end of its interval to its completion.
function tail(scene: Scene, item: Item): void {
  const box = scene.box(item);
  if (!box) return;
  const x = scene.xAt(scene.trace.complete[item.id]);
  const c = scene.context;
  c.strokeStyle = scene.color('--accent');
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(box.x1, box.y + box.h / 2);
  c.lineTo(x, box.y + box.h / 2);
  c.moveTo(x, box.y + 2);
  c.lineTo(x, box.y + box.h - 2);
  c.stroke();
}

function outline(scene: Scene, item: Item, color: string, width: number): void {
  const box = scene.box(item);
  if (!box) return;
  const c = scene.context;
  c.strokeStyle = scene.color(color);
  c.lineWidth = width;
  const x = Math.max(-4, box.x0);
  const w = Math.max(2, Math.min(scene.width + 4, box.x1) - x);
  c.strokeRect(x - 0.5, box.y - 0.5, w + 1, box.h + 1);
}

function arrow(scene: Scene, from: Item, to: Item, alpha: number): void {
  const a = scene.box(from);
  const b = scene.box(to);
  if (!a || !b) return;
  const c = scene.context;
  const x0 = to.kind === 'transfer' ? a.x0 : Math.max(a.x0, Math.min(a.x1, b.x0));
  const x1 = b.x0;
  const y0 = a.y + a.h / 2;
  const y1 = b.y + b.h / 2;
  const bend = Math.max(14, Math.abs(x1 - x0) / 2);
  c.globalAlpha = alpha;
  c.strokeStyle = c.fillStyle = scene.color('--accent');
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

// What drawing needs to know of the timeline.

import type { Row } from './rows';
import type { Item, Trace } from './trace';

export interface View {
  from: number; // ticks
  until: number;
}

export interface Box {
  x0: number;
  x1: number;
  y: number;
  h: number;
}

export interface Scene {
  readonly context: CanvasRenderingContext2D;
  readonly trace: Trace;
  readonly width: number; // of the canvas, in pixels of the page
  readonly view: View;
  readonly selected: Item | null;
  readonly hovered: Item | null;
  readonly matches: Uint8Array | null; // by instruction; null: no search
  readonly matchedBefore: Map<Row, Uint32Array>; // by slice: how many matches before it
  readonly pathBefore: Map<Row, Uint32Array>; // the same for the critical path, where it is marked
  color(name: string): string; // a variable of the style sheet
  reasonColor(reason: number): string;
  xAt(t: number): number;
  box(item: Item): Box | null; // where it is drawn; null: nowhere
  shownAs(instruction: number): Item; // its transfer where it triggered one
}

export const fontFamily = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

// The instruction that a slice of the row belongs to; -1: a step of the critical path without one.
export function instructionOf(trace: Trace, row: Row, id: number): number {
  if (row.item === 'step') return trace.pathSerial[id];
  return row.item === 'transfer' ? trace.transferInstruction[id] : id;
}

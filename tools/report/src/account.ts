// Where the time of the engines went: every moment is busy, stalled for one reason, or idle, as the profile counts it.

import { toSlices, type Slices } from './series';
import type { Trace } from './trace';

export interface EngineAccount {
  busy: Slices; // merged
  stalled: Slices; // id: the instruction that waited
}

class Collector {
  readonly begin: number[] = [];
  readonly end: number[] = [];
  readonly id: number[] = [];
  add(begin: number, end: number, id: number, join: boolean): void {
    if (end <= begin) return;
    const last = this.end.length - 1;
    if (join && last >= 0 && this.end[last] === begin) this.end[last] = end;
    else {
      this.begin.push(begin);
      this.end.push(end);
      this.id.push(id);
    }
  }
  slices(): Slices {
    return toSlices(Float64Array.from(this.begin), Float64Array.from(this.end), Uint32Array.from(this.id));
  }
}

export function accounts(trace: Trace): EngineAccount[] {
  const n = trace.header.engines.length;
  const busy = Array.from({ length: n }, () => new Collector());
  const stalled = Array.from({ length: n }, () => new Collector());
  const until = new Float64Array(n);
  for (let i = 0; i < trace.count; i++) {
    const e = trace.engine[i];
    const start = trace.start[i];
    // An interval may end after the last completion; beyond the window nothing counts.
    const end = Math.min(trace.busyUntil[i], trace.header.total);
    stalled[e].add(Math.max(trace.stalledSince[i], until[e]), start, i, false);
    busy[e].add(Math.max(start, until[e]), end, i, true);
    until[e] = Math.max(until[e], end);
  }
  return busy.map((b, e) => ({ busy: b.slices(), stalled: stalled[e].slices() }));
}

export function length(s: Slices): number {
  return s.before[s.before.length - 1];
}

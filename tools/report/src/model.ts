// Everything the views share: the trace, what is derived from it once, and the profile.

import { accounts, type EngineAccount } from './account';
import type { Place, Profile } from './profile';
import { buildRows, placeItems, type Row, type Slices } from './rows';
import { baseName, NONE, type Item, type Trace } from './trace';

export interface Model {
  trace: Trace;
  profile: Profile;
  rows: Row[];
  places: { instruction: Uint16Array; transfer: Uint16Array };
  accounts: EngineAccount[];
  dma: Slices; // when any DMA engine moves bytes
  critical: Uint8Array; // by instruction: 1 on the critical path
}

export function buildModel(trace: Trace, profile: Profile): Model {
  const rows = buildRows(trace);
  const critical = new Uint8Array(trace.count);
  for (const serial of trace.pathSerial) if (serial >= 0) critical[serial] = 1;
  return { trace, profile, rows, places: placeItems(trace, rows), accounts: accounts(trace), dma: dmaActive(trace), critical };
}

function dmaActive(trace: Trace): Slices {
  const order = Uint32Array.from(trace.spanBegin, (_, s) => s).sort((a, b) => trace.spanBegin[a] - trace.spanBegin[b]);
  const begin: number[] = [];
  const end: number[] = [];
  for (const s of order) {
    const last = end.length - 1;
    if (last >= 0 && trace.spanBegin[s] <= end[last]) end[last] = Math.max(end[last], trace.spanEnd[s]);
    else {
      begin.push(trace.spanBegin[s]);
      end.push(trace.spanEnd[s]);
    }
  }
  const before = new Float64Array(begin.length + 1);
  for (let i = 0; i < begin.length; i++) before[i + 1] = before[i] + end[i] - begin[i];
  return { begin: Float64Array.from(begin), end: Float64Array.from(end), id: new Uint32Array(begin.length), before };
}

// What the views can ask for.
export interface Actions {
  select: (item: Item | null, reveal?: boolean) => void;
  search: (query: string) => void;
  showLine: (file: number, line: number) => void;
}

// What is drawn where the trace has no place.
export const unknown = '\u2013';

export function placeText(place: Place | null): string {
  return place ? `${baseName(place.file)}:${place.line}` : unknown;
}

// The query that marks what a line did.
export function lineQuery(place: Place): string {
  return `line:${place.line}@${baseName(place.file).toLowerCase()}`;
}

// The instruction of one mnemonic on one line that comes first by `rank` (largest); NONE if there is none.
export function best(trace: Trace, fits: (i: number) => boolean, rank: (i: number) => number): number {
  let found = NONE;
  let most = -Infinity;
  for (let i = 0; i < trace.count; i++) {
    if (!fits(i)) continue;
    const value = rank(i);
    if (value > most) {
      most = value;
      found = i;
    }
  }
  return found;
}

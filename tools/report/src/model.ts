// Everything the views share: the trace, what is derived from it once, and the profile.

import { accounts, type EngineAccount } from './account';
import type { Place, Profile } from './profile';
import { buildRows, placeItems, type Row } from './rows';
import { union, type Slices } from './series';
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
  return { trace, profile, rows, places: placeItems(trace, rows), accounts: accounts(trace), dma: union(trace.spanBegin, trace.spanEnd), critical };
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

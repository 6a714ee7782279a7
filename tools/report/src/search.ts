// Searching the instructions of a run. Words are joined by "and"; each is looked for in mnemonic, operands and source
// place, or is one of  line:42  engine:vector  stall:dma  queue:3 .

import type { Trace } from './trace';

export interface Matches {
  marks: Uint8Array; // by instruction
  found: number;
}

// "w[:, 1, 0:512]" is one word, with or without its blanks.
function joined(text: string): string {
  return text.toLowerCase().replace(/,\s+/g, ',');
}

function rowsWithText(trace: Trace, word: string): Uint8Array {
  const { header } = trace;
  const texts = Uint8Array.from(header.texts, (t) => (joined(t).includes(word) ? 1 : 0));
  const sites = new Uint8Array(trace.siteLine.length);
  if (word.includes(':') || word.includes('.')) {
    for (let s = 0; s < sites.length; s++) sites[s] = trace.sitePlace(s).toLowerCase().endsWith(word) ? 1 : 0;
  }
  const rows = new Uint8Array(trace.rowMnemonic.length);
  for (let r = 0; r < rows.length; r++) {
    if (texts[trace.rowMnemonic[r]] || sites[trace.rowSite[r]]) {
      rows[r] = 1;
      continue;
    }
    for (let o = trace.rowOperandBegin[r]; o < trace.rowOperandBegin[r + 1]; o++) {
      if (texts[trace.operandText[o]]) {
        rows[r] = 1;
        break;
      }
    }
  }
  return rows;
}

// A place counts for its own line and for the lines that called it.
function rowsOfLine(trace: Trace, line: number, file: string): Uint8Array {
  const own = new Uint8Array(trace.siteLine.length);
  for (let s = 0; s < own.length; s++) {
    for (let at = s; trace.siteLine[at] !== undefined; at = trace.siteParent[at]) {
      if (trace.siteLine[at] === line && (file === '' || trace.sitePlace(at).toLowerCase().startsWith(`${file}:`))) own[s] = 1;
    }
  }
  return Uint8Array.from({ length: trace.rowSite.length }, (_, r) => own[trace.rowSite[r]] ?? 0);
}

export function search(trace: Trace, query: string): Matches | null {
  const words = joined(query).split(/\s+/).filter((w) => w !== '');
  if (words.length === 0) return null;
  const marks = new Uint8Array(trace.count).fill(1);
  const keep = (test: (i: number) => boolean) => {
    for (let i = 0; i < marks.length; i++) if (marks[i] && !test(i)) marks[i] = 0;
  };
  for (const word of words) {
    const special = /^(?:(line|engine|stall|queue):(.+))$/.exec(word);
    if (special?.[1] === 'line') {
      const [line, file] = special[2].split('@');
      const rows = rowsOfLine(trace, Number(line), file ?? '');
      keep((i) => rows[trace.row[i]] === 1);
    } else if (special?.[1] === 'engine') {
      const engine = trace.header.engines.indexOf(special[2]);
      keep((i) => trace.engine[i] === engine);
    } else if (special?.[1] === 'stall') {
      const reason = trace.header.reasons.indexOf(special[2]);
      keep((i) => trace.reason[i] === reason && trace.stalledSince[i] < trace.start[i]);
    } else if (special?.[1] === 'queue') {
      keep((i) => trace.transferOf[i] < trace.transfers && trace.transferQueue[trace.transferOf[i]] === Number(special[2]));
    } else {
      const rows = rowsWithText(trace, word);
      keep((i) => rows[trace.row[i]] === 1);
    }
  }
  let found = 0;
  for (const m of marks) found += m;
  return { marks, found };
}

// The match after (or before) the instruction `from` in order of time; around the end.
export function neighbour(matches: Matches, from: number, direction: 1 | -1): number {
  const n = matches.marks.length;
  for (let k = 1; k <= n; k++) {
    const i = (from + direction * k + n * 2) % n;
    if (matches.marks[i]) return i;
  }
  return from;
}

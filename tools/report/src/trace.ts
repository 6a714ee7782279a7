// The recorded run as the page uses it: columns of numbers, decoded from what `ncemu` embeds
// (tools/trace/page.cpp writes them, columns.h packs them).

export interface Column {
  type: 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32' | 'f64';
  length: number;
  offset: number;
  delta?: boolean; // each value counts from the one before
}

export interface SourceFile {
  name: string;
  text?: string;
}

export interface Header {
  version: number;
  ticks_per_us: number;
  total: number; // ticks of the kernel window
  engines: string[];
  reasons: string[];
  step_kinds: string[]; // of the critical path
  texts: string[];
  files: SourceFile[];
  sbuf_bytes: number; // per partition
  psum_bytes: number;
  psum_bank_bytes: number;
  metrics: Record<string, { unit: string; formula: string }>;
  semaphores: string[]; // names by number, empty where the source gives none
  columns: Record<string, Column>;
}

type Numbers = Float64Array | Int32Array | Uint32Array | Int16Array | Uint16Array | Int8Array | Uint8Array;

const arrays = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f64: Float64Array,
} as const;

export const NONE = 0xffffffff;

// An element that the page can show and select: an instruction or a transfer.
export type Item = { kind: 'instruction' | 'transfer'; id: number };

export class Trace {
  readonly header: Header;
  private readonly data: ArrayBuffer;

  // Static: one row per instruction of the program.
  readonly rowMnemonic: Numbers;
  readonly rowSite: Numbers;
  readonly rowOperandBegin: Numbers;
  readonly operandName: Numbers;
  readonly operandText: Numbers;
  readonly siteFile: Numbers;
  readonly siteLine: Numbers;
  readonly siteParent: Numbers;

  // Dynamic: one row per executed instruction, in order of their serial numbers; times in ticks of the window.
  readonly count: number;
  readonly engine: Numbers;
  readonly row: Numbers;
  readonly start: Float64Array;
  readonly stalledSince: Float64Array;
  readonly busyUntil: Float64Array;
  readonly complete: Float64Array;
  readonly reason: Numbers;
  readonly producer: Uint32Array; // an instruction, NONE where the wait has none
  readonly gated: Numbers;
  readonly flops: Numbers;
  readonly slack: Numbers;

  // The critical path, in order of time.
  readonly pathSerial: Numbers; // -1: no instruction
  readonly pathKind: Numbers;
  readonly pathBegin: Float64Array;
  readonly pathEnd: Float64Array;

  readonly transfers: number;
  readonly transferInstruction: Numbers;
  readonly transferQueue: Numbers;
  readonly transferTrigger: Float64Array;
  readonly transferBegin: Float64Array; // of its first packet
  readonly transferDone: Float64Array;
  readonly transferBytes: Numbers;
  readonly transferDescriptors: Numbers;

  readonly spanTransfer: Numbers;
  readonly spanEngine: Numbers;
  readonly spanBegin: Float64Array;
  readonly spanEnd: Float64Array;
  readonly spanBytes: Numbers;

  readonly semaphoreAt: Float64Array;
  readonly semaphoreNumber: Numbers;
  readonly semaphoreValue: Numbers;

  readonly tileText: Numbers;
  readonly tileSpace: Numbers; // 0 SBUF, 1 PSUM
  readonly tileOffset: Numbers;
  readonly tileBytes: Numbers;
  readonly tilePartition: Numbers;
  readonly tilePartitions: Numbers;
  readonly tileFrom: Float64Array;
  readonly tileUntil: Float64Array;

  readonly gateBegin: Float64Array;
  readonly gateEnd: Float64Array;

  // Instruction -> its transfer, or NONE.
  readonly transferOf: Uint32Array;
  // Who waited for instruction i: consumer[consumerBegin[i] .. consumerBegin[i + 1]).
  readonly consumerBegin: Uint32Array;
  readonly consumer: Uint32Array;

  constructor(bytes: ArrayBuffer) {
    const length = new DataView(bytes).getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
    this.data = bytes;
    if (this.header.version !== 1) throw new Error(`this page does not know trace data of version ${this.header.version}`);

    this.rowMnemonic = this.column('row_mnemonic');
    this.rowSite = this.column('row_site');
    this.rowOperandBegin = this.column('row_operand_begin');
    this.operandName = this.column('operand_name');
    this.operandText = this.column('operand_text');
    this.siteFile = this.column('site_file');
    this.siteLine = this.column('site_line');
    this.siteParent = this.column('site_parent');

    this.engine = this.column('engine');
    this.count = this.engine.length;
    this.row = this.column('row');
    this.start = this.times('start');
    const stalled = this.column('stalled');
    const busy = this.column('busy');
    const latency = this.column('latency');
    this.stalledSince = this.start.map((t, i) => t - stalled[i]);
    this.busyUntil = this.start.map((t, i) => t + busy[i]);
    this.complete = this.start.map((t, i) => t + latency[i]);
    this.reason = this.column('reason');
    this.gated = this.column('gated');
    this.flops = this.column('flops');
    this.slack = this.column('slack');
    const back = this.column('producer_distance');
    this.producer = Uint32Array.from(back, (d, i) => (d === 0 ? NONE : i - d));

    this.pathSerial = this.column('path_serial');
    this.pathKind = this.column('path_kind');
    this.pathBegin = this.times('path_begin');
    const pathLength = this.column('path_length');
    this.pathEnd = this.pathBegin.map((t, i) => t + pathLength[i]);

    this.transferInstruction = this.column('transfer_instruction');
    this.transfers = this.transferInstruction.length;
    this.transferQueue = this.column('transfer_queue');
    this.transferTrigger = this.times('transfer_trigger');
    const wait = this.column('transfer_wait');
    const service = this.column('transfer_service');
    this.transferBegin = this.transferTrigger.map((t, i) => t + wait[i]);
    this.transferDone = this.transferBegin.map((t, i) => t + service[i]);
    this.transferBytes = this.column('transfer_bytes');
    this.transferDescriptors = this.column('transfer_descriptors');

    this.spanTransfer = this.column('span_transfer');
    this.spanEngine = this.column('span_engine');
    this.spanBegin = this.times('span_begin');
    const spanLength = this.column('span_length');
    this.spanEnd = this.spanBegin.map((t, i) => t + spanLength[i]);
    this.spanBytes = this.column('span_bytes');

    this.semaphoreAt = this.times('semaphore_at');
    this.semaphoreNumber = this.column('semaphore_number');
    this.semaphoreValue = this.column('semaphore_value');

    this.tileText = this.column('tile_text');
    this.tileSpace = this.column('tile_space');
    this.tileOffset = this.column('tile_offset');
    this.tileBytes = this.column('tile_bytes');
    this.tilePartition = this.column('tile_partition');
    this.tilePartitions = this.column('tile_partitions');
    this.tileFrom = this.times('tile_from');
    const live = this.column('tile_live');
    this.tileUntil = this.tileFrom.map((t, i) => t + live[i]);

    this.gateBegin = this.times('gate_begin');
    const gateLength = this.column('gate_length');
    this.gateEnd = this.gateBegin.map((t, i) => t + gateLength[i]);

    this.transferOf = new Uint32Array(this.count).fill(NONE);
    for (let t = 0; t < this.transfers; t++) this.transferOf[this.transferInstruction[t]] = t;
    this.consumerBegin = new Uint32Array(this.count + 1);
    for (let i = 0; i < this.count; i++) if (this.producer[i] !== NONE) this.consumerBegin[this.producer[i] + 1]++;
    for (let i = 0; i < this.count; i++) this.consumerBegin[i + 1] += this.consumerBegin[i];
    this.consumer = new Uint32Array(this.consumerBegin[this.count]);
    const next = this.consumerBegin.slice();
    for (let i = 0; i < this.count; i++) if (this.producer[i] !== NONE) this.consumer[next[this.producer[i]]++] = i;
  }

  private column(name: string): Numbers {
    const column = this.header.columns[name];
    if (!column) throw new Error(`the trace has no column ${name}`);
    const start = 4 + new DataView(this.data).getUint32(0, true);
    const base = Math.ceil(start / 8) * 8 + column.offset;
    const values: Numbers = new (arrays[column.type] as Uint8ArrayConstructor)(this.data, base, column.length);
    if (!column.delta) return values;
    const all = new Float64Array(values.length);
    let sum = 0;
    for (let i = 0; i < all.length; i++) all[i] = sum += values[i];
    return all;
  }

  private times(name: string): Float64Array {
    const values = this.column(name);
    return values instanceof Float64Array ? values : Float64Array.from(values);
  }

  us(ticks: number): number {
    return ticks / this.header.ticks_per_us;
  }

  mnemonic(instruction: number): string {
    return this.header.texts[this.rowMnemonic[this.row[instruction]]];
  }

  operands(instruction: number): { name: string; text: string }[] {
    const row = this.row[instruction];
    const all = [];
    for (let o = this.rowOperandBegin[row]; o < this.rowOperandBegin[row + 1]; o++)
      all.push({ name: this.header.texts[this.operandName[o]], text: this.header.texts[this.operandText[o]] });
    return all;
  }

  // "fp8_gemm.nca:41", the innermost place; empty where the program knows none.
  place(instruction: number): string {
    return this.sitePlace(this.rowSite[this.row[instruction]]);
  }
  sitePlace(site: number): string {
    const file = this.siteFile[site];
    if (file === undefined || file === NONE || this.siteLine[site] === 0) return '';
    return `${baseName(this.header.files[file]?.name ?? '')}:${this.siteLine[site]}`;
  }

  // Whether the instruction stands on this line.
  isAt(instruction: number, file: number, line: number): boolean {
    const site = this.rowSite[this.row[instruction]];
    return this.siteFile[site] === file && this.siteLine[site] === line;
  }
  file(name: string): number {
    return this.header.files.findIndex((f) => f.name === name);
  }

  lineText(instruction: number): string {
    const site = this.rowSite[this.row[instruction]];
    const text = this.header.files[this.siteFile[site]]?.text;
    return text?.split('\n', this.siteLine[site])[this.siteLine[site] - 1]?.trim() ?? '';
  }
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

// The embedded bytes: base64 of a zlib stream.
export async function decode(base64: string): Promise<ArrayBuffer> {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
}

// What `ncemu profile --json` prints, as far as the page shows it (tools/command/profile_schema.json), and the words
// for its names.

export interface Place {
  file: string;
  line: number;
}

export interface EngineTimes {
  engine: string;
  instruction_count: number;
  busy_us: number;
  clock_gated_us: number;
  stalled_us: number;
  stalled_by: Record<string, number>; // "semaphore_us"
  idle_us: number;
  ticks: { busy: number; stalled: Record<string, number>; idle: number };
  opcodes: { mnemonic: string; count: number; busy_us: number }[];
}

export interface Stall {
  engine: string;
  place: Place | null;
  reason: string;
  us: number;
  count: number;
  waits_for: { engine: string; mnemonic: string; place: Place | null } | null;
}

export interface Rung {
  name: string;
  us: number | null;
  gap?: string;
  gap_us?: number | null;
  bn_speedup?: number | null;
}

export interface CriticalGroup {
  kind: string;
  us: number;
  steps: number;
  engine: string | null;
  mnemonic: string | null;
  place: Place | null;
}

export interface Region {
  kind: 'line' | 'loop' | 'macro';
  file: string | null;
  first_line: number | null;
  last_line: number | null;
  text: string;
  instruction_count: number;
  own_instruction_count: number | null;
  busy_us: Record<string, number>;
  stalled_us: Record<string, number>;
  caused_stalls_us: number;
  critical_us: number;
  least_slack_us: number;
  dma_bytes: number;
}

export interface Advice {
  name: string;
  threshold: string;
  finding: string;
  suggestion: string;
  place: Place | null;
  removed: string;
  total_us: number | null;
  gain_us: number | null;
}

export interface Profile {
  version: string;
  commit: string;
  command_line: string;
  kernel: string;
  machine: { name: string; config_hash: string };
  mode: string;
  partial: boolean;
  message: string;
  total_us: number;
  total_ticks: number;
  verdict: { bound: string; sentence: string };
  metrics: Record<string, number | null>;
  engines: EngineTimes[];
  stalls: Stall[];
  bounds: { kernel: Rung[]; windows: { begin_us: number; end_us: number; rungs: Rung[] }[] };
  critical_path: { by: CriticalGroup[]; step_count: number };
  what_if: { name: string; question: string; total_us: number | null; gain_us: number | null }[];
  dma: {
    transfer_count: number;
    descriptor_count: number;
    bytes: number;
    active_us: number;
    queues: { queue: number; transfer_count: number; bytes: number; active_us: number }[];
    by_descriptor_size: {
      descriptor_bytes_from: number;
      descriptor_bytes_to: number;
      transfer_count: number;
      descriptor_count: number;
      bytes: number;
      efficiency_percent: number;
    }[];
  };
  tensors: { name: string; size_bytes: number; read_bytes: number; times_read: number | null; written_bytes: number }[];
  roofline: {
    peak_flops_per_s: number;
    hbm_bytes_per_s: number;
    dma_bytes_per_s: number;
    sbuf_bytes_per_s: number;
    ridge_flops_per_byte: number;
    kernel: { flops_per_byte: number | null; adjusted_flops_per_s: number | null };
    engines: { engine: string; peak_elements_per_s: number; elements_per_s: number }[];
  };
  source: Region[];
  advice: Advice[];
}

// What an engine waits for, by the reason of its stall.
export function reasonText(reason: string): string {
  const texts: Record<string, string> = {
    semaphore: 'another engine',
    dma: 'a transfer',
    port: 'a memory port',
    pipeline: 'its own pipeline',
    dma_queue: 'the descriptor generator',
  };
  return texts[reason] ?? reason;
}

export function stepText(kind: string): string {
  const texts: Record<string, string> = {
    runs: 'runs',
    signal: 'its signal travels',
    dma_start: 'transfer starts',
    dma_moves: 'transfer moves bytes',
    dma_done: 'transfer signals its end',
    dma_queue_waits: 'transfer waits for a DMA engine',
    before_start: 'before the first recorded cause',
  };
  return texts[kind] ?? kind;
}

export function rungText(name: string): string {
  const texts: Record<string, string> = {
    total: 'as measured',
    memory_bound: 'any DMA engine is active',
    memory_bound_ideal: 'the bytes moved, at the peak of the DMA engines',
    memory_bound_ideal_no_reloads: 'inputs and outputs moved once, at the same peak',
    compute_bound: 'the tensor engine is active',
    compute_bound_ideal_flops: 'the FLOPs, at the peak of their types',
    compute_bound_ideal_useful_flops: 'the same without transposes',
    perfect_pipeline: 'the slowest engine alone',
  };
  return texts[name] ?? name;
}

export function sum(times: Record<string, number>): number {
  return Object.values(times).reduce((a, b) => a + b, 0);
}

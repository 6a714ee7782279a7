// Numbers as people read them: aligned by the style sheet (tabular figures), units beside them.

const thin = '\u2009';

function plain(value: number, digits: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// Three to four significant figures of a time given in microseconds.
export function time(us: number): string {
  const size = Math.abs(us);
  if (size === 0) return `0${thin}us`;
  if (size < 1) return `${plain(us * 1000, size < 0.01 ? 2 : 1)}${thin}ns`;
  if (size < 1000) return `${plain(us, size < 10 ? 3 : size < 100 ? 2 : 1)}${thin}us`;
  if (size < 1e6) return `${plain(us / 1000, size < 1e4 ? 3 : size < 1e5 ? 2 : 1)}${thin}ms`;
  return `${plain(us / 1e6, 3)}${thin}s`;
}

// A moment: always microseconds, with as many digits as `step` (what one pixel or tick mark is) needs.
export function moment(us: number, step: number): string {
  const digits = Math.min(4, Math.max(0, Math.ceil(-Math.log10(step))));
  return plain(us, digits);
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return '\u2013';
  const value = share * 100;
  return `${plain(value, value !== 0 && Math.abs(value) < 9.95 ? 1 : 0)}${thin}%`;
}

export function count(value: number): string {
  return plain(value, 0);
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${plain(value, unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1)}${thin}${units[unit]}`;
}

// 1234567 as 1.23 M: rates, FLOPs.
export function si(value: number, unit = ''): string {
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  let prefix = 0;
  while (Math.abs(value) >= 1000 && prefix < prefixes.length - 1) {
    value /= 1000;
    prefix++;
  }
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return `${plain(value, digits)}${thin}${prefixes[prefix]}${unit}`;
}

// Keeps numbers and their units on one line.
export function unbroken(sentence: string): string {
  return sentence.replace(/(\d) (?=%|us\b)/g, '$1\u00a0');
}

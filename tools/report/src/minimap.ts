// The whole run in a strip: how busy each engine was, and where the timeline looks.

import type { EngineAccount } from './account';
import { covered, type Slices } from './series';
import type { View } from './scene';
import type { Trace } from './trace';

const stripe = 6;

export class Minimap {
  private picture: HTMLCanvasElement | null = null;
  onMove: (middle: number) => void = () => {};

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly trace: Trace,
    private readonly accounts: EngineAccount[],
    private readonly dma: Slices,
  ) {
    const drag = (event: PointerEvent) => {
      const box = canvas.getBoundingClientRect();
      this.onMove(((event.clientX - box.left) / box.width) * trace.header.total);
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      drag(event);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) drag(event);
    });
  }

  get height(): number {
    return (this.accounts.length + 1) * stripe + 4;
  }

  resize(width: number): void {
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(width * scale)); // a page that is not laid out yet has none
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.height = `${this.height}px`;
    const picture = document.createElement('canvas');
    picture.width = this.canvas.width;
    picture.height = this.canvas.height;
    const c = picture.getContext('2d')!;
    const style = getComputedStyle(this.canvas);
    const perPixel = this.trace.header.total / picture.width;
    const strips = [...this.accounts.map((a, e) => [a.busy, `--${this.trace.header.engines[e]}`] as const), [this.dma, '--dma'] as const];
    strips.forEach(([slices, color], k) => {
      c.fillStyle = style.getPropertyValue(color).trim();
      for (let x = 0; x < picture.width; x++) {
        const share = covered(slices, x * perPixel, (x + 1) * perPixel) / perPixel;
        if (share <= 0) continue;
        c.globalAlpha = 0.15 + 0.85 * share;
        c.fillRect(x, Math.round((2 + k * stripe) * scale), 1, Math.round((stripe - 1) * scale));
      }
    });
    this.picture = picture;
  }

  draw(view: View): void {
    const c = this.canvas.getContext('2d')!;
    const style = getComputedStyle(this.canvas);
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.picture) c.drawImage(this.picture, 0, 0);
    const x = (t: number) => Math.min(1, Math.max(0, t / this.trace.header.total)) * this.canvas.width;
    const [from, until] = [x(view.from), x(view.until)];
    c.fillStyle = style.getPropertyValue('--veil').trim();
    c.fillRect(0, 0, from, this.canvas.height);
    c.fillRect(until, 0, this.canvas.width - until, this.canvas.height);
    c.strokeStyle = style.getPropertyValue('--accent').trim();
    c.lineWidth = 2;
    c.strokeRect(from + 1, 1, Math.max(2, until - from - 2), this.canvas.height - 2);
  }
}

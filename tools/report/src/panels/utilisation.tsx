import { percent, si, time } from '../format';
import type { Model } from '../model';
import { covered, mean, type Slices, type Steps } from '../series';
import type { View } from '../scene';
import { useWidth } from '../use_width';

const height = 46;

// How busy each engine is over the part of the run in view, and how fast the DMA engines move bytes.
export function Utilisation({ model, view }: { model: Model; view: View }) {
  const { trace } = model;
  const [box, width] = useWidth(600, 120, 196);
  const from = Math.max(0, view.from);
  const until = Math.min(trace.header.total, view.until);
  const bins = Math.max(20, Math.floor(width / 4));
  const step = (until - from) / bins;
  const share = (s: Slices) => (k: number) => covered(s, from + k * step, from + (k + 1) * step) / step;
  const rate = model.rows.find((r) => r.label === 'DMA rate')?.steps as Steps | undefined;
  const peak = model.profile.roofline.dma_bytes_per_s / 1e6;
  const rows = [
    ...model.accounts.map((a, e) => ({
      name: trace.header.engines[e],
      color: trace.header.engines[e],
      value: share(a.busy),
      mean: percent(covered(a.busy, from, until) / (until - from)),
      note: `stalled ${percent(covered(a.stalled, from, until) / (until - from))}`,
    })),
    { name: 'DMA active', color: 'dma', value: share(model.dma), mean: percent(covered(model.dma, from, until) / (until - from)), note: '' },
    ...(rate
      ? [
          {
            name: 'DMA rate',
            color: 'dma',
            value: (k: number) => Math.min(1, mean(rate, from + k * step, from + (k + 1) * step) / peak),
            mean: percent(mean(rate, from, until) / peak),
            note: si(mean(rate, from, until) * 1e6, 'B/s'),
          },
        ]
      : []),
  ];
  return (
    <div ref={box}>
      <h3>
        Utilisation in view: {time(trace.us(from))} to {time(trace.us(until))}
      </h3>
      <div class="multiples">
        {rows.map((row) => {
          const points = [];
          for (let k = 0; k < bins; k++) {
            const y = height - 1 - row.value(k) * (height - 2);
            points.push(`${((k / bins) * width).toFixed(1)},${y.toFixed(1)} ${(((k + 1) / bins) * width).toFixed(1)},${y.toFixed(1)}`);
          }
          return (
            <div class="multiple" key={row.name}>
              <div class="multiple-name">
                <span class={`dot ${row.color}`} /> {row.name}
                <small>{row.note}</small>
              </div>
              <svg width={width} height={height} role="img" aria-label={`${row.name}: mean ${row.mean}`}>
                <line x1="0" x2={width} y1="0.5" y2="0.5" class="rule" />
                <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} class="rule" />
                <polygon points={`0,${height} ${points.join(' ')} ${width},${height}`} class={`area ${row.color}`} />
              </svg>
              <div class="multiple-value">{row.mean}</div>
            </div>
          );
        })}
      </div>
      <p class="quiet">Of the part in view: zoom the timeline and these figures follow. The scale of each row is 0 to 100 %.</p>
    </div>
  );
}

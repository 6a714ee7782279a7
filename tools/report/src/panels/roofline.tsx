import { ticks } from 'd3-array';
import { scaleLog } from 'd3-scale';
import { percent, si } from '../format';
import type { Profile } from '../profile';
import { useWidth } from '../use_width';

const height = 300;
const margin = { left: 62, right: 16, top: 24, bottom: 42 };

// The peak of the tensor engine, the slopes of HBM and of the DMA engines, and the kernel below them.
export function Roofline({ roofline }: { roofline: Profile['roofline'] }) {
  const [box, width] = useWidth(520, 260);
  const peak = roofline.peak_flops_per_s;
  const slopes = [
    { name: 'HBM', rate: roofline.hbm_bytes_per_s, above: true },
    { name: 'DMA engines', rate: roofline.dma_bytes_per_s, above: false },
  ];
  const at = roofline.kernel.flops_per_byte;
  const reached = roofline.kernel.adjusted_flops_per_s;
  const point = at !== null && reached !== null && at > 0 && reached > 0 ? { at, reached } : null;
  const ridges = slopes.map((c) => peak / c.rate);
  const x = scaleLog([Math.min(point?.at ?? Infinity, ...ridges) / 30, Math.max(point?.at ?? 0, ...ridges) * 8], [margin.left, width - margin.right]);
  const y = scaleLog([Math.min(point?.reached ?? Infinity, peak / 100) / 3, peak * 2.2], [height - margin.bottom, margin.top]);
  const [x0, x1] = x.domain();
  const [y0, y1] = y.domain();
  const decades = (low: number, high: number) => ticks(Math.ceil(Math.log10(low)), Math.floor(Math.log10(high)), 8).filter(Number.isInteger).map((d) => 10 ** d);
  const roof = point ? Math.min(peak, point.at * roofline.hbm_bytes_per_s) : 0;
  const label = point ? `${si(point.reached, 'FLOP/s')}, ${percent(point.reached / roof)} of the roof` : '';
  const half = label.length * 3.4; // of the label's width, about
  const labelX = point ? Math.min(Math.max(x(point.at), margin.left + half), width - half) : 0;
  return (
    <div ref={box}>
      <svg
        width={width}
        height={height}
        class="roofline"
        role="img"
        aria-label={point ? `Roofline: ${si(point.reached, 'FLOP/s')} at ${point.at.toFixed(1)} FLOPs per byte` : 'Roofline of the machine'}
      >
        {decades(x0, x1).map((d) => (
          <g key={`x${d}`}>
            <line x1={x(d)} x2={x(d)} y1={margin.top} y2={height - margin.bottom} class="rule" />
            <text x={x(d)} y={height - margin.bottom + 16} text-anchor="middle">{d >= 1 ? d.toLocaleString('en-US') : String(d)}</text>
          </g>
        ))}
        {decades(y0, y1).map((d) => (
          <g key={`y${d}`}>
            <line x1={margin.left} x2={width - margin.right} y1={y(d)} y2={y(d)} class="rule" />
            <text x={margin.left - 8} y={y(d) + 4} text-anchor="end">{si(d)}</text>
          </g>
        ))}
        <text x={(margin.left + width - margin.right) / 2} y={height - 6} text-anchor="middle">FLOPs per byte of HBM</text>
        <text x={14} y={height / 2} text-anchor="middle" transform={`rotate(-90 14 ${height / 2})`}>FLOP/s</text>
        {slopes.map((c) => {
          const begin = Math.max(x0, y0 / c.rate);
          const end = peak / c.rate;
          const turn = (Math.atan2(y(end * c.rate) - y(begin * c.rate), x(end) - x(begin)) * 180) / Math.PI;
          const middle = begin * (end / begin) ** 0.4;
          const [mx, my] = [x(middle), y(middle * c.rate)];
          return (
            <g key={c.name}>
              <line x1={x(begin)} y1={y(begin * c.rate)} x2={x(end)} y2={y(peak)} class={c.above ? 'roof' : 'roof lower'} />
              <text x={mx} y={my + (c.above ? -7 : 15)} text-anchor="middle" transform={`rotate(${turn} ${mx} ${my})`} class="roof-label">
                {c.name} {si(c.rate, 'B/s')}
              </text>
            </g>
          );
        })}
        <line x1={x(peak / roofline.hbm_bytes_per_s)} x2={width - margin.right} y1={y(peak)} y2={y(peak)} class="roof" />
        <text x={width - margin.right} y={y(peak) - 7} text-anchor="end" class="roof-label">tensor engine, bf16 {si(peak, 'FLOP/s')}</text>
        {point && (
          <>
            <line x1={x(point.at)} x2={x(point.at)} y1={y(roof)} y2={y(point.reached)} class="to-roof" />
            <circle cx={x(point.at)} cy={y(point.reached)} r="5.5" class="point" />
            <text x={labelX} y={y(point.reached) + 20} text-anchor="middle" class="point-label">{label}</text>
          </>
        )}
      </svg>
      {!point && <p class="quiet">Without matmuls or without bytes of HBM the kernel is no point on it.</p>}
    </div>
  );
}

import { useState } from 'preact/hooks';
import { unknown, type Model } from '../model';

// The metrics under the names of the vendor's profiler.
export function Metrics({ model }: { model: Model }) {
  const [filter, setFilter] = useState('');
  const [all, setAll] = useState(false);
  const { metrics } = model.profile;
  const words = model.trace.header.metrics;
  const rows = Object.keys(metrics).filter((name) => name.includes(filter.toLowerCase()) && (all || metrics[name] !== null));
  return (
    <>
      <div class="toolbar inner">
        <input type="search" placeholder="Filter by name" aria-label="Filter metrics" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        <label class="switch">
          <input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> also those that do not apply
        </label>
      </div>
      <div class="scroll">
        <table class="list metrics">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col" class="number">value</th>
              <th scope="col">unit</th>
              <th scope="col" class="optional">what it is</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((name) => (
              <tr key={name}>
                <td>
                  <code>{name}</code>
                </td>
                <td class="number">{metrics[name]?.toLocaleString('en-US', { maximumSignificantDigits: 6 }) ?? unknown}</td>
                <td>{words[name]?.unit}</td>
                <td class="optional quiet">{words[name]?.formula.replace(/^- /, 'does not apply: ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { bytes, count, percent } from '../format';
import { lineQuery, type Actions, type Model } from '../model';
import { sum, type Region } from '../profile';
import { baseName } from '../trace';

export interface Shown {
  file: number;
  line: number;
}

interface Props {
  model: Model;
  actions: Actions;
  shown: Shown | null;
  setShown: (s: Shown) => void;
}

// The lines of each file that something ran for.
function byFile(model: Model): Map<number, Map<number, Region>> {
  const files = new Map<number, Map<number, Region>>();
  for (const region of model.profile.source) {
    if (region.kind !== 'line' || region.file === null || region.first_line === null) continue;
    const file = model.trace.file(region.file);
    if (!files.has(file)) files.set(file, new Map());
    files.get(file)!.set(region.first_line, region);
  }
  return files;
}

// The source with what its lines cost. A line that calls a macro has the cost of what the macro did for it.
export function Source({ model, actions, shown, setShown }: Props) {
  const { trace, profile } = model;
  const files = useMemo(() => byFile(model), [model]);
  const known = [...files.keys()].sort((a, b) => a - b);
  const all = (lines: Map<number, Region>) => [...lines.values()].reduce((us, region) => us + cost(region), 0);
  // First the file whose own instructions are the most critical.
  const hottest = useMemo(() => known.reduce((a, b) => (all(files.get(b)!) > all(files.get(a)!) ? b : a), known[0]), [files]);
  const file = shown && files.has(shown.file) ? shown.file : hottest;
  const table = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Within the table only: the page stays where it is.
    const row = table.current?.querySelector<HTMLElement>('tr.current') ?? table.current?.querySelector<HTMLElement>('tr.hottest');
    if (row) table.current!.scrollTop = row.offsetTop - table.current!.clientHeight / 2;
  }, [shown, file]);
  if (file === undefined) return <p class="quiet">The program has no source places: it was loaded from a container without debug data.</p>;
  const regions = files.get(file)!;
  const { name, text } = trace.header.files[file];
  const lines = text !== undefined ? text.replace(/\n$/, '').split('\n') : null;
  const numbers = lines ? lines.map((_, i) => i + 1) : [...regions.keys()].sort((a, b) => a - b);
  const most = Math.max(...[...regions.values()].map((r) => sum(r.busy_us) + sum(r.stalled_us)), 1e-9);
  const hottestLine = [...regions].reduce((a, b) => (cost(b[1]) > cost(a[1]) ? b : a))[0];
  return (
    <>
      {known.length > 1 && (
        <label class="choose">
          file{' '}
          <select value={file} onChange={(e) => setShown({ file: Number(e.currentTarget.value), line: 0 })}>
            {known.map((f) => (
              <option value={f} key={f}>
                {baseName(trace.header.files[f].name)}
              </option>
            ))}
          </select>
        </label>
      )}
      {!lines && <p class="quiet">The text of {name} could not be read when the report was written; its lines are listed by number.</p>}
      <div class="scroll source-scroll" ref={table}>
        <table class="source">
          <thead>
            <tr>
              <th scope="col" class="number" title="on the critical path">critical us</th>
              <th scope="col" class="number">busy us</th>
              <th scope="col" class="number">stalled us</th>
              <th scope="col" class="number optional" title="stalls of others that waited for this line">caused us</th>
              <th scope="col" class="number optional" title="bytes of its transfers">moved</th>
              <th scope="col" class="number optional" title="instructions that ran">ran</th>
              <th scope="col" class="heat"><span class="hidden">share</span></th>
              <th scope="col" class="number">line</th>
              <th scope="col" class="code">{baseName(name)}</th>
            </tr>
          </thead>
          <tbody>
            {numbers.map((n) => (
              <SourceLine
                key={`${file}:${n}`}
                n={n}
                text={lines?.[n - 1] ?? regions.get(n)?.text ?? ''}
                region={regions.get(n)}
                most={most}
                mark={shown?.file === file && shown.line === n ? 'current' : n === hottestLine ? 'hottest' : ''}
                onClick={() => actions.search(lineQuery({ file: name, line: n }))}
              />
            ))}
          </tbody>
        </table>
      </div>
      <p class="quiet">
        Times are sums over the engines. A line that calls a macro or includes a file has the cost of what that did. Click a line to mark its instructions in the timeline.
      </p>
      <Blocks model={model} setShown={setShown} total={profile.total_us || 1} />
    </>
  );
}

// How much a line itself matters, not what it calls.
function cost(region: Region): number {
  return region.own_instruction_count ? region.critical_us + 1e-6 * sum(region.busy_us) : 0;
}

// Microseconds, for columns: what is too short to show is not drawn.
function short(us: number): string {
  return us >= 0.0005 ? us.toLocaleString('en-US', { minimumFractionDigits: 3, maximumFractionDigits: 3 }) : '';
}

function SourceLine(props: { n: number; text: string; region: Region | undefined; most: number; mark: string; onClick: () => void }) {
  const { n, text, region, most } = props;
  const busy = region ? sum(region.busy_us) : 0;
  const stalled = region ? sum(region.stalled_us) : 0;
  return (
    <tr class={(region ? 'clickable ' : '') + props.mark} onClick={region ? props.onClick : undefined}>
      <td class="number">{region ? short(region.critical_us) : ''}</td>
      <td class="number">{short(busy)}</td>
      <td class="number">{short(stalled)}</td>
      <td class="number optional">{region ? short(region.caused_stalls_us) : ''}</td>
      <td class="number optional">{region && region.dma_bytes > 0 ? bytes(region.dma_bytes) : ''}</td>
      <td class="number optional">{region ? `${count(region.instruction_count)}\u00d7` : ''}</td>
      <td class="heat">
        {region && (
          <span class="heat-bar" aria-hidden="true">
            <i class="fill busy" style={{ width: `${(busy / most) * 100}%` }} />
            <i class="fill reason-semaphore" style={{ width: `${(stalled / most) * 100}%` }} />
          </span>
        )}
      </td>
      <td class="number line">{region ? <button class="rowlink" aria-label={`Mark line ${n} in the timeline`}>{n}</button> : n}</td>
      <td class="code">
        <Code text={text} />
      </td>
    </tr>
  );
}

function Code({ text }: { text: string }) {
  const comment = text.indexOf('#');
  const code = comment < 0 ? text : text.slice(0, comment);
  const word = /^(\s*)(\.?[a-z_0-9]+)/.exec(code);
  return (
    <code>
      {word ? (
        <>
          {word[1]}
          <b>{word[2]}</b>
          {code.slice(word[0].length)}
        </>
      ) : (
        code
      )}
      {comment >= 0 && <i>{text.slice(comment)}</i>}
    </code>
  );
}

// Loops and macros, with everything that ran inside.
function Blocks({ model, setShown, total }: { model: Model; setShown: (s: Shown) => void; total: number }) {
  const blocks = model.profile.source.filter((r) => r.kind !== 'line' && r.file !== null);
  if (blocks.length === 0) return null;
  blocks.sort((a, b) => b.critical_us - a.critical_us || sum(b.busy_us) - sum(a.busy_us));
  return (
    <>
      <h3 class="next">Loops and macros</h3>
      <table class="list">
        <thead>
          <tr>
            <th scope="col" class="number">critical us</th>
            <th scope="col" class="number">of the total</th>
            <th scope="col" class="number optional">busy us</th>
            <th scope="col" class="number optional">stalled us</th>
            <th scope="col" class="number optional">moved</th>
            <th scope="col" class="optional">lines</th>
            <th scope="col">text</th>
          </tr>
        </thead>
        <tbody>
          {blocks.slice(0, 40).map((r, k) => (
            <tr key={k} class="clickable" onClick={() => setShown({ file: model.trace.file(r.file!), line: r.first_line! })}>
              <td class="number">
                <button class="rowlink" title="Show its first line">{short(r.critical_us) || '0.000'}</button>
              </td>
              <td class="number">{percent(r.critical_us / total)}</td>
              <td class="number optional">{short(sum(r.busy_us))}</td>
              <td class="number optional">{short(sum(r.stalled_us))}</td>
              <td class="number optional">{r.dma_bytes > 0 ? bytes(r.dma_bytes) : ''}</td>
              <td class="name optional">
                {baseName(r.file!)}:{r.first_line}{'\u2013'}{r.last_line}
              </td>
              <td>
                <code>{r.kind === 'macro' ? `.macro ${r.text}` : r.text}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

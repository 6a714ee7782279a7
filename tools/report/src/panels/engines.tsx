import { count, percent, time } from '../format';
import { best, placeText, unknown, type Actions, type Model } from '../model';
import { reasonText, type EngineTimes, type Stall } from '../profile';
import { NONE } from '../trace';

interface Part {
  name: string;
  share: number;
  style: string;
  us: number;
}

const rowsShown = 24;

// Busy, stalled by reason and idle of an engine: parts that add up to the total.
function parts(engine: EngineTimes, total: number): Part[] {
  const all = [
    { name: 'busy', us: engine.busy_us, style: engine.engine },
    ...Object.entries(engine.stalled_by).map(([key, us]) => {
      const reason = key.replace(/_us$/, '');
      return { name: `waits for ${reasonText(reason)}`, us, style: `reason-${reason}` };
    }),
    { name: 'idle', us: engine.idle_us, style: 'idle' },
  ];
  return all.filter((p) => p.us > 0).map((p) => ({ ...p, share: p.us / total }));
}

export function Engines({ model, actions }: { model: Model; actions: Actions }) {
  const { profile } = model;
  const total = profile.total_us || 1;
  const reasons = Object.keys(profile.engines[0].stalled_by)
    .map((key) => key.replace(/_us$/, ''))
    .filter((reason) => profile.engines.some((e) => e.stalled_by[`${reason}_us`] > 0));
  return (
    <>
      <h3>Where the time of each engine went</h3>
      <table class="bars">
        <thead>
          <tr>
            <th scope="col">engine</th>
            <th scope="col" class="wide">busy, stalled, idle of {time(profile.total_us)}</th>
            <th scope="col" class="number">busy</th>
            <th scope="col" class="number">stalled</th>
            <th scope="col" class="number">idle</th>
            <th scope="col" class="number optional">instructions</th>
            <th scope="col" class="optional">most of it</th>
          </tr>
        </thead>
        <tbody>
          {profile.engines.map((engine) => {
            const bar = parts(engine, total);
            return (
              <tr key={engine.engine}>
                <th scope="row">
                  <span class={`dot ${engine.engine}`} /> {engine.engine}
                </th>
                <td class="wide">
                  <div class="stack" role="img" aria-label={bar.map((p) => `${p.name} ${percent(p.share)}`).join(', ')}>
                    {bar.map((p) => (
                      <span key={p.name} class={`fill ${p.style}`} style={{ width: `${p.share * 100}%` }} title={`${p.name}: ${time(p.us)}, ${percent(p.share)}`} />
                    ))}
                  </div>
                </td>
                <td class="number">{percent(engine.busy_us / total)}</td>
                <td class="number">{percent(engine.stalled_us / total)}</td>
                <td class="number">{percent(engine.idle_us / total)}</td>
                <td class="number optional">{count(engine.instruction_count)}</td>
                <td class="optional">{engine.opcodes.length > 0 && engine.busy_us > 0 ? <code>{engine.opcodes[0].mnemonic}</code> : unknown}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <ul class="legend" aria-label="Colours of the waits">
        {reasons.map((reason) => (
          <li key={reason}>
            <span class={`key fill reason-${reason}`} /> waits for {reasonText(reason)}
          </li>
        ))}
        <li>
          <span class="key fill idle" /> idle
        </li>
      </ul>
      <h3>The longest waits</h3>
      {profile.stalls.length === 0 ? <p class="quiet">No engine waited for anything.</p> : <Waits model={model} actions={actions} />}
    </>
  );
}

// The longest of the waits that a row sums up.
function longest(model: Model, stall: Stall): number {
  const { trace } = model;
  const engine = trace.header.engines.indexOf(stall.engine);
  const reason = trace.header.reasons.indexOf(stall.reason);
  const file = stall.place ? trace.file(stall.place.file) : NONE;
  const cause = stall.waits_for;
  const causeFile = cause?.place ? trace.file(cause.place.file) : NONE;
  const fits = (i: number) => {
    if (trace.engine[i] !== engine || trace.reason[i] !== reason) return false;
    if (stall.place && !trace.isAt(i, file, stall.place.line)) return false;
    const producer = trace.producer[i];
    if (!cause) return producer === NONE;
    return producer !== NONE && trace.mnemonic(producer) === cause.mnemonic && (!cause.place || trace.isAt(producer, causeFile, cause.place.line));
  };
  return best(trace, fits, (i) => trace.start[i] - trace.stalledSince[i]);
}

function Waits({ model, actions }: { model: Model; actions: Actions }) {
  const { stalls } = model.profile;
  const show = (stall: Stall) => {
    const id = longest(model, stall);
    if (id !== NONE) actions.select({ kind: 'instruction', id }, true);
  };
  return (
    <>
      <table class="list">
        <thead>
          <tr>
            <th scope="col" class="number">time</th>
            <th scope="col" class="number">times</th>
            <th scope="col">engine</th>
            <th scope="col">waits at</th>
            <th scope="col">for</th>
            <th scope="col" class="optional">of</th>
            <th scope="col" class="optional">reason</th>
          </tr>
        </thead>
        <tbody>
          {stalls.slice(0, rowsShown).map((stall, k) => (
            <tr key={k} class="clickable" onClick={() => show(stall)}>
              <td class="number">
                <button class="rowlink" title="Show the longest one in the timeline">{time(stall.us)}</button>
              </td>
              <td class="number">{count(stall.count)}</td>
              <td class="name">
                <span class={`dot ${stall.engine}`} /> {stall.engine}
              </td>
              <td>{placeText(stall.place)}</td>
              <td>{stall.waits_for ? <code>{stall.waits_for.mnemonic}</code> : unknown}</td>
              <td class="optional">{stall.waits_for ? `${stall.waits_for.engine}, ${placeText(stall.waits_for.place)}` : unknown}</td>
              <td class="optional">{reasonText(stall.reason)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {stalls.length > rowsShown && <p class="quiet">and {count(stalls.length - rowsShown)} shorter sums: the JSON of the profile has them</p>}
    </>
  );
}

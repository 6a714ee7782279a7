import { percent, si, time } from '../format';
import type { Model } from '../model';
import { rungText, type Profile, type Rung } from '../profile';
import { Roofline } from './roofline';

// The ladder from the measured time down to what the work needs, and the roofline.
export function Bounds({ model }: { model: Model }) {
  const { bounds, roofline } = model.profile;
  return (
    <>
      <div class="columns">
        <div>
          <h3>The bounds ladder</h3>
          <Ladder rungs={bounds.kernel} />
        </div>
        <div>
          <h3>Roofline</h3>
          <Roofline roofline={roofline} />
          <Elements roofline={roofline} />
        </div>
      </div>
      {bounds.windows.length > 1 && <Windows profile={model.profile} />}
    </>
  );
}

// Each bar is the time that a bound allows, the hatched part behind it the named gap to the bound above.
function Ladder({ rungs }: { rungs: Rung[] }) {
  const total = rungs[0].us || 1;
  return (
    <table class="ladder">
      <thead>
        <tr>
          <th scope="col">bound, and the gap above it</th>
          <th scope="col" class="wide"><span class="hidden">share of the total</span></th>
          <th scope="col" class="number">time</th>
          <th scope="col" class="number" title="the total over what would remain if the gap were closed">speed-up</th>
        </tr>
      </thead>
      <tbody>
        {rungs.map((rung) => (
          <tr key={rung.name} class={rung.us === null ? 'quiet' : ''}>
            <th scope="row">
              <code>{rung.name}</code>
              <small>{rungText(rung.name)}</small>
            </th>
            <td class="wide">
              {rung.us !== null && (
                <div class="meter" aria-hidden="true">
                  <span style={{ width: `${Math.min(100, (rung.us / total) * 100)}%` }} />
                  <span class="gap-bar" style={{ width: `${Math.max(0, ((rung.gap_us ?? 0) / total) * 100)}%` }} />
                </div>
              )}
              {rung.gap && rung.us !== null && (
                <small class="gap">
                  {rung.gap} {time(rung.gap_us ?? 0)}, {percent((rung.gap_us ?? 0) / total)}
                </small>
              )}
            </td>
            <td class="number">{rung.us === null ? 'does not apply' : time(rung.us)}</td>
            <td class="number">{rung.bn_speedup ? `${rung.bn_speedup.toFixed(2)}\u00d7` : ''}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// What the engines that stream elements reach; they are not on the roofline, whose work is FLOPs.
function Elements({ roofline }: { roofline: Profile['roofline'] }) {
  const rows = roofline.engines.filter((e) => e.peak_elements_per_s > 0);
  return (
    <table class="list elements">
      <thead>
        <tr>
          <th scope="col">engine</th>
          <th scope="col" class="number">elements/s</th>
          <th scope="col" class="number">at most</th>
          <th scope="col" class="number">share</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((e) => (
          <tr key={e.engine}>
            <td class="name">
              <span class={`dot ${e.engine}`} /> {e.engine}
            </td>
            <td class="number">{si(e.elements_per_s)}</td>
            <td class="number">{si(e.peak_elements_per_s)}</td>
            <td class="number">{percent(e.elements_per_s / e.peak_elements_per_s)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Windows({ profile }: { profile: Profile }) {
  const { windows } = profile.bounds;
  const names = windows[0].rungs.slice(1).map((r) => r.name);
  return (
    <>
      <h3 class="next">By part of the run, as shares of its length</h3>
      <div class="scroll">
        <table class="list">
          <thead>
            <tr>
              <th scope="col" class="number">from</th>
              <th scope="col" class="number">to</th>
              {names.map((name) => (
                <th scope="col" class="number" key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {windows.map((w) => (
              <tr key={w.begin_us}>
                <td class="number">{time(w.begin_us)}</td>
                <td class="number">{time(w.end_us)}</td>
                {w.rungs.slice(1).map((r) => (
                  <td class="number" key={r.name}>{r.us === null ? '' : percent(r.us / (w.end_us - w.begin_us))}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

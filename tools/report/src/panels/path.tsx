import { count, percent, time } from '../format';
import { placeText, unknown, type Actions, type Model } from '../model';
import { stepText, type CriticalGroup } from '../profile';
import { NONE } from '../trace';

const rowsShown = 60;

// The longest step of the path that a row sums up, as an instruction.
function longest(model: Model, group: CriticalGroup): number {
  const { trace } = model;
  const kind = trace.header.step_kinds.indexOf(group.kind);
  const file = group.place ? trace.file(group.place.file) : NONE;
  let found = NONE;
  let most = -1;
  for (let k = 0; k < trace.pathKind.length; k++) {
    const i = trace.pathSerial[k];
    if (trace.pathKind[k] !== kind || i < 0 || trace.mnemonic(i) !== group.mnemonic) continue;
    if (trace.header.engines[trace.engine[i]] !== group.engine || (group.place && !trace.isAt(i, file, group.place.line))) continue;
    const length = trace.pathEnd[k] - trace.pathBegin[k];
    if (length <= most) continue;
    most = length;
    found = i;
  }
  return found;
}

// The critical path, by line: what the run would have to do faster to end earlier.
export function Path({ model, actions }: { model: Model; actions: Actions }) {
  const { profile } = model;
  const { by, step_count } = profile.critical_path;
  if (by.length === 0) return <p class="quiet">Nothing ran, so there is no critical path.</p>;
  const total = profile.total_us;
  const show = (group: CriticalGroup) => {
    const id = longest(model, group);
    if (id !== NONE) actions.select({ kind: 'instruction', id }, true);
  };
  return (
    <>
      <h3>
        {count(step_count)} steps, one after the other, make the {time(total)}
      </h3>
      <div class="scroll">
        <table class="list">
          <thead>
            <tr>
              <th scope="col" class="number">on the path</th>
              <th scope="col" class="number optional">of the total</th>
              <th scope="col" class="share optional"><span class="hidden">share</span></th>
              <th scope="col" class="number optional">steps</th>
              <th scope="col">instruction</th>
              <th scope="col" class="optional">engine</th>
              <th scope="col" class="optional">at</th>
              <th scope="col">what takes the time</th>
            </tr>
          </thead>
          <tbody>
            {by.slice(0, rowsShown).map((group, k) => (
              <tr key={k} class="clickable" onClick={() => show(group)}>
                <td class="number">
                  <button class="rowlink" title="Show the longest one in the timeline">{time(group.us)}</button>
                </td>
                <td class="number optional">{percent(group.us / total)}</td>
                <td class="share optional">
                  <span class="share-bar" aria-hidden="true">
                    <i class={`fill ${group.kind.startsWith('dma') ? 'dma' : group.engine ?? 'idle'}`} style={{ width: `${(group.us / by[0].us) * 100}%` }} />
                  </span>
                </td>
                <td class="number optional">{count(group.steps)}</td>
                <td>{group.mnemonic ? <code>{group.mnemonic}</code> : unknown}</td>
                <td class="optional name">
                  {group.engine ? (
                    <>
                      <span class={`dot ${group.engine}`} /> {group.engine}
                    </>
                  ) : (
                    unknown
                  )}
                </td>
                <td class="optional">{placeText(group.place)}</td>
                <td>{stepText(group.kind)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {by.length > rowsShown && <p class="quiet">and {count(by.length - rowsShown)} smaller sums</p>}
    </>
  );
}

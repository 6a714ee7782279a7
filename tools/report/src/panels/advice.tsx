import { percent, time } from '../format';
import { lineQuery, placeText, type Actions, type Model } from '../model';
import type { Advice as Finding } from '../profile';

function gain(finding: Finding, total: number): string {
  if (finding.gain_us === null) return 'not timed again: the control flow depends on data';
  if (finding.gain_us <= 0) return 'gains nothing alone';
  return `gains ${time(finding.gain_us)}, ${percent(finding.gain_us / total)} of the total`;
}

export function Advice({ model, actions }: { model: Model; actions: Actions }) {
  const { advice, what_if, total_us, partial } = model.profile;
  if (partial) return <p class="quiet">A run that ended early is not timed again, so there is no advice.</p>;
  return (
    <div class="columns">
      <div>
        <h3>What to change</h3>
        {advice.length === 0 && <p class="quiet">No threshold is crossed.</p>}
        <ol class="advice">
          {advice.map((finding) => (
            <li key={`${finding.name} ${placeText(finding.place)}`}>
              <h4>
                {finding.finding}
                {finding.place && (
                  <>
                    {' '}
                    <button class="link inline" title="Mark the line in the timeline" onClick={() => actions.search(lineQuery(finding.place!))}>
                      {placeText(finding.place)}
                    </button>
                  </>
                )}
              </h4>
              <p>{finding.suggestion}</p>
              <p class="quiet">
                Without {finding.removed}: {gain(finding, total_us)}. Reported for {finding.threshold}.
              </p>
            </li>
          ))}
        </ol>
      </div>
      <div>
        <h3>What if</h3>
        <table class="list">
          <thead>
            <tr>
              <th scope="col">change</th>
              <th scope="col" class="number">total</th>
              <th scope="col" class="number">gain</th>
            </tr>
          </thead>
          <tbody>
            {what_if.map((w) => (
              <tr key={w.name}>
                <td>{w.question}</td>
                <td class="number">{w.total_us === null ? 'not known' : time(w.total_us)}</td>
                <td class="number">{w.gain_us === null ? '' : percent(w.gain_us / (total_us || 1))}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p class="quiet">Each by running the clock again with that change.</p>
      </div>
    </div>
  );
}

import { bytes, count, percent, si, time } from './format';
import { type Actions, type Model } from './model';
import { reasonText } from './profile';
import { producerOf } from './rows';
import { NONE, type Item, type Trace } from './trace';

function Line({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div class="pair">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function itemTitle(trace: Trace, item: Item): string {
  const instruction = item.kind === 'instruction' ? item.id : trace.transferInstruction[item.id];
  return `${trace.mnemonic(instruction)} #${instruction}`;
}

// What the pointer is on, or what is selected: the same facts in both places.
export function ItemFacts({ model, item, brief }: { model: Model; item: Item; brief?: boolean }) {
  const { trace } = model;
  const i = item.kind === 'instruction' ? item.id : trace.transferInstruction[item.id];
  const engine = trace.header.engines[trace.engine[i]];
  const us = (ticks: number) => time(trace.us(ticks));
  const waited = trace.start[i] - trace.stalledSince[i];
  const t = item.kind === 'transfer' ? item.id : NONE;
  const producer = producerOf(trace, i);
  return (
    <dl class="facts">
      {t === NONE ? (
        <>
          <Line name="engine">
            <span class={`dot ${engine}`} /> {engine}
          </Line>
          <Line name="start">{us(trace.start[i])}</Line>
          <Line name="busy">
            {us(trace.busyUntil[i] - trace.start[i])}
            {trace.gated[i] > 0 ? `, of it clock gate ${us(trace.gated[i])}` : ''}
          </Line>
          <Line name="complete after">{us(trace.complete[i] - trace.start[i])}</Line>
          {waited > 0 && (
            <Line name="waited">
              {us(waited)} for {reasonText(trace.header.reasons[trace.reason[i]])}
              {brief && producer ? `: ${itemTitle(trace, producer)}` : ''}
            </Line>
          )}
          <Line name="slack">{trace.slack[i] === 0 ? 'none: on the critical path' : us(trace.slack[i])}</Line>
          {trace.flops[i] > 0 && (
            <Line name="rate">
              {si((trace.flops[i] / Math.max(trace.us(trace.busyUntil[i] - trace.start[i]), 1e-9)) * 1e6, 'FLOP/s')}
            </Line>
          )}
        </>
      ) : (
        <>
          <Line name="queue">
            <span class="dot dma" /> {trace.transferQueue[t]}, issued by {engine}
          </Line>
          <Line name="trigger">{us(trace.transferTrigger[t])}</Line>
          <Line name="first packet">after {us(trace.transferBegin[t] - trace.transferTrigger[t])}</Line>
          <Line name="complete">after {us(trace.transferDone[t] - trace.transferTrigger[t])}</Line>
          <Line name="bytes">
            {bytes(trace.transferBytes[t])} in {count(trace.transferDescriptors[t])} descriptors of{' '}
            {bytes(Math.round(trace.transferBytes[t] / Math.max(1, trace.transferDescriptors[t])))}
          </Line>
          <Line name="rate">
            {si((trace.transferBytes[t] / Math.max(trace.us(trace.transferDone[t] - trace.transferBegin[t]), 1e-9)) * 1e6, 'B/s')},{' '}
            {percent(
              trace.transferBytes[t] /
                Math.max(trace.us(trace.transferDone[t] - trace.transferBegin[t]), 1e-9) /
                (model.profile.roofline.dma_bytes_per_s / 1e6),
            )}{' '}
            of the peak
          </Line>
        </>
      )}
      {trace.operands(i).map((o) => (
        <Line name={o.name} key={o.name}>
          <code>{o.text}</code>
        </Line>
      ))}
    </dl>
  );
}

export function Inspector({ model, item, actions }: { model: Model; item: Item | null; actions: Actions }) {
  const { trace } = model;
  if (!item) {
    return (
      <aside class="inspector empty" aria-label="Selection" aria-live="polite">
        <h3>Nothing selected</h3>
        <p>Click an instruction or a transfer to see its times, its operands and what it waited for.</p>
        <Keys />
      </aside>
    );
  }
  const i = item.kind === 'instruction' ? item.id : trace.transferInstruction[item.id];
  const site = trace.rowSite[trace.row[i]];
  const producer = item.kind === 'instruction' ? producerOf(trace, i) : ({ kind: 'instruction', id: i } as Item);
  const consumers = Array.from(trace.consumer.subarray(trace.consumerBegin[i], trace.consumerBegin[i + 1]));
  const go = (to: Item) => () => actions.select(to, true);
  return (
    <aside class="inspector" aria-label="Selection" aria-live="polite">
      <div class="inspector-head">
        <h3>{itemTitle(trace, item)}</h3>
        <button class="plain" onClick={() => actions.select(null)} aria-label="Clear the selection" title="Clear the selection (Esc)">
          {'\u00d7'}
        </button>
      </div>
      {trace.place(i) !== '' && (
        <button class="place" onClick={() => actions.showLine(trace.siteFile[site], trace.siteLine[site])} title="Show in the source">
          <span>{trace.place(i)}</span>
          <code>{trace.lineText(i)}</code>
        </button>
      )}
      <ItemFacts model={model} item={item} />
      {producer && (
        <div class="links">
          <h4>{item.kind === 'transfer' ? 'Triggered by' : 'Waited for'}</h4>
          <button id="to-producer" class="link" onClick={go(producer)} title="Follow the dependency (P)">
            {'\u2190'} {itemTitle(trace, producer)} <small>{trace.place(producer.kind === 'instruction' ? producer.id : trace.transferInstruction[producer.id])}</small>
          </button>
        </div>
      )}
      {item.kind === 'instruction' && trace.transferOf[i] !== NONE && (
        <div class="links">
          <h4>Triggers</h4>
          <button class="link" onClick={go({ kind: 'transfer', id: trace.transferOf[i] })}>
            {'\u2192'} its transfer
          </button>
        </div>
      )}
      {consumers.length > 0 && (
        <div class="links">
          <h4>Released</h4>
          {consumers.slice(0, 5).map((c) => (
            <button class="link" key={c} onClick={go({ kind: 'instruction', id: c })}>
              {'\u2192'} {itemTitle(trace, { kind: 'instruction', id: c })} <small>{trace.header.engines[trace.engine[c]]}</small>
            </button>
          ))}
          {consumers.length > 5 && <p class="quiet">and {count(consumers.length - 5)} more</p>}
        </div>
      )}
    </aside>
  );
}

export function Keys() {
  const keys: [string, string][] = [
    ['wheel, + \u2212', 'zoom'],
    ['drag, \u2190 \u2192', 'pan'],
    ['0', 'whole run'],
    ['F', 'zoom to the selection'],
    ['/', 'search'],
    ['N, Shift+N', 'next, previous match'],
    ['[ ]', 'previous, next on the engine'],
    ['P', 'what it waited for'],
    ['C', 'what it released'],
    ['Esc', 'clear'],
  ];
  return (
    <dl class="keys" aria-label="Keys">
      {keys.map(([key, what]) => (
        <div class="pair" key={key}>
          <dt>{key}</dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

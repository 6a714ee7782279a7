// The timeline with its controls: search, zoom, groups of rows, the strip above and the facts beside it.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { bytes, count, moment, time } from './format';
import { Inspector, ItemFacts, itemTitle } from './inspector';
import { Minimap } from './minimap';
import type { Actions, Model } from './model';
import { stepText } from './profile';
import { producerOf, groups as allGroups } from './rows';
import { neighbour, search, type Matches } from './search';
import type { View } from './scene';
import { layoutSizes, Timeline, type Hit } from './timeline';
import { NONE, type Item } from './trace';

interface Props {
  model: Model;
  actions: Actions;
  selected: Item | null;
  revealed: number; // grows when the selection is to be moved into view
  query: string;
  setQuery: (query: string) => void;
  onView: (view: View) => void;
  theme: string;
}

const tipWidth = 320; // at most
const firstShown = ['Engines', 'Critical path', 'DMA queues', 'Counters', 'Memory map'];

export function TimelineView(props: Props) {
  const { model, actions, selected, query } = props;
  const { trace } = model;
  const canvas = useRef<HTMLCanvasElement>(null);
  const strip = useRef<HTMLCanvasElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const timeline = useRef<Timeline | null>(null);
  const minimap = useRef<Minimap | null>(null);
  const groups = useMemo(() => allGroups.filter((g) => model.rows.some((r) => r.group === g)), [model]);
  const [shown, setShown] = useState(() => new Set(groups.filter((g) => firstShown.includes(g))));
  const [hit, setHit] = useState<{ hit: Hit; x: number; y: number } | null>(null);
  const [matches, setMatches] = useState<Matches | null>(null);
  const [showPath, setShowPath] = useState(false);

  // State that listeners of the canvas read.
  const live = useRef({ selected, matches });
  live.current = { selected, matches };

  const relayout = () => {
    const t = timeline.current!;
    t.layout(shown);
    t.resize(canvas.current!.parentElement!.clientWidth);
    minimap.current!.resize(strip.current!.parentElement!.clientWidth);
    minimap.current!.draw(t.view);
  };

  useEffect(() => {
    const t = new Timeline(canvas.current!, trace, model.rows, model.places);
    const m = new Minimap(strip.current!, trace, model.accounts, model.dma);
    timeline.current = t;
    minimap.current = m;
    Object.assign(window, { ncemu: { model, timeline: t } }); // for the tests of the page
    t.onView = (view) => {
      m.draw(view);
      props.onView(view);
    };
    m.onMove = (middle) => {
      const half = (t.view.until - t.view.from) / 2;
      t.setView(middle - half, middle + half);
    };
    return listen(canvas.current!, t, {
      hover: (h, x, y) => {
        setHit(h && (h.item || h.tile !== undefined || h.value !== undefined) ? { hit: h, x, y } : null);
        const item = h?.item ?? null;
        if (item?.id !== t.hovered?.id || item?.kind !== t.hovered?.kind) {
          t.hovered = item;
          t.invalidate();
        }
      },
      click: (h) => {
        const now = live.current.selected;
        const item = h?.item ?? null;
        const again = item && now && item.kind === now.kind && item.id === now.id;
        // A second click, or a click on the wait itself, follows the dependency.
        if (item?.kind === 'instruction' && (again || h!.stall)) {
          const producer = producerOf(trace, item.id);
          if (producer) return actions.select(producer, true);
        }
        actions.select(item, false);
      },
    });
  }, [model]);

  useEffect(relayout, [shown, model, props.theme]);
  useEffect(() => {
    const observer = new ResizeObserver(relayout);
    observer.observe(canvas.current!.parentElement!);
    return () => observer.disconnect();
  }, [shown, model]);

  useEffect(() => {
    const t = timeline.current!;
    t.selected = selected;
    if (selected && props.revealed > 0) {
      const group = model.rows[model.places[selected.kind][selected.id]]?.group;
      if (group && !shown.has(group)) setShown(new Set([...shown, group]));
      t.reveal(selected);
    }
    t.invalidate();
  }, [selected, props.revealed]);

  useEffect(() => {
    const wait = setTimeout(() => {
      const found = search(trace, query);
      setMatches(found);
      timeline.current!.setMatches(found?.marks ?? null);
    }, 120);
    return () => clearTimeout(wait);
  }, [query, model]);

  useEffect(() => {
    timeline.current!.setPath(showPath ? model.critical : null);
  }, [showPath, model]);

  const step = (direction: 1 | -1) => {
    const m = live.current.matches;
    if (!m || m.found === 0) return;
    const now = live.current.selected;
    let from: number;
    if (now) {
      from = now.kind === 'instruction' ? now.id : trace.transferInstruction[now.id];
    } else {
      // The last one that began before the view.
      from = trace.start.findIndex((t) => t >= timeline.current!.view.from) - 1;
    }
    actions.select({ kind: 'instruction', id: neighbour(m, from, direction) }, true);
  };

  const onEngine = (direction: 1 | -1) => {
    const now = live.current.selected;
    if (!now || now.kind !== 'instruction') return;
    for (let i = now.id + direction; i >= 0 && i < trace.count; i += direction) {
      if (trace.engine[i] === trace.engine[now.id]) return actions.select({ kind: 'instruction', id: i }, true);
    }
  };

  const keys = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches('input, textarea, select')) return;
    const onTimeline = target === canvas.current || target === document.body || target.closest('.timeline') !== null;
    const t = timeline.current!;
    const now = live.current.selected;
    const act: Record<string, () => void> = {
      '/': () => input.current!.focus(),
      '+': () => t.zoom(1 / 1.5),
      '=': () => t.zoom(1 / 1.5),
      '-': () => t.zoom(1.5),
      '0': () => t.setView(t.whole().from, t.whole().until),
      f: () => now && t.setView(...around(t.extent(now))),
      n: () => step(1),
      N: () => step(-1),
      ']': () => onEngine(1),
      '[': () => onEngine(-1),
      p: () => {
        const to = now && (now.kind === 'instruction' ? producerOf(trace, now.id) : ({ kind: 'instruction', id: trace.transferInstruction[now.id] } as Item));
        if (to) actions.select(to, true);
      },
      c: () => {
        const i = now && (now.kind === 'instruction' ? now.id : trace.transferInstruction[now.id]);
        if (i === null || i === undefined) return;
        const first = trace.consumer[trace.consumerBegin[i]];
        if (trace.consumerBegin[i] < trace.consumerBegin[i + 1]) actions.select({ kind: 'instruction', id: first }, true);
        else if (now!.kind === 'instruction' && trace.transferOf[i] !== NONE) actions.select({ kind: 'transfer', id: trace.transferOf[i] }, true);
      },
      Escape: () => {
        actions.select(null);
        props.setQuery('');
      },
    };
    if (onTimeline) {
      act.ArrowLeft = () => t.pan(-0.15);
      act.ArrowRight = () => t.pan(0.15);
    }
    const chosen = act[event.key] ?? (event.key.length === 1 ? act[event.key.toLowerCase()] : undefined);
    if (!chosen) return;
    event.preventDefault();
    chosen();
  };
  useEffect(() => {
    document.addEventListener('keydown', keys);
    return () => document.removeEventListener('keydown', keys);
  });

  const toggle = (group: string) => {
    const next = new Set(shown);
    if (!next.delete(group)) next.add(group);
    setShown(next);
  };

  return (
    <section class="card timeline" aria-label="Timeline">
      <div class="toolbar">
        <div class="search" role="search">
          <input
            ref={input}
            id="search"
            type="search"
            placeholder="Search: matmul, a tile, line:42, engine:vector, stall:dma"
            aria-label="Search instructions"
            value={query}
            onInput={(e) => props.setQuery(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === 'Enter') step(e.shiftKey ? -1 : 1);
              if (e.key === 'Escape') {
                props.setQuery('');
                canvas.current!.focus();
              }
            }}
          />
          <output id="matches" aria-live="polite">
            {matches ? `${count(matches.found)} found` : ''}
          </output>
          {matches && matches.found > 0 && (
            <span class="buttons">
              <button onClick={() => step(-1)} aria-label="Previous match" title="Previous match (Shift+N)">{'\u2191'}</button>
              <button onClick={() => step(1)} aria-label="Next match" title="Next match (N)">{'\u2193'}</button>
            </span>
          )}
        </div>
        <span class="spacer" />
        <label class="switch">
          <input type="checkbox" checked={showPath} onChange={(e) => setShowPath(e.currentTarget.checked)} /> mark the critical path
        </label>
        <span class="buttons" role="group" aria-label="Zoom">
          <button onClick={() => timeline.current!.zoom(1.5)} aria-label="Zoom out" title="Zoom out (-)">{'\u2212'}</button>
          <button onClick={() => timeline.current!.zoom(1 / 1.5)} aria-label="Zoom in" title="Zoom in (+)">+</button>
          <button
            onClick={() => {
              const t = timeline.current!;
              t.setView(t.whole().from, t.whole().until);
            }}
            title="The whole run (0)"
          >
            All
          </button>
        </span>
      </div>
      <div class="timeline-body">
        <div class="chart">
          <div class="strip">
            <span class="strip-label quiet">whole run</span>
            <div class="strip-canvas">
              <canvas ref={strip} aria-label="How busy the engines are over the whole run, and the part in view" role="img" />
            </div>
          </div>
          <div class="rows">
            <Gutter model={model} groups={groups} shown={shown} toggle={toggle} />
            <div class="canvas">
              <canvas
                ref={canvas}
                id="timeline"
                tabIndex={0}
                role="application"
                aria-label="Timeline of the engines. Plus and minus zoom, arrows pan, P follows a dependency; the selection is read out beside it."
              />
            </div>
          </div>
        </div>
        <Inspector model={model} item={selected} actions={actions} />
      </div>
      {hit && <Tip model={model} {...hit} />}
    </section>
  );
}

function around(view: View): [number, number] {
  const margin = Math.max(4, (view.until - view.from) * 0.4);
  return [view.from - margin, view.until + margin];
}

function Gutter({ model, groups, shown, toggle }: { model: Model; groups: string[]; shown: Set<string>; toggle: (g: string) => void }) {
  return (
    <div class="gutter" style={{ paddingTop: `${layoutSizes.axisHeight + layoutSizes.gap}px` }}>
      {groups.map((group) => (
        <div key={group}>
          <button class="group" style={{ height: `${layoutSizes.groupHeight}px` }} aria-expanded={shown.has(group)} onClick={() => toggle(group)}>
            <span class="chevron" aria-hidden="true" /> {group}
          </button>
          {shown.has(group) &&
            model.rows
              .filter((r) => r.group === group)
              .map((row, k) => (
                <div class="row-label" key={k} title={row.title} style={{ height: `${row.height}px`, marginBottom: `${row.space}px` }}>
                  {row.label !== '' && <span class="swatch" style={{ background: `var(${row.color})` }} />}
                  {row.label}
                </div>
              ))}
        </div>
      ))}
    </div>
  );
}

function Tip({ model, hit, x, y }: { model: Model; hit: Hit; x: number; y: number }) {
  const { trace } = model;
  const below = y < window.innerHeight - 240;
  const widest = Math.min(tipWidth, window.innerWidth - 16);
  const left = x + 14 + widest < window.innerWidth ? x + 14 : Math.max(8, x - 14 - widest);
  const style = {
    maxWidth: `${widest}px`,
    left: `${left}px`,
    top: below ? `${y + 16}px` : undefined,
    bottom: below ? undefined : `${window.innerHeight - y + 12}px`,
  };
  const t = trace.us(hit.t);
  if (hit.item) {
    const i = hit.item.kind === 'instruction' ? hit.item.id : trace.transferInstruction[hit.item.id];
    return (
      <div class="tip" role="tooltip" style={style}>
        <strong>{itemTitle(trace, hit.item)}</strong> <span class="quiet">{trace.place(i)}</span>
        {hit.span !== undefined && (
          <p>
            DMA engine {trace.spanEngine[hit.span]}: {bytes(trace.spanBytes[hit.span])} in {time(trace.us(trace.spanEnd[hit.span] - trace.spanBegin[hit.span]))}
          </p>
        )}
        {hit.step !== undefined && (
          <p>
            On the critical path: {stepText(trace.header.step_kinds[trace.pathKind[hit.step]])}, {time(trace.us(trace.pathEnd[hit.step] - trace.pathBegin[hit.step]))}
          </p>
        )}
        <ItemFacts model={model} item={hit.item} brief />
      </div>
    );
  }
  if (hit.tile !== undefined) {
    const k = hit.tile;
    return (
      <div class="tip" role="tooltip" style={style}>
        <strong>{trace.header.texts[trace.tileText[k]]}</strong>
        <p>
          {hit.row.label.split(' ')[0]} bytes {count(trace.tileOffset[k])} to {count(trace.tileOffset[k] + trace.tileBytes[k] - 1)} of {trace.tilePartitions[k]} partitions
          <br />
          in use {time(trace.us(trace.tileFrom[k]))} to {time(trace.us(trace.tileUntil[k]))}
        </p>
      </div>
    );
  }
  return (
    <div class="tip" role="tooltip" style={style}>
      <strong>{hit.value}</strong> <span class="quiet">{hit.row.title}, at {moment(t, 0.001)} us</span>
    </div>
  );
}

// Wheel, drag, pinch and click on the canvas. Returns what removes the listeners.
function listen(
  canvas: HTMLCanvasElement,
  timeline: Timeline,
  on: { hover: (hit: Hit | null, x: number, y: number) => void; click: (hit: Hit | null) => void },
): () => void {
  const pointers = new Map<number, number>(); // x by pointer
  let moved = 0;
  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) timeline.pan(sideways / canvas.clientWidth);
    else timeline.zoom(Math.exp(event.deltaY * 0.0015), timeline.timeAt(place(event).x));
  };
  const down = (event: PointerEvent) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.clientX);
    if (pointers.size === 1) moved = 0;
  };
  const move = (event: PointerEvent) => {
    const before = pointers.get(event.pointerId);
    const { x, y } = place(event);
    if (before === undefined) return on.hover(timeline.hit(x, y), event.clientX, event.clientY);
    const by = event.clientX - before;
    moved += Math.abs(by);
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)![1];
      const factor = Math.abs(before - other) / Math.max(8, Math.abs(event.clientX - other));
      timeline.zoom(factor, timeline.timeAt(other - canvas.getBoundingClientRect().left));
    } else if (moved > 3) {
      canvas.classList.add('dragging');
      on.hover(null, 0, 0);
      timeline.pan(-by / canvas.clientWidth);
    }
    pointers.set(event.pointerId, event.clientX);
  };
  const up = (event: PointerEvent) => {
    pointers.delete(event.pointerId);
    canvas.classList.remove('dragging');
    const { x, y } = place(event);
    if (moved <= 3 && event.type === 'pointerup') on.click(timeline.hit(x, y));
  };
  const leave = () => on.hover(null, 0, 0);
  canvas.addEventListener('wheel', wheel, { passive: false });
  canvas.addEventListener('pointerdown', down);
  canvas.addEventListener('pointermove', move);
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('pointerleave', leave);
  return () => {
    canvas.removeEventListener('wheel', wheel);
    canvas.removeEventListener('pointerdown', down);
    canvas.removeEventListener('pointermove', move);
    canvas.removeEventListener('pointerup', up);
    canvas.removeEventListener('pointercancel', up);
    canvas.removeEventListener('pointerleave', leave);
  };
}

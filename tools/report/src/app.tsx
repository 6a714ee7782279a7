import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, percent, time, unbroken } from './format';
import type { Actions, Model } from './model';
import { Advice } from './panels/advice';
import { Bounds } from './panels/bounds';
import { Dma } from './panels/dma';
import { Engines } from './panels/engines';
import { Metrics } from './panels/metrics';
import { Path } from './panels/path';
import { Source, type Shown } from './panels/source';
import { Utilisation } from './panels/utilisation';
import type { View } from './scene';
import { TimelineView } from './timelineview';
import { baseName, type Item } from './trace';

type Theme = 'system' | 'light' | 'dark';

export function App({ model }: { model: Model }) {
  const { trace, profile } = model;
  const [selected, setSelected] = useState<Item | null>(null);
  const [revealed, setRevealed] = useState(0);
  const [query, setQuery] = useState('');
  const [view, setView] = useState<View>({ from: 0, until: trace.header.total });
  const [line, setLine] = useState<Shown | null>(null);
  const [tab, setTab] = useState('engines');
  const [theme, shownTheme, setTheme] = useTheme();
  const frame = useRef(0);

  const actions: Actions = useMemo(
    () => ({
      select: (item, reveal) => {
        setSelected(item);
        setRevealed((n) => (reveal ? n + 1 : 0));
      },
      search: setQuery,
      showLine: (file, number) => {
        setLine({ file, line: number });
        setTab('source');
      },
    }),
    [],
  );
  // The panels follow the timeline once per frame at most.
  const onView = (next: View) => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => setView(next));
  };

  const tabs: [string, string, () => preact.VNode][] = [
    ['engines', 'Engines', () => <Engines model={model} actions={actions} />],
    ['source', 'Source', () => <Source model={model} actions={actions} shown={line} setShown={setLine} />],
    ['utilisation', 'Utilisation', () => <Utilisation model={model} view={view} />],
    ['bounds', 'Bounds', () => <Bounds model={model} />],
    ['path', 'Critical path', () => <Path model={model} actions={actions} />],
    ['advice', 'Advice', () => <Advice model={model} actions={actions} />],
    ['dma', 'DMA', () => <Dma model={model} />],
    ['metrics', 'Metrics', () => <Metrics model={model} />],
  ];

  return (
    <>
      <header class="top">
        <div class="title">
          <h1>{baseName(profile.kernel)}</h1>
          <span class="quiet">
            {profile.machine.name}, {profile.mode}
          </span>
        </div>
        <span class="spacer" />
        <ThemeSwitch theme={theme} setTheme={setTheme} />
      </header>
      <main>
        {profile.partial && (
          <p class="partial" role="alert">
            The run ended early: {profile.message}. Everything below is of the part that ran.
          </p>
        )}
        <p class="sentence">{unbroken(profile.verdict.sentence)}</p>
        <Figures model={model} />
        <TimelineView
          model={model}
          actions={actions}
          selected={selected}
          revealed={revealed}
          query={query}
          setQuery={setQuery}
          onView={onView}
          theme={shownTheme}
        />
        <section class="card panels">
          <Tabs tabs={tabs.map(([id, name]) => [id, name])} tab={tab} setTab={setTab} />
          <div class="panel" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`} tabIndex={0}>
            {tabs.find(([id]) => id === tab)![2]()}
          </div>
        </section>
      </main>
      <footer class="quiet">
        <code>{profile.command_line}</code>
        <span>ncemu {profile.version} ({profile.commit}), machine {profile.machine.name} {profile.machine.config_hash}</span>
      </footer>
    </>
  );
}

function Figures({ model }: { model: Model }) {
  const { trace, profile } = model;
  const total = profile.total_us || 1;
  const busiest = profile.engines.reduce((a, b) => (b.busy_us > a.busy_us ? b : a));
  const metric = (label: string, name: string): [string, string, string][] => {
    const value = profile.metrics[name];
    return typeof value === 'number' ? [[label, percent(value / 100), name]] : [];
  };
  const figures: [string, string, string][] = [
    ['total', time(profile.total_us), 'from the first start to the last completion'],
    ['busiest engine', `${busiest.engine} ${percent(busiest.busy_us / total)}`, 'busy share of the total'],
    ['DMA active', percent(profile.dma.active_us / total), 'share of the total in which any DMA engine moves bytes'],
    ...metric('MFU', 'mfu_estimated_percent'),
    ...metric('MBU', 'mbu_estimated_percent'),
    ['instructions', count(trace.count), 'executed'],
    ['transfers', count(trace.transfers), 'DMA transfers'],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value, title]) => (
        <div key={name} title={title}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Tabs({ tabs, tab, setTab }: { tabs: [string, string][]; tab: string; setTab: (t: string) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (tabs.findIndex(([id]) => id === tab) + step + tabs.length) % tabs.length;
    setTab(tabs[next][0]);
    (list.current!.children[next] as HTMLElement).focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Reports" ref={list} onKeyDown={move}>
      {tabs.map(([id, name]) => (
        <button
          key={id}
          id={`tab-${id}`}
          role="tab"
          aria-selected={id === tab}
          aria-controls={`panel-${id}`}
          tabIndex={id === tab ? 0 : -1}
          onClick={() => setTab(id)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

function ThemeSwitch({ theme, setTheme }: { theme: Theme; setTheme: (t: Theme) => void }) {
  const names: [Theme, string][] = [
    ['system', 'Auto'],
    ['light', 'Light'],
    ['dark', 'Dark'],
  ];
  return (
    <span class="buttons themes" role="group" aria-label="Colours">
      {names.map(([id, name]) => (
        <button key={id} aria-pressed={theme === id} onClick={() => setTheme(id)}>
          {name}
        </button>
      ))}
    </span>
  );
}

// The reader's choice, kept where the browser allows a file to keep anything.
function useTheme(): [Theme, string, (t: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    try {
      const kept = localStorage.getItem('ncemu-theme');
      return kept === 'light' || kept === 'dark' ? kept : 'system';
    } catch {
      return 'system';
    }
  });
  const query = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), []);
  const [systemDark, setSystemDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setSystemDark(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  const shown = theme === 'system' ? (systemDark ? 'dark' : 'light') : theme;
  document.documentElement.dataset.theme = shown;
  return [
    theme,
    shown,
    (next) => {
      setTheme(next);
      try {
        localStorage.setItem('ncemu-theme', next);
      } catch {
        // A browser that keeps nothing for files forgets the choice when the page is closed.
      }
    },
  ];
}

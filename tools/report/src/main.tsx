// Opens the report: decodes the data that `ncemu` put into the page, then shows it.

import { render } from 'preact';
import { App } from './app';
import { buildModel } from './model';
import type { Profile } from './profile';
import { baseName, decode, Trace } from './trace';

const root = document.getElementById('app')!;

function embedded(id: string): string {
  const text = document.getElementById(id)?.textContent ?? '';
  if (text.trim() === '' || text.startsWith('<!--')) throw new Error('the page has no data: it is written by `ncemu profile --html`');
  return text;
}

async function open(): Promise<void> {
  const begin = performance.now();
  const trace = new Trace(await decode(embedded('ncemu-trace')));
  const profile = JSON.parse(embedded('ncemu-profile')) as Profile;
  const model = buildModel(trace, profile);
  document.title = `${baseName(profile.kernel)} \u2013 ncemu profile`;
  root.replaceChildren();
  render(<App model={model} />, root);
  root.dataset.ready = (performance.now() - begin).toFixed(0); // milliseconds, for the tests of the page
}

open().catch((error: unknown) => {
  root.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  root.className = 'failed';
  console.error(error);
});

// Builds src/ into one file, dist/report.html (or the path given): style and script inside, data put in by `ncemu`.
// Same sources and same versions give the same bytes.
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(dirname(fileURLToPath(import.meta.url)));
const target = process.argv[2] ?? 'dist/report.html';

const packages = new Set(); // whose code the page contains

async function bundle(entry) {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'iife',
    target: 'es2022',
    charset: 'ascii',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  });
  for (const input of Object.keys(result.metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  return result.outputFiles[0].text.trim();
}

const script = await bundle('src/main.tsx');
const style = await bundle('src/style.css');
if (/<\/script/i.test(script) || /<\/style/i.test(style)) throw new Error('the bundle would end its own element');
// Their licences ask to be kept with the code.
const licences = [...packages].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'));
  return `${name} ${version} (${license})\n\n${readFileSync(`node_modules/${name}/LICENSE`, 'utf8').trim()}`;
});
if (/<\/script/i.test(licences.join())) throw new Error('a licence would end its own element');
const page = readFileSync('src/page.html', 'utf8')
  .replace('/* style */', () => style)
  .replace('/* script */', () => script)
  .replace('/* licences */', () => licences.join('\n\n'));
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, page);

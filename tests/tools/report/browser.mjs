// Reports opened in headless Chromium, and what its user does there. Complaints of the page are kept: a test that ends
// with one has failed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { NCEMU, NCEMU_SOURCE_DIR, NCEMU_TEST_DIR, NCEMU_CHROMIUM } = process.env;
const require = createRequire(join(NCEMU_SOURCE_DIR, 'tools/report/package.json'));
const { chromium } = require('playwright-core');

// Chromium refuses its sandbox to root, whom containers run as. The page is our own.
export function launch() {
  return chromium.launch({ executablePath: NCEMU_CHROMIUM, args: ['--no-sandbox'] });
}

// Runs the command in the root of the sources; `code` is what it ends with.
export function ncemu(words, code = 0) {
  const run = spawnSync(NCEMU, words, { cwd: NCEMU_SOURCE_DIR, encoding: 'utf8' });
  assert.equal(run.status, code, `ncemu ${words.join(' ')}: ${run.stderr}`);
}

export function scratch(name) {
  return join(NCEMU_TEST_DIR, name);
}

// Runs `ncemu profile` and returns where the page is, and its JSON.
export function profile(name, words, code = 0) {
  const html = scratch(`${name}.html`);
  const json = scratch(`${name}.json`);
  ncemu(['profile', ...words, '--html', html, `--json=${json}`], code);
  return { html, json: JSON.parse(readFileSync(json, 'utf8')) };
}

export class Report {
  complaints = [];
  requests = [];

  static async open(browser, html, options = {}) {
    const report = new Report();
    report.page = await browser.newPage({ viewport: { width: 1440, height: 900 }, ...options });
    report.page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) report.complaints.push(message.text());
    });
    report.page.on('pageerror', (error) => report.complaints.push(error.message));
    report.page.on('request', (request) => report.requests.push(request.url()));
    const begin = performance.now();
    await report.page.goto(pathToFileURL(html).href);
    await report.page.waitForSelector('#app[data-ready]');
    await report.drawn();
    report.opened = performance.now() - begin; // milliseconds
    return report;
  }

  async close() {
    await this.page.close();
    assert.deepEqual(this.complaints, [], 'the page complained');
    assert.deepEqual(this.requests.filter((url) => !/^(file|data|blob):/.test(url)), [], 'the page asked the network');
  }

  // When what was asked for is on the screen.
  async drawn() {
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  // Until it holds; a page forbids the browser's own way of waiting, which is to evaluate texts.
  async eventually(what, holds, argument) {
    const end = performance.now() + 10_000;
    while (!(await this.page.evaluate(holds, argument))) {
      assert.ok(performance.now() < end, `never came: ${what}`);
      await this.drawn();
    }
  }

  view() {
    return this.page.evaluate(() => ({ ...window.ncemu.timeline.view }));
  }
  // The value of a function of the timeline.
  timeline(body, argument) {
    return this.page.evaluate(`(${body})(window.ncemu.timeline, ${JSON.stringify(argument)})`);
  }
  text(selector) {
    return this.page.locator(selector).first().innerText();
  }

  // The share of a row's pixels that something is drawn on.
  async painted(row) {
    return this.timeline((timeline, label) => {
      const laid = timeline.laid.find((l) => l.row.label === label);
      const { canvas, scale } = timeline;
      const copy = new OffscreenCanvas(canvas.width, 8).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, -Math.round((laid.y + 2) * scale));
      const { data } = copy.getImageData(0, 0, canvas.width, 8);
      let drawn = 0;
      for (let i = 4; i < data.length; i += 4) if ([0, 1, 2].some((k) => data[i + k] !== data[k])) drawn++;
      return drawn / (data.length / 4);
    }, row);
  }

  // Where an instruction is on the screen.
  async point(instruction) {
    return this.timeline((timeline, id) => {
      const box = timeline.box({ kind: 'instruction', id });
      const canvas = timeline.canvas.getBoundingClientRect();
      return { x: canvas.left + (box.x0 + box.x1) / 2, y: canvas.top + box.y + box.h / 2 };
    }, instruction);
  }

  async search(words) {
    await this.timeline((timeline) => (timeline.matches = undefined));
    await this.page.fill('#search', words);
    await this.eventually(`matches of ${words}`, () => window.ncemu.timeline.matches !== undefined);
    await this.drawn();
    return Number((await this.text('#matches')).replace(/\D/g, ''));
  }
}

// The page of `ncemu profile --html` in headless Chromium: what it shows agrees with the JSON of the same run, and what
// its user does works, for the FP8 GEMM and for a run of 200,000 instructions.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch, ncemu, profile, Report, scratch } from './browser.mjs';

// Milliseconds, with room for a busy machine: an idle one with two cores opens in 900 and draws a frame in 5.
const opensWithin = 8000;
const frameWithin = 50;

const gemm = profile('gemm', ['kernels/fp8_gemm.nca']);
const long = profile('long', ['kernels/fp8_gemm.nca', '-D', 'M=18432', '-D', 'N=8192', '-D', 'K=8192']);

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const count = (mnemonic, run) => run.json.engines.flatMap((e) => e.opcodes).find((o) => o.mnemonic === mnemonic).count;

test('the report of the FP8 GEMM opens with its sentence and draws what ran', async () => {
  const report = await Report.open(browser, gemm.html);
  assert.equal((await report.text('.sentence')).replaceAll('\u00a0', ' '), gemm.json.verdict.sentence);
  const busy = Object.fromEntries(gemm.json.engines.map((e) => [e.engine, e.busy_us / gemm.json.total_us]));
  // The tensor engine is busy for most of the run, vector never; pixels that a slice covers in part are painted too.
  assert.ok((await report.painted('tensor')) > busy.tensor * 0.9);
  assert.equal(busy.vector, 0);
  const rule = 0.03; // the marks of the axis run through the rows
  assert.ok((await report.painted('vector')) < rule);
  await report.close();
});

test('zooming by wheel keeps the moment under the pointer, dragging moves it, 0 shows all', async () => {
  const report = await Report.open(browser, gemm.html);
  const whole = await report.view();
  const canvas = await report.page.locator('#timeline').boundingBox();
  const at = { x: canvas.x + canvas.width * 0.3, y: canvas.y + 60 };
  const under = () => report.timeline((timeline, x) => timeline.timeAt(x), canvas.width * 0.3);
  await report.page.mouse.move(at.x, at.y);
  const moment = await under();
  await report.page.mouse.wheel(0, -600);
  await report.eventually('a shorter view', (length) => window.ncemu.timeline.view.until - window.ncemu.timeline.view.from < length / 2, whole.until - whole.from);
  const near = await report.view();
  assert.ok(Math.abs((await under()) - moment) < (near.until - near.from) / 200);

  await report.page.mouse.down();
  await report.page.mouse.move(at.x + 100, at.y, { steps: 4 });
  await report.page.mouse.up();
  const dragged = await report.view();
  const expected = (near.until - near.from) * (100 / canvas.width);
  assert.ok(Math.abs(near.from - dragged.from - expected) < expected / 20);

  await report.page.keyboard.press('0');
  const again = await report.view();
  assert.ok(Math.abs(again.from - whole.from) < 1 && Math.abs(again.until - whole.until) < 1);
  await report.page.keyboard.press('+');
  const closer = await report.view();
  assert.ok(closer.until - closer.from < again.until - again.from);
  await report.close();
});

test('searching counts what ran and leads from one match to the next', async () => {
  const report = await Report.open(browser, gemm.html);
  assert.equal(await report.search('load_stationary'), count('load_stationary', gemm));
  assert.equal(await report.search('engine:sync'), gemm.json.engines.find((e) => e.engine === 'sync').instruction_count);
  const line = gemm.json.source.find((r) => r.kind === 'line' && r.text.startsWith('matmul '));
  assert.equal(await report.search(`line:${line.first_line}@gemm_schedule.nca`), line.instruction_count);
  assert.equal(await report.search('matmul w[:, 1, '), await report.timeline((t) => {
    const { trace } = t;
    let n = 0;
    for (let i = 0; i < trace.count; i++) {
      if (trace.mnemonic(i) === 'matmul' && trace.operands(i).some((o) => o.text.startsWith('w[:, 1, '))) n++;
    }
    return n;
  }));
  await report.page.press('#search', 'Enter');
  const first = await report.text('.inspector h3');
  await report.page.press('#search', 'Enter');
  const second = await report.text('.inspector h3');
  const number = (title) => Number(/^matmul #(\d+)$/.exec(title)[1]);
  assert.ok(number(second) > number(first));
  assert.equal(await report.search('no_such_word'), 0);
  await report.close();
});

test('hovering shows operands and times, a click selects, following leads to the producer', async () => {
  const report = await Report.open(browser, gemm.html);
  // The first matmul that waited for a transfer.
  const waiting = await report.timeline((t) => {
    const { trace } = t;
    for (let i = 0; i < trace.count; i++) {
      const producer = trace.producer[i];
      if (trace.mnemonic(i) === 'matmul' && producer < trace.count && trace.transferOf[producer] < trace.transfers) return { id: i, producer };
    }
    return null;
  });
  assert.notEqual(waiting, null);
  const extent = await report.timeline((t, id) => t.extent({ kind: 'instruction', id }), waiting.id);
  await report.timeline((t, e) => t.setView(e.from - 2000, e.until + 2000), extent);
  await report.drawn();
  const at = await report.point(waiting.id);
  await report.page.mouse.move(at.x, at.y);
  await report.page.waitForSelector('.tip');
  const tip = await report.text('.tip');
  assert.match(tip, new RegExp(`matmul #${waiting.id}`));
  assert.match(tip, /moving\s+w\[:, \d, /);
  assert.match(tip, /waited\s+.*for a transfer/);

  await report.page.mouse.click(at.x, at.y);
  assert.equal(await report.text('.inspector h3'), `matmul #${waiting.id}`);
  await report.page.mouse.click(at.x, at.y); // again: follows
  assert.equal(await report.text('.inspector h3'), `dma_copy #${waiting.producer}`);
  assert.match(await report.text('.inspector'), /Released/);
  await report.page.keyboard.press('c'); // and back to what it released
  assert.equal(await report.text('.inspector h3'), `matmul #${waiting.id}`);
  await report.page.click('#to-producer');
  assert.equal(await report.text('.inspector h3'), `dma_copy #${waiting.producer}`);
  await report.page.keyboard.press('Escape');
  assert.equal(await report.text('.inspector h3'), 'Nothing selected');
  await report.close();
});

test('the panels show the figures of the profile', async () => {
  const { json } = gemm;
  const report = await Report.open(browser, gemm.html);
  const panel = async (name) => {
    await report.page.click(`#tab-${name}`);
    return report.text(`#panel-${name}`);
  };
  const engines = await panel('engines');
  for (const e of json.engines) assert.ok(engines.includes(e.engine));
  assert.equal(await report.page.locator('#panel-engines .list tbody tr').count(), Math.min(24, json.stalls.length));
  const source = await panel('source');
  const hottest = json.source.filter((r) => r.kind === 'line' && r.own_instruction_count).reduce((a, b) => (b.critical_us > a.critical_us ? b : a));
  assert.ok(source.includes(hottest.critical_us.toFixed(3)));
  assert.ok(source.includes(hottest.text));
  const bounds = await panel('bounds');
  for (const rung of json.bounds.kernel) assert.ok(bounds.includes(rung.name) && (!rung.gap || rung.us === null || bounds.includes(rung.gap)));
  assert.ok((await report.page.locator('#panel-bounds svg text').allTextContents()).some((t) => t.includes('of the roof')));
  assert.ok((await panel('path')).includes(`${json.critical_path.step_count} steps`));
  const advice = await panel('advice');
  for (const a of json.advice) assert.ok(advice.includes(a.finding) && advice.includes(a.suggestion));
  for (const w of json.what_if) assert.ok(advice.includes(w.question));
  assert.ok((await panel('dma')).includes(`${json.dma.transfer_count} transfers`));
  const metrics = await panel('metrics');
  for (const [name, value] of Object.entries(json.metrics)) if (value !== null) assert.ok(metrics.includes(name), name);
  // A window of the run: the figures follow the view.
  const shown = await panel('utilisation');
  await report.timeline((t) => t.setView(0, t.trace.header.total / 8));
  await report.eventually('other figures', (before) => document.getElementById('panel-utilisation').innerText !== before, shown);
  // From a wait to the instruction that waited the longest.
  await report.page.click('#tab-engines');
  await report.page.locator('#panel-engines .rowlink').first().click();
  assert.match(await report.text('.inspector'), new RegExp(`${json.stalls[0].place.line}`));
  await report.close();
});

test('busy and stalled time that the page counts is that of the profile, to the tick', async () => {
  for (const run of [gemm, long]) {
    const report = await Report.open(browser, run.html);
    const counted = await report.page.evaluate(() => {
      const { trace, accounts, rows } = window.ncemu.model;
      return accounts.map((account, e) => {
        const stalled = Object.fromEntries(trace.header.reasons.slice(1).map((reason) => [reason, 0]));
        account.stalled.id.forEach((i, k) => (stalled[trace.header.reasons[trace.reason[i]]] += account.stalled.end[k] - account.stalled.begin[k]));
        const drawn = rows.filter((r) => r.item === 'instruction' && r.color === `--${trace.header.engines[e]}`);
        return {
          busy: account.busy.before.at(-1),
          stalled,
          drawn: drawn.reduce((n, r) => n + r.slices.id.length, 0),
        };
      });
    });
    run.json.engines.forEach((engine, e) => {
      assert.equal(counted[e].busy, engine.ticks.busy, engine.engine);
      assert.deepEqual(counted[e].stalled, engine.ticks.stalled, engine.engine);
      assert.equal(counted[e].drawn, engine.instruction_count, engine.engine);
    });
    await report.close();
  }
});

test('the memory map says what lies at an address', async () => {
  const report = await Report.open(browser, gemm.html);
  const at = await report.timeline((timeline) => {
    const laid = timeline.laid.find((l) => l.row.label === 'PSUM map');
    const { trace } = timeline;
    const tile = Array.from(trace.tileSpace).indexOf(1);
    const canvas = timeline.canvas.getBoundingClientRect();
    const address = trace.tileOffset[tile] + trace.tileBytes[tile] / 2;
    return {
      name: trace.header.texts[trace.tileText[tile]],
      x: canvas.left + timeline.xAt((trace.tileFrom[tile] + trace.tileUntil[tile]) / 2),
      y: canvas.top + laid.y + (address / trace.header.psum_bytes) * laid.row.height,
      top: canvas.top + laid.y,
    };
  });
  await report.page.mouse.wheel(0, at.top - 300);
  const scrolled = await report.page.evaluate(() => new Promise((done) => setTimeout(() => done(window.scrollY), 100)));
  await report.page.mouse.move(at.x, at.y - scrolled);
  await report.page.waitForSelector('.tip');
  const tip = await report.text('.tip');
  assert.ok(tip.startsWith(at.name), tip);
  assert.match(tip, /PSUM bytes [\d,]+ to [\d,]+ of 128 partitions/);
  await report.close();
});

test('a run that ended early says so, and a kernel without text or without work has a page', async () => {
  const part = profile('part', ['kernels/fp8_gemm.nca', '--max-instructions', '60'], 1);
  let report = await Report.open(browser, part.html);
  assert.ok((await report.text('.partial')).includes(part.json.message));
  await report.page.click('#tab-advice');
  assert.match(await report.text('#panel-advice'), /no advice/);
  await report.close();

  writeFileSync(scratch('gone.nca'), '.sbuf t : f32[128, 8]\nmemset t, value = 1.0\n');
  ncemu(['asm', scratch('gone.nca'), '-o', scratch('gone.ncb')]);
  rmSync(scratch('gone.nca'));
  report = await Report.open(browser, profile('gone', [scratch('gone.ncb')]).html);
  await report.page.click('#tab-source');
  assert.match(await report.text('#panel-source'), /gone\.nca could not be read/);
  await report.close();

  writeFileSync(scratch('nothing.nca'), '.machine trn1\nnop\n');
  report = await Report.open(browser, profile('nothing', [scratch('nothing.nca')]).html);
  for (const tab of await report.page.locator('[role=tab]').all()) await tab.click();
  await report.close();
});

test('the colours follow the system and the switch, and nothing reaches beyond a narrow window', async () => {
  for (const scheme of ['light', 'dark']) {
    const report = await Report.open(browser, gemm.html, { colorScheme: scheme, viewport: { width: 400, height: 800 } });
    const background = () => report.page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
    assert.equal((await background()) > 128, scheme === 'light');
    for (const tab of await report.page.locator('[role=tab]').all()) {
      await tab.click();
      const widths = await report.page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      assert.ok(widths[0] <= widths[1], `${await tab.innerText()}: ${widths}`);
    }
    await report.page.getByRole('button', { name: scheme === 'light' ? 'Dark' : 'Light' }).click();
    assert.equal((await background()) > 128, scheme !== 'light');
    await report.close();
  }
});

test('texts stand out from what they stand on, light and dark', async () => {
  // WCAG 2.1, 1.4.3: 4.5 to 1 for texts of this size.
  for (const scheme of ['light', 'dark']) {
    const report = await Report.open(browser, gemm.html, { colorScheme: scheme });
    const low = await report.page.evaluate(() => {
      const parts = (color) => color.match(/[\d.]+/g).map(Number);
      const luminance = (color) => {
        const [r, g, b] = parts(color).slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const { backgroundColor } = getComputedStyle(at);
          const alpha = parts(backgroundColor)[3] ?? 1;
          if (alpha === 1) return backgroundColor;
        }
        return 'rgb(255, 255, 255)';
      };
      const found = new Set();
      const walk = document.createTreeWalker(document.getElementById('app'), NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const element = walk.currentNode.parentElement;
        if (walk.currentNode.textContent.trim() === '' || element.closest('svg')) continue;
        const [low, high] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((a, b) => a - b);
        const ratio = (high + 0.05) / (low + 0.05);
        if (ratio < 4.5) found.add(`${element.tagName} ${element.className}: ${ratio.toFixed(2)}`);
      }
      return [...found];
    });
    assert.deepEqual(low, []);
    await report.close();
  }
});

test('a run of 200,000 instructions opens, searches, zooms and pans without freezing', async (t) => {
  assert.ok(long.json.instruction_count >= 190_000, `${long.json.instruction_count} instructions`);
  const report = await Report.open(browser, long.html);
  t.diagnostic(`opened in ${report.opened.toFixed(0)} ms`);
  assert.ok(report.opened < opensWithin, `opened in ${report.opened} ms`);
  assert.ok((await report.painted('tensor')) > 0.9);
  const begin = performance.now();
  assert.equal(await report.search('matmul'), count('matmul', long));
  t.diagnostic(`searched in ${(performance.now() - begin).toFixed(0)} ms`);
  // Frames of a zoom from the whole run to a few instructions and of a drag there: how long drawing takes.
  const frames = await report.timeline(async (timeline) => {
    const taken = [];
    const draw = timeline.draw;
    timeline.draw = () => {
      const from = performance.now();
      draw.call(timeline);
      taken.push(performance.now() - from);
    };
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let k = 0; k < 40; k++) {
      timeline.zoom(0.75, timeline.trace.header.total * 0.4);
      await frame();
    }
    for (let k = 0; k < 20; k++) {
      timeline.pan(0.05);
      await frame();
    }
    await frame();
    return taken.sort((a, b) => a - b);
  });
  const median = frames[frames.length >> 1];
  t.diagnostic(`a frame takes ${median.toFixed(1)} ms to draw, the slowest of ${frames.length} ${frames.at(-1).toFixed(1)} ms`);
  assert.ok(frames.length >= 50 && median < frameWithin, `a frame takes ${median} ms`);
  await report.search('matmul stall:dma');
  await report.page.press('#search', 'Enter');
  assert.match(await report.text('.inspector h3'), /^matmul #\d+$/);
  await report.page.click('#to-producer');
  assert.match(await report.text('.inspector h3'), /^dma_copy #\d+$/);
  await report.close();
});

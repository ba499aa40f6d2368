// Looks at pages in a real browser and tells what is there, as JSON on stdout.
//
//   node look.mjs BASE TOKEN PULL_PATH [FOLDER_FOR_SCREENSHOTS]
import { chromium } from 'playwright-core';

const [base, token, pull, shots] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.COUNTERSIGN_CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
});

async function look(page, name, path) {
  const errors = [];
  const onConsole = message => { if (message.type() === 'error') errors.push(message.text()); };
  const onFailed = request => errors.push(`not loaded: ${request.url()}`);
  page.on('console', onConsole).on('requestfailed', onFailed);
  if (path) await page.goto(base + path);
  const seen = await page.evaluate(() => ({
    title: document.title,
    headings: [...document.querySelectorAll('h1')].map(one => one.textContent.trim()),
    text: document.body.innerText,
    overflows: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    styled: getComputedStyle(document.body).fontFamily !== '' && document.styleSheets.length > 0,
    unlabelled: [...document.querySelectorAll('input:not([type=hidden])')].filter(one => !one.labels.length).length,
    elsewhere: [...document.querySelectorAll('[src],link[href]')].map(one => one.src || one.href).filter(one => !one.startsWith(location.origin)),
  }));
  if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
  page.off('console', onConsole).off('requestfailed', onFailed);
  return { name, status: errors, ...seen };
}

const told = [];
for (const [size, viewport] of [['wide', { width: 1280, height: 900 }], ['narrow', { width: 390, height: 844 }]]) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport, colorScheme });
    const name = `${size}-${colorScheme}`;
    told.push(await look(page, `${name}-signin`, '/'));
    await page.fill('#token', 'wrong');
    await page.click('main button');
    told.push(await look(page, `${name}-refused`));
    await page.fill('#token', token);
    await page.click('main button');
    told.push(await look(page, `${name}-dashboard`));
    await page.click(`a[href$="${pull}"]`);
    told.push(await look(page, `${name}-pull`));
    await page.close();
  }
}
await browser.close();
console.log(JSON.stringify(told));

// What a page in a real browser is like, and the browser to see it in.
import { chromium } from 'playwright-core';

export const sizes = [['wide', { width: 1280, height: 900 }], ['narrow', { width: 390, height: 844 }]];
export const schemes = ['light', 'dark'];

export const open = () => chromium.launch({
  executablePath: process.env.COUNTERSIGN_CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
});

// Does `act`, then looks at the page that stands there. Pictures go to the folder `shots`, if there is one.
export async function look(page, name, shots, act) {
  const errors = [];
  const onConsole = message => { if (message.type() === 'error') errors.push(message.text()); };
  const onFailed = request => errors.push(`not loaded: ${request.url()}`);
  page.on('console', onConsole).on('requestfailed', onFailed);
  if (act) await act();
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

// Registers the App as a person does: from the local page to GitHub's, through both buttons, and back.
// Tells what was there on the way, as JSON on stdout.
//
//   node setup.mjs ADDRESS [FOLDER_FOR_SCREENSHOTS]
import { look, open, schemes, sizes } from './see.mjs';

const [address, shots] = process.argv.slice(2);
const browser = await open();
const told = [];
const page = await browser.newPage();

// One setup is answered once: the same page is looked at in every size and colour.
async function around(name) {
  for (const [size, viewport] of sizes) {
    for (const colorScheme of schemes) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      told.push({ ...await look(page, `${size}-${colorScheme}-${name}`, shots), url: page.url() });
    }
  }
}

const complaints = [];
page.on('console', message => { if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`); });
await page.goto(address);
await around('setup');
await page.click('main button');
await page.waitForSelector('#name');
told.push({ name: 'github', text: await page.evaluate(() => document.body.innerText), proposed: await page.inputValue('#name'), url: page.url() });
await page.fill('#name', 'Gate of Acme');
await page.click('button');
await page.waitForSelector('main');
await around('registered');
const install = await page.getAttribute('main a', 'href');
await browser.close();
console.log(JSON.stringify({ told, install, errors: complaints }));

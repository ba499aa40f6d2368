// Looks at the dashboard's pages in a real browser and tells what is there, as JSON on stdout.
//
//   node look.mjs BASE TOKEN PULL_PATH [FOLDER_FOR_SCREENSHOTS]
import { look, open, schemes, sizes } from './see.mjs';

const [base, token, pull, shots] = process.argv.slice(2);
const browser = await open();
const told = [];
for (const [size, viewport] of sizes) {
  for (const colorScheme of schemes) {
    const page = await browser.newPage({ viewport, colorScheme });
    const name = `${size}-${colorScheme}`;
    told.push(await look(page, `${name}-signin`, shots, () => page.goto(base + '/')));
    await page.fill('#token', 'wrong');
    await page.click('main button');
    told.push(await look(page, `${name}-refused`, shots));
    await page.fill('#token', token);
    await page.click('main button');
    told.push(await look(page, `${name}-dashboard`, shots));
    await page.click(`a[href$="${pull}"]`);
    told.push(await look(page, `${name}-pull`, shots));
    await page.close();
  }
}
await browser.close();
console.log(JSON.stringify(told));

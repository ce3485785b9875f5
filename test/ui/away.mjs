// The database goes away: the page says so, keeps what it had, and goes on when it is back.
import { launch, open, serve, settled, tell } from './browser.mjs';

const { server, base } = await serve(process.env.TWT_WEB);
const browser = await launch();
const { page } = await open(browser, base, process.env.TWT_VIEWER);

await page.goto(base);
await settled(page);
await page.waitForSelector('.incident');
console.log('ready');
await page.waitForSelector('.trouble');
const text = await page.locator('.trouble').textContent();
tell(/does not answer/.test(text), 'the page says that the database is away', text);
tell(await page.locator('.stale .incident').count() > 0, '... and keeps its last answer, greyed');
console.log('away');
await page.waitForSelector('.trouble', { state: 'detached', timeout: 60000 });
tell(await page.locator('.stale').count() === 0, '... and goes on when it is back');
await browser.close();
server.close();

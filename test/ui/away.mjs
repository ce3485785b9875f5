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
console.log('said');
const text = await page.locator('.trouble').textContent();
tell(/gives no answer|does not answer/.test(text), 'the page says that the database is away', text);
tell(await page.locator('.stale .incident').count() > 0, '... and keeps its last answer, greyed');
await page.locator('nav a', { hasText: 'Unknown outcomes' }).click();
await page.waitForFunction(() => document.title.startsWith('Unknown') && document.querySelector('.trouble'));
const claim = await page.locator('main').textContent();
tell(!claim.includes('No outcome is unknown'), '... and does not say that there is none of what it could not read', claim);
console.log('away');
await page.waitForSelector('.trouble', { state: 'detached', timeout: 60000 });
tell(await page.locator('.stale').count() === 0, '... and goes on when it is back');
await page.waitForSelector('article');

// The database hangs: one page has a stream, and the other one asks in intervals.
const { page: poor } = await open(browser, base, process.env.TWT_VIEWER);
await poor.route('**/api/v1/stream*', (route) => route.fulfill({ status: 503, json: { type: '/problems/too-many-streams', title: 'Too many streams are open', status: 503 } }));
await Promise.all([page, poor].map(async (p) => {
	await p.goto(`${base}?page=audit`);
	await settled(p);
}));
console.log('hang');
const said = async (p, name) => {
	await p.waitForSelector('.trouble');
	console.log(`said ${name}`);
	const box = await p.locator('.trouble').textContent();
	tell(/gives no answer|does not answer/.test(box), `${name} says that the database hangs`, box);
};
await Promise.all([said(page, 'a page with a stream'), said(poor, 'a page without a stream')]);
console.log('hung');
await Promise.all([page, poor].map((p) => p.waitForSelector('.trouble', { state: 'detached' })));
tell(true, '... and both go on when it answers');
await browser.close();
server.close();

// The page hears of changes by GET /stream, ends it while it is hidden, and asks in
// intervals where there is none.
import { launch, open, serve, settled, tell } from './browser.mjs';
import { value } from './hands.mjs';

const ID = (n) => `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`;
const { server, base } = await serve(process.env.TWT_WEB);
const browser = await launch();
const is_stream = (r) => r.url().includes('/api/v1/stream');
const held = (page) => page.waitForSelector('main .facts .status:has-text("HELD")');
const hide = (page, is) => page.evaluate((hidden) => {
	Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
	document.dispatchEvent(new Event('visibilitychange'));
}, is);

// With its clock standing still, the page cannot ask by itself.
const { page } = await open(browser, base, process.env.TWT_OPERATOR);
await page.clock.install();
const begins = page.waitForRequest((r) => is_stream(r) && r.url().includes(ID(1)));
await page.goto(`${base}?page=task&id=${ID(1)}`);
await settled(page);
const request = await begins;
tell((await request.response()).headers()['content-type'].startsWith('text/event-stream'), 'the page follows the stream of a task');
await page.clock.pauseAt(new Date(await page.evaluate(() => Date.now()) + 1000));
await value(`SELECT twtasks.hold_task('${ID(1)}', 0, 'a test')`);
await held(page);
tell(true, '... and shows a change that it is told of');
const ends = page.waitForEvent('requestfailed', is_stream);
await hide(page, true);
await ends;
tell(true, 'a page that is hidden ends its stream');
const again = page.waitForRequest(is_stream);
await hide(page, false);
await again;
tell(true, '... and follows it again when it is seen');

// A server that has too many streams.
const { page: poor } = await open(browser, base, process.env.TWT_OPERATOR);
await poor.route('**/api/v1/stream*', (route) => route.fulfill({ status: 503, json: { type: '/problems/unavailable', title: 'There are too many streams', status: 503 } }));
await poor.goto(`${base}?page=task&id=${ID(2)}`);
await settled(poor);
await value(`SELECT twtasks.hold_task('${ID(2)}', 0, 'a test')`);
await held(poor);
tell(true, 'without a stream the page asks in intervals');
await browser.close();
server.close();

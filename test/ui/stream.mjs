// The page hears of changes by GET /stream, ends it while it is hidden, and asks in
// intervals where there is none.
import { setTimeout } from 'node:timers/promises';
import { alter, launch, open, serve, settled, tell } from './browser.mjs';
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

async function until(is) {
	for (const late = Date.now() + 60000; Date.now() < late && !await is();) await setTimeout(50);
}

// Time of a page passes by the test's steps alone; is ends it.
async function pass(page, is, seconds = 300) {
	for (let i = 0; i < seconds; i++) {
		if (await is()) return true;
		await page.clock.runFor(1000);
	}
	return false;
}
const standing = async (path) => {
	const { page } = await open(browser, base, process.env.TWT_OPERATOR);

	await page.addInitScript(() => {
		const real = window.fetch;
		// Notes when a stream tells of a task.
		const watch = async (body) => {
			for await (const bytes of body) window.told ||= new TextDecoder().decode(bytes).includes('event: task');
		};
		AbortSignal.timeout = () => new AbortController().signal;	// the test is slower than the page
		window.asked = [];
		window.overviews = 0;	// answered
		window.fetch = async (address, ...rest) => {
			window.asked.push({ address: String(address), at: Date.now() });
			const answer = await real(address, ...rest);
			if (String(address).includes('/overview')) answer.clone().text().then(() => window.overviews++);
			if (!answer.ok || !String(address).includes('/stream')) return answer;
			const [mine, its] = answer.body.tee();
			watch(mine).catch(() => {});
			return new Response(its, answer);
		};
	});
	await page.clock.install();
	return { page, go: () => page.goto(base + path), asked: (part) => page.evaluate((p) => window.asked.filter((a) => a.address.includes(p)).map((a) => a.at), part) };
};

// A server that fails, or a proxy before it.
const failing = await standing('?page=audit');
await failing.page.route('**/api/v1/stream*', (route) => route.fulfill({ status: 500, body: 'no' }));
await failing.go();
await settled(failing.page);
for (let i = 0; i < 10; i++) {
	await until(async () => (await failing.asked('/overview')).length === await failing.page.evaluate(() => window.overviews));
	await failing.page.clock.runFor(1000);
}
const gaps = (await failing.asked('/overview')).map((at, i, all) => at - all[i - 1]).slice(2);
await pass(failing.page, async () => (await failing.asked('/stream')).length >= 8);
const times = await failing.asked('/stream');
const pauses = times.slice(1, 8).map((at, i) => at - times[i]);
tell([1, 2, 4, 8, 16, 30, 30].every((s, i) => pauses[i] >= 1000 * s), 'a page without a stream tries again, after longer and longer pauses', pauses);
tell(gaps.some((ms) => ms < 1500), '... and asks for the overview each second', gaps);
await failing.page.unroute('**/api/v1/stream*');
await failing.page.context().close();

// The stream tells that the database is away, and breaks off.
const told = await standing('?page=audit');
let tellDown;
const held_back = [];
await told.page.route('**/api/v1/stream*', async (route) => {
	await new Promise((ready) => { tellDown = ready; });
	await route.fulfill({ status: 200, contentType: 'text/event-stream', body: 'event: overview\ndata: changed\n\nevent: down\ndata: unavailable\n\n' });
}, { times: 1 });
await told.go();
await settled(told.page);
const other = /\/api\/v1\/(?!stream)/;
await told.page.route(other, (route) => { held_back.push(route); });
// An answer to an earlier request would end it.
await until(() => held_back.some((route) => route.request().url().endsWith('overview')));
tellDown();
const box = told.page.locator('.trouble');
const said = await box.textContent();
tell(/gives no answer now, since/.test(said), 'a page says that the database is away when the stream tells it', said);
tell(await told.page.locator('.stale').count() > 0, '... and greys answers of before');
await told.page.unroute(other);
await Promise.all(held_back.map((route) => route.abort().catch(() => {})));	// or the page has given up
await pass(told.page, async () => await box.count() === 0);
tell(await box.count() === 0, '... until the database answers');
await pass(told.page, async () => (await told.asked('/stream')).length === 2);
tell((await told.asked('/stream')).length === 2, '... and follows the stream again');
await told.page.context().close();

// Answers that change although no task does.
const why = await standing(`?page=task&id=${ID(1)}`);
await alter(why.page, `**/tasks/${ID(1)}`, (task) => ({ ...task, status: 'PROCESSING' }));
const count = async () => Object.fromEntries(await Promise.all(['/why', '/life', `tasks/${ID(1)}`].map(async (p) => [p, (await why.asked(p)).length])));
const grown = async () => {
	await why.go();
	await settled(why.page);
	await until(() => why.page.evaluate(() => window.told));	// a page whose time runs ahead would miss its comments
	const before = await count();
	await pass(why.page, async () => false, 25);
	const after = await count();
	return Object.fromEntries(Object.keys(after).map((p) => [p, after[p] - before[p]]));
};
// On a busy machine a look may come too late, which the stream tells: then all is asked.
let by;
for (let i = 0; i < 5 && !(by?.['/life'] <= 1); i++) by = await grown();
tell(by['/why'] >= 4, 'why a task does not run is asked every five seconds beside a stream', JSON.stringify(by));
tell(by['/life'] <= 1, '... and its life when the stream tells a change, or after half a minute', JSON.stringify(by));
tell(by[`tasks/${ID(1)}`] >= 8 + by['/life'], '... and a task that runs may report its progress', JSON.stringify(by));
await browser.close();
server.close();

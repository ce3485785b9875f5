// The main actions, by keyboard only; and what a viewer may not see.
import { launch, open, serve, settled, tell, violations } from './browser.mjs';

const ID = (n) => `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`;
const { server, base } = await serve(process.env.TWT_WEB);
const browser = await launch();
const { page, faults } = await open(browser, base, null);
const key = (...names) => names.reduce((before, name) => before.then(() => page.keyboard.press(name)), Promise.resolve());
const type = (text) => page.keyboard.type(text);

// Tab moves to the control with that name.
async function reach(name) {
	for (let i = 0; i < 120; i++) {
		const at = await page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);
		if (at?.trim().startsWith(name)) return true;
		await key('Tab');
	}
	throw new Error(`Tab does not reach ${name}`);
}

// Gives a reason in the dialog, and waits for the note that it is done.
async function give(reason) {
	const before = await page.locator('.notices li').count();

	await page.waitForSelector('dialog[open]');
	await page.waitForFunction(() => !document.querySelector('dialog .preview, dialog [role=status]') || document.querySelector('dialog .preview'));
	for (let i = 0; i < 40 && !(await page.evaluate(() => document.activeElement.name === 'reason')); i++) await key('Tab');
	await type(reason);
	const found = await violations(page);
	await key('Enter');
	await page.waitForFunction((n) => document.querySelectorAll('.notices li').length > n || document.querySelector('dialog .trouble'), before);
	const refused = await page.locator('dialog .trouble').allTextContents();
	tell(!found, `${reason}: the dialog has no violation`, found);
	tell(!refused.length, `${reason}: done`, refused.join(' '));
	if (refused.length) await key('Escape');
}

// ---- login ----
await page.goto(`${base}?page=errors`);
await page.waitForSelector('.login input');
tell(!(await violations(page)), 'the login has no violation');
await type(`${process.env.TWT_OPERATOR}x`);
await key('Enter');
await page.waitForSelector('.login .trouble');
tell(true, 'a token that is not known is refused');
await page.waitForFunction(() => document.activeElement.tagName === 'INPUT' || document.querySelector('.login input').focus() === undefined);
await key('Control+a');
await type(process.env.TWT_OPERATOR);
await key('Enter');
await settled(page);
tell(await page.title() === 'Errors · twtasks', 'the login leads to the page that was asked for', await page.title());
const kept = await page.evaluate(() => ({ local: JSON.stringify(localStorage), cookie: document.cookie, address: location.href }));
tell(!JSON.stringify(kept).includes(process.env.TWT_OPERATOR), 'the token is in no cookie, address or lasting place', JSON.stringify(kept));

// ---- moving ----
await key('g', 'o');
await page.waitForFunction(() => document.title.startsWith('Overview'));
await key('?');
await page.waitForSelector('dialog[open] .keys');
await key('Escape');
tell(await page.locator('dialog').count() === 0, '? helps, Esc ends it');
const quick = await page.evaluate(async () => {
	const drawn = async (is) => { while (Boolean(document.querySelector('dialog')) !== is) await Promise.resolve(); };
	const field = document.getElementById('search');
	const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)));

	document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }));
	await drawn(true);
	const is_open = document.querySelector('dialog').open;
	await frame();
	document.querySelector('dialog button').click();
	await drawn(false);
	field.focus();
	await frame();
	return [is_open, document.activeElement === field].join();
});
tell(quick === 'true,true', 'a dialog takes the focus at once, and gives it back at once', quick);
await page.evaluate(() => document.activeElement.blur());
await key('/');
await type(ID(1));
await key('Enter');
await page.waitForFunction(() => document.title.startsWith('PAYOUT'));
await page.waitForSelector('.life li');
await page.waitForSelector('mark');
tell(await page.locator('mark').count() > 0, '/ finds a task; errors of its tries differ in marked words');
await reach('Resume');
await key('Enter');
await give('resumed by keyboard');

// ---- rows ----
await key('g', 't');
await page.waitForFunction(() => document.title.startsWith('Tasks'));
await page.waitForSelector('[data-row]');
await page.goto(`${base}?page=tasks&status=ERROR&type=PAYOUT%7CACME&error=bank`);
await page.waitForSelector('[data-row]');
await key('j', 'j', 'k', 'x');
tell(await page.locator('tr.chosen').count() === 1, 'j and k move, x chooses');
await reach('Hold');
await key('Enter');
await give('held by keyboard');
await reach('Fail');
await key('Enter');
await give('failed by keyboard');

// ---- unknown outcomes ----
await key('g', 'u');
await page.waitForFunction(() => document.title.startsWith('Unknown'));
await page.waitForSelector('article');
tell((await page.locator('article').first().locator('.decide button').allTextContents()).join() === 'It happened,It did not happen', 'an unknown outcome has two buttons');
await reach('It happened');
await key('Enter');
await give('it was paid');
await page.waitForFunction(() => document.querySelectorAll('article').length === 2);
await reach('It did not happen');
await key('Enter');
await give('it was not paid');

// ---- incidents, limits, pauses ----
await key('g', 'o');
await page.waitForSelector('.incident');
await reach('acknowledge');
await key('Enter');
await give('taken on by keyboard');
await key('g', 'y');
await page.waitForFunction(() => document.title.startsWith('Types'));
await page.waitForSelector('main [data-row]');
await reach('what if');
await key('Enter');
await page.waitForSelector('dialog[open]');
await reach('Reckon');
await key('Enter');
await page.waitForSelector('dialog .sentence');
tell(true, 'a limit is tried out');
await key('Escape');
await reach('set the limit PAYOUT');
await key('Enter');
await page.waitForSelector('dialog[open]');
await page.locator('dialog input[type=number]').focus();
await key('Control+a');
await type('7');
await give('limited by keyboard');
await page.goto(`${base}?page=type&type=PAYOUT%7CACME`);
await settled(page);
await reach('pause');
await key('Enter');
await give('paused by keyboard');
await key('g', 's');
await page.waitForFunction(() => document.title.startsWith('Schedules'));
await page.waitForSelector('main [data-row]');
await reach('Run now');
await key('Enter');
await give('run by keyboard');
tell(await page.locator('.notices li').count() === 2, 'no note of what was done goes away by itself');
// The token that was wrong gave 401, which the browser notes.
const loud = faults.filter((f) => !/401/.test(f));
tell(!loud.length, 'no error, and no other host', loud.join('\n'));

// ---- a viewer, and a page that is not seen ----
const viewer = await open(browser, base, process.env.TWT_VIEWER);
await viewer.page.clock.install();
await viewer.page.goto(`${base}?page=task&id=${ID(2)}`);
await settled(viewer.page);
const buttons = await viewer.page.locator('main button').allTextContents();
tell(buttons.every((text) => text === 'copy'), 'a viewer has no buttons that change', buttons.join());
tell(!(await viewer.page.content()).includes('CANARY'), '... and sees no payload');
let asked = 0;
viewer.page.on('request', () => asked++);
const hide = (is) => viewer.page.evaluate((hidden) => {
	Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
	document.dispatchEvent(new Event('visibilitychange'));
}, is);
await hide(true);
await viewer.page.waitForLoadState('networkidle');
asked = 0;
await viewer.page.clock.runFor(60000);
tell(asked === 0, 'a page that is hidden asks for nothing', asked);
await Promise.all([viewer.page.waitForResponse((r) => r.url().includes('/overview')), hide(false)]);
tell(asked > 0, '... and asks when it is seen again');

// ---- a reader: what one task carries is not shown under another ----
const { page: reader } = await open(browser, base, process.env.TWT_READER);
const search = async (n) => {
	await reader.locator('#search').fill(ID(n));
	await reader.keyboard.press('Enter');
	await reader.waitForFunction((id) => document.querySelector('.lead')?.textContent.includes(id), ID(n));
};
await reader.goto(`${base}?page=task&id=${ID(2)}`);
await settled(reader);
await search(1);
await reader.locator('button', { hasText: 'Read it' }).click();
await reader.locator('dialog input[name=reason]').fill('a test');
await reader.keyboard.press('Enter');
await reader.waitForSelector('pre[aria-label=payload]');
tell((await reader.locator('pre[aria-label=payload]').textContent()).includes('CANARY'), 'a reader sees what a task carries');
await reader.goBack();
await reader.waitForFunction((id) => document.querySelector('.lead')?.textContent.includes(id), ID(2));
tell(await reader.locator('pre[aria-label=payload]').count() === 0, '... and not under another task');

await search(73);
await reader.locator('button', { hasText: 'Read it' }).click();
await reader.locator('dialog input[name=reason]').fill('a test');
await reader.keyboard.press('Enter');
await reader.waitForSelector('pre[aria-label=payload]');
tell(await reader.locator('pre[aria-label=payload]').textContent() === '/wA=', 'bytes that are not text are shown in base64');

// ---- answers that do not come ----
const { page: rough } = await open(browser, base, process.env.TWT_OPERATOR);
await rough.goto(`${base}?page=task&id=${ID(74)}`);
await settled(rough);
let cut;
const cutting = new Promise((done) => { cut = done; });
await rough.route('**/hold', async (route) => { await cutting; await route.abort(); });
await rough.locator('.page-aside button', { hasText: 'Hold' }).click();
await rough.locator('dialog input[name=reason]').fill('never sent');
await rough.keyboard.press('Enter');
await rough.waitForSelector('dialog button:text("Working")');
await rough.keyboard.press('Escape');
await rough.keyboard.press('Escape');
// The page opens it again, where the browser has closed it.
await rough.waitForSelector('dialog[open] button:text("Working")');
cut();
await rough.waitForSelector('dialog[open] .trouble');
const broken = await rough.locator('dialog .trouble').textContent();
tell(/is not known/.test(broken) && !/Refused/.test(broken), 'a change without an answer: a dialog that stays says that its end is not known', broken);
await rough.route('**/api/v1/unknown*', (route) => route.fulfill({ status: 200, contentType: 'text/html', body: '<p>Log in' }));
await rough.goto(`${base}?page=unknown`);
await rough.waitForSelector('.trouble');
tell(!(await rough.locator('main').textContent()).includes('No outcome is unknown'), 'a page of a proxy is no answer');

await rough.unroute('**/api/v1/unknown*');
await rough.route('**/api/v1/unknown*', (route) => route.fulfill({ json: { items: [], cursor: 'next', total: 120 } }));
await rough.goto(`${base}?page=unknown`);
await rough.waitForSelector('.pager a[href*="cursor=next"]');
tell((await rough.locator('.pager').textContent()).includes('120 in all'), 'a list that is cut says so, and goes on');
await rough.route('**/kind-machines/*', (route) => route.abort(), { times: 1 });
await rough.goto(`${base}?page=kind&kind=transfer`);
await rough.waitForSelector('.trouble');
await rough.waitForSelector('.trouble', { state: 'detached' });
tell(true, 'an answer that is asked for once is asked for again after a failure');

// ---- values that are rare ----
await rough.goto(`${base}?page=task&id=${ID(71)}`);
await rough.waitForSelector('.facts');
tell((await rough.locator('.facts').textContent()).includes('12000'), 'a year that JavaScript does not read is shown');
await rough.goto(`${base}?page=errors`);
await rough.waitForSelector('article');
await rough.waitForSelector('.who', { state: 'attached' });	// the roles are known
const mute = rough.locator('article', { hasText: 'no error text' });
tell(await mute.count() === 1 && await mute.locator('button', { hasText: 'all' }).count() === 0, 'errors without a text are not changed all together');
tell(await rough.locator('article button', { hasText: 'Fail all' }).count() > 0, '... others are');

await rough.goto(`${base}?page=types&q=NONE`);
await rough.waitForSelector('main .empty');
tell(!(await rough.locator('main').textContent()).includes('No policy is set'), 'a filter that finds nothing does not say that there is nothing');

// ---- what is sent ----
const sent = async (pattern, act) => (await Promise.all([rough.waitForRequest((r) => r.method() === 'POST' && pattern.test(r.url())), act()]))[0].postData();
const submit = async (reason) => {
	await rough.locator('dialog input[name=reason]').fill(reason);
	await rough.keyboard.press('Enter');
};
await rough.goto(`${base}?page=task&id=${ID(31)}`);
await rough.locator('.page-aside button', { hasText: 'Release' }).click();
const released = await sent(/release$/, () => submit('released'));
await rough.waitForSelector('.notices .good');
tell(!('run_after' in JSON.parse(released)), 'a release without a time leaves the task its own', released);
await rough.route('**/fail', (route) => route.fulfill({ status: 200, json: { result: 'changed', version: '9', status: 'ERROR' } }));
await rough.goto(`${base}?page=task&id=${ID(75)}`);
await rough.locator('.page-aside button', { hasText: 'Fail' }).click();
await submit('refused by on_end');
await rough.waitForSelector('.notices li');
tell(await rough.locator('.notices .bad').count() === 1, 'a task that did not end is not said to have ended');
await rough.goto(`${base}?page=audit`);
await settled(rough);
await rough.locator('input[name=person]').fill('otto');
const [audit] = await Promise.all([rough.waitForResponse(/person=otto/), rough.keyboard.press('Enter')]);
tell(audit.status() === 200 && (await audit.json()).items.length > 0, 'the audit of one person', audit.status());
await rough.goto(`${base}?page=tasks&status=SUBMITTED&type=PAYOUT%7CACME&priority=3`);
await rough.waitForSelector('[data-row]');
await rough.waitForSelector('.who', { state: 'attached' });
tell(await rough.locator('.action-bar').count() === 0, 'all of one priority cannot be changed, so no button says so');
await rough.goto(`${base}?page=todo`);
await rough.locator('article button').first().click();
await rough.locator('dialog textarea').fill('{"decision": "yes", "sum": 12345678901234567890.10}');
await rough.route('**/to-do/**', (route) => route.abort());
const answer = await sent(/to-do/, () => rough.locator('dialog button.primary').click());
tell(answer === '{"data":{"decision": "yes", "sum": 12345678901234567890.10}}', 'an answer is sent as it was written', answer);

await browser.close();
server.close();

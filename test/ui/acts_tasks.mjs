// Actions on tasks: one task, tasks of unknown outcome, and many by a filter, by a choice
// of rows and by the text of their errors.
import { alter, tell } from './browser.mjs';
import { act, value } from './hands.mjs';

export const id = (n) => `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`;

// Status of the task, and the last entry of its audit.
const noted = (n) => `SELECT concat_ws(', ', t.status, a.action, a.on_behalf_of, a.reason)
	FROM twtasks.tasks t, LATERAL (SELECT * FROM twtasks.audit a WHERE a.task_id = t.id ORDER BY a.id DESC LIMIT 1) a WHERE t.id = '${id(n)}'`;

// The same of several tasks, with their number.
const all_noted = (from, to) => `SELECT string_agg(concat_ws(', ', n, status, action, on_behalf_of, reason), '; ') FROM (
	SELECT count(*) AS n, t.status, a.action, a.on_behalf_of, a.reason
	FROM twtasks.tasks t, LATERAL (SELECT * FROM twtasks.audit a WHERE a.task_id = t.id ORDER BY a.id DESC LIMIT 1) a
	WHERE t.id BETWEEN '${id(from)}' AND '${id(to)}' GROUP BY 2, 3, 4, 5) r`;

const LATER = '2031-02-03T04:05';

export async function ofOneTask(hand, look) {
	const { n } = hand;
	const at = (i) => look(`?page=task&id=${id(n + i)}`, '.facts');

	await at(1);
	const trace = await hand.page.locator('.facts a[href^="https://traces.example/"]').getAttribute('href');
	tell(trace === 'https://traces.example/4bf92f3577b34da6a3ce929d0e0e4736', `${hand.name}: a task leads to its trace`, trace);
	await act(hand, { title: 'resume', press: ['Resume'], check: noted(n + 1), is: 'WAITING, resume, otto, resume' });
	await at(2);
	await act(hand, { title: 'reschedule', press: ['Reschedule'], fill: { 'Run at': LATER }, check: noted(n + 2), is: 'WAITING, reschedule, otto, reschedule' });
	tell(await value(`SELECT run_after FROM (SELECT to_char(next_event_time, 'YYYY-MM-DD"T"HH24:MI') AS run_after FROM twtasks.tasks WHERE id = '${id(n + 2)}') t`) === LATER, `${hand.name}: ... to that time`);
	await at(3);
	await act(hand, { title: 'cancel', press: ['Cancel'], check: noted(n + 3), is: 'CANCELLED, cancel, otto, cancel' });
	await at(4);
	await act(hand, { title: 'fail', press: ['Fail'], check: noted(n + 4), is: 'FAILED, fail, otto, fail' });
	await at(5);
	await act(hand, { title: 'hold', press: ['Hold'], check: noted(n + 5), is: 'HELD, hold, otto, hold' });
	await at(5);
	await act(hand, { title: 'prioritize', press: ['Prioritize'], fill: { Priority: '1' }, check: noted(n + 5), is: 'HELD, prioritize, otto, prioritize' });
	tell(await value(`SELECT priority FROM twtasks.tasks WHERE id = '${id(n + 5)}'`) === '1', `${hand.name}: ... to that priority`);
	await at(6);
	await act(hand, { title: 'release', press: ['Release'], fill: { 'Run at': LATER }, check: noted(n + 6), is: 'WAITING, release, otto, release' });
	await at(7);
	await act(hand, { title: 'reopen', press: ['Reopen'], check: noted(n + 7), is: 'WAITING, reopen, otto, reopen' });
	await at(8);
	const bar = hand.page.getByRole('progressbar', { name: 'progress of the task', exact: true });
	tell(await bar.getAttribute('value') === '40' && (await hand.page.locator('.facts').innerText()).includes('40 %: page 2 of 5'), `${hand.name}: a running task shows how far it is`);
	await act(hand, { title: 'ask to stop', press: ['Cancel'], check: noted(n + 8), is: 'PROCESSING, request_cancel, otto, ask to stop' });
	await at(8);
	tell((await hand.page.locator('main').innerText()).includes('ask to stop'), `${hand.name}: ... and the page shows the request`);
}

export async function ofUnknown(hand, look) {
	const { n } = hand;
	// One card alone, so that its buttons are the only ones.
	const at = (i) => look(`?page=unknown&type=LOST%7C${hand.name}`, `article:has-text("${id(n + i)}")`);

	await alter(hand.page, '**/api/v1/unknown*', (body) => (
		{ ...body, items: body.items.filter((t) => t.type === `LOST|${hand.name}`).sort((a, b) => (a.id < b.id ? -1 : 1)) }));
	await at(51);
	await act(hand, { title: 'it happened', press: ['It happened'], check: noted(n + 51), is: 'DONE, confirm, otto, it happened' });
	await at(52);
	await act(hand, { title: 'it did not happen', press: ['It did not happen'], check: noted(n + 52), is: 'WAITING, resume, otto, it did not happen' });
	await hand.page.unroute('**/api/v1/unknown*');
}

export async function ofMany(hand, look) {
	const { n, name } = hand;
	const list = (query) => look(`?page=tasks&type=MANY%7C${name}&${query}`, '.action-bar');
	const choose = async (...ids) => {
		for (const i of ids) await hand.tick(`choose ${id(n + i)}`);
	};

	await list(`status=ERROR&error=gate+${name}`);
	await act(hand, { title: 'resume many', press: ['Resume …'], counts: '5 tasks would run again', check: all_noted(n + 21, n + 25), is: '5, WAITING, resume, otto, resume many' });
	await list('status=WAITING');
	await act(hand, { title: 'reschedule many', press: ['Reschedule …'], counts: '5 tasks', fill: { 'Run at': LATER }, check: all_noted(n + 21, n + 25), is: '5, WAITING, reschedule, otto, reschedule many' });
	await list('status=WAITING');
	await act(hand, { title: 'cancel many', press: ['Cancel …'], counts: '5 tasks would end as CANCELLED', check: all_noted(n + 21, n + 25), is: '5, CANCELLED, cancel, otto, cancel many' });
	await look(`?page=errors&type=MANY%7C${name}`, 'article');
	await act(hand, { title: 'fail a group', press: ['Fail all …'], counts: '5 tasks would end as FAILED', check: all_noted(n + 26, n + 30), is: '5, FAILED, fail, otto, fail a group' });
	await look(`?page=tasks&type=MANY%7C${name}&status=FAILED`, '[data-row]');
	await choose(26, 27);
	await act(hand, { title: 'reopen chosen ones', press: ['Reopen …'], counts: '2 tasks would run again', check: all_noted(n + 26, n + 27), is: '2, WAITING, reopen, otto, reopen chosen ones' });
	await list('status=SUBMITTED');
	await choose(31, 32, 33);
	await act(hand, { title: 'hold chosen ones', press: ['Hold …'], counts: '3 tasks would wait', check: all_noted(n + 31, n + 33), is: '3, HELD, hold, otto, hold chosen ones' });
	await list('status=HELD');
	await choose(31, 32, 33);
	await act(hand, { title: 'prioritize chosen ones', press: ['Prioritize …'], counts: '3 tasks would get that priority', fill: { Priority: '1' }, check: all_noted(n + 31, n + 33), is: '3, HELD, prioritize, otto, prioritize chosen ones' });
	tell(await value(`SELECT DISTINCT priority FROM twtasks.tasks WHERE id BETWEEN '${id(n + 31)}' AND '${id(n + 33)}'`) === '1', `${name}: ... to that priority`);
	await list('status=HELD');
	await choose(31, 32);
	await act(hand, { title: 'release chosen ones', press: ['Release …'], counts: '2 tasks would go on', fill: { 'Run at': LATER }, check: all_noted(n + 31, n + 32), is: '2, WAITING, release, otto, release chosen ones' });
	tell(await value(`SELECT status FROM twtasks.tasks WHERE id = '${id(n + 33)}'`) === 'HELD', `${name}: ... and no other one`);
}

// What a task carries: only after a reason, and recorded before it is shown.
export async function ofPayload(hand, look) {
	await look(`?page=task&id=${id(hand.n + 9)}`, '.facts');
	await hand.page.waitForSelector('button:text("Read it")');
	tell(!(await hand.page.content()).includes('CANARY'), `${hand.name}: a payload is not there before it is asked for`);
	await act(hand, {
		title: 'read a payload', press: ['Read it …'], is: 'pia, read a payload, f',
		check: `SELECT string_agg(concat_ws(', ', on_behalf_of, reason, was_denied), '; ') FROM twtasks.payload_read WHERE task_id = '${id(hand.n + 9)}'`,
	});
	const shown = await hand.page.locator('pre[aria-label=payload]').textContent();
	tell(shown.includes('CANARY') && shown.includes('12345678901234567890.10'), `${hand.name}: ... and shown, with all digits`, shown);
}

// Somebody else is faster.
export async function lostRace(hand, look) {
	const { page, n, name } = hand;

	await look(`?page=task&id=${id(n + 10)}`, '.facts');
	// An answer that is under way when the question opens must not take the question away.
	let release;
	const late = new Promise((done) => { release = done; });
	const path = `**/api/v1/tasks/${id(n + 10)}`;
	const asked = page.waitForRequest(path);
	await page.route(path, async (route) => { await late; await route.continue(); });
	await value(`SELECT twtasks.hold_task('${id(n + 10)}', 2, 'somebody was faster')`);
	const request = await asked;
	await hand.press('Fail');
	await page.waitForSelector('dialog[open]');
	await hand.fill('Reason', 'typed with care');
	release();
	await request.response();	// null: a slow machine has given it up
	await page.unroute(path);
	await page.evaluate(() => new Promise((drawn) => { requestAnimationFrame(() => requestAnimationFrame(drawn)); }));
	tell(await page.locator('dialog[open]').count() === 1, `${name}: a late answer leaves the question open`);
	await hand.submit();
	await page.waitForSelector('dialog .trouble');
	const said = await page.locator('dialog .trouble').textContent();
	tell(/has changed meanwhile/.test(said) && /HELD/.test(said) && /version 3/.test(said), `${name}: a lost race is told, with what the task is now`, said);
	tell(await page.locator('dialog input[name=reason]').inputValue() === 'typed with care', `${name}: ... nothing typed is lost`);
	tell(await value(noted(n + 10)) === 'HELD, hold, somebody was faster', `${name}: ... and nothing is done`);
	await page.keyboard.press('Escape');
	await page.waitForSelector('main .status:text("HELD")');
	tell(true, `${name}: ... and the page shows the new status`);

	// A preview that is not true any more.
	await look(`?page=tasks&type=MANY%7C${name}&status=SUBMITTED&key=`, '.action-bar');
	await hand.press('Hold …');
	await page.waitForSelector('dialog .preview');
	await hand.fill('Reason', 'more than one saw');
	await value(`SELECT FROM twtasks.add_task('MANY|${name}', task_id => '${id(n + 41)}')`);
	await hand.submit();
	await page.waitForSelector('dialog .trouble');
	const told = await page.locator('dialog .trouble').textContent();
	tell(/preview is not true any more/.test(told), `${name}: more tasks than those of the preview match by now`, told);
	tell(await page.locator('dialog input[name=reason]').inputValue() === 'more than one saw', `${name}: ... nothing typed is lost`);
	tell(await value(`SELECT count(*) FROM twtasks.audit WHERE reason = 'more than one saw'`) === '0', `${name}: ... and nothing is done`);
	await page.keyboard.press('Escape');
}

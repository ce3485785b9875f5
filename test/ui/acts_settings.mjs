// Actions on all that is no task: types, buckets, limits, schedules, incidents, to-do items.
import { tell } from './browser.mjs';
import { act, value } from './hands.mjs';

// The last entry of the audit of settings.
const noted = (kind, name, more = "''") => `SELECT concat_ws(', ', on_behalf_of, reason, nullif(${more}, '')) FROM twtasks.policy_audit WHERE kind = '${kind}' AND name = '${name}' ORDER BY id DESC LIMIT 1`;
const scheduled = (name) => `SELECT concat_ws(', ', action, on_behalf_of, reason) FROM twtasks.schedule_audit WHERE name = '${name}' ORDER BY id DESC LIMIT 1`;

export async function ofPauses(hand, look) {
	const type = `MANY|${hand.name}`, bucket = `of-${hand.name}`;
	const is_paused = (name) => `(SELECT CASE count(*) WHEN 0 THEN 'runs' ELSE 'paused' END FROM twtasks.paused WHERE name = '${name}')`;

	await look(`?page=type&type=${encodeURIComponent(type)}`, '.facts');
	await act(hand, { title: 'pause a type', press: [`pause ${type}`], check: noted('pause', type, is_paused(type)), is: 'otto, pause a type, paused' });
	await hand.page.waitForSelector('button:text("Resume")');
	await act(hand, { title: 'resume a type', press: [`resume ${type}`], check: noted('pause', type, is_paused(type)), is: 'otto, resume a type, runs' });
	await look('?page=nodes', 'main [data-row]');
	await act(hand, { title: 'pause a bucket', press: [`pause ${bucket}`], check: noted('pause', bucket, is_paused(bucket)), is: 'otto, pause a bucket, paused' });
	await hand.page.waitForSelector(`button[aria-label="resume ${bucket}"]`);
	await act(hand, { title: 'resume a bucket', press: [`resume ${bucket}`], check: noted('pause', bucket, is_paused(bucket)), is: 'otto, resume a bucket, runs' });
}

export async function ofSchedules(hand, look) {
	const name = `daily ${hand.name}`;

	await look('?page=schedules', 'main [data-row]');
	await act(hand, { title: 'run now', press: [`Run now: ${name}`], check: scheduled(name), is: 'run now, otto, run now' });
	tell(await value(`SELECT count(*) FROM twtasks.tasks WHERE type = 'DAILY|${hand.name}'`) === '1', `${hand.name}: ... which adds a task`);
	await look('?page=schedules', 'main [data-row]');
	await act(hand, { title: 'pause a schedule', press: [`pause ${name}`], check: scheduled(name), is: 'pause, otto, pause a schedule' });
	await hand.page.waitForSelector(`button[aria-label="resume ${name}"]`);
	await act(hand, { title: 'resume a schedule', press: [`resume ${name}`], check: scheduled(name), is: 'resume, otto, resume a schedule' });
}

export async function ofLimits(hand, look) {
	const pattern = `LIMITED|${hand.name}`;

	await look(`?page=types&q=${encodeURIComponent(pattern)}`, 'main [data-row]');
	await hand.press(`what if ${pattern}`);
	await hand.fill('Tries that may run at once', '9');
	await hand.submit();
	await hand.page.waitForSelector('dialog .sentence');
	await hand.press('Close');
	tell(await value(`SELECT concurrency FROM twtasks.limits WHERE pattern = '${pattern}'`) === '5', `${hand.name}: a limit is tried out, and stays`);
	await act(hand, {
		title: 'set a limit', press: [`set the limit ${pattern}`], fill: { 'Tries that may run at once': '7' },
		check: `SELECT concat_ws(', ', l.concurrency, l.rate, l.per, a.on_behalf_of, a.reason) FROM twtasks.limits l, twtasks.policy_audit a WHERE l.pattern = '${pattern}' AND a.kind = 'limit' AND a.name ^@ '${pattern}' ORDER BY a.id DESC LIMIT 1`,
		is: '7, 100, 00:01:00, otto, set a limit',
	});
}

export async function ofIncidents(hand, look) {
	const key = `error/TOLD|${hand.name}`;

	await look('', '.incident');
	await act(hand, { title: 'take it on', press: [`acknowledge ${key}`], check: `${noted('incident', key)}`, is: 'otto, take it on' });
	tell(await value(`SELECT acknowledged_by FROM twtasks.incidents WHERE key = '${key}'`) === 'otto', `${hand.name}: ... by name`);
	await act(hand, {
		title: 'silence', press: [`silence ${key}`], fill: { Hours: '3' },
		check: `SELECT concat_ws(', ', reason, until BETWEEN now() + interval '170 min' AND now() + interval '3 h') FROM twtasks.silence WHERE pattern = 'TOLD|${hand.name}'`, is: 'silence, t',
	});
}

export async function ofToDo(hand, look) {
	const name = `loan-${hand.name}`;

	await look('?page=todo', 'article');
	const shown = await hand.page.locator(`pre[aria-label="item ${name}"]`).textContent();
	tell(shown.includes('"sum": 12345678901234567890.10'), `${hand.name}: a to-do item has all digits of its numbers`, shown);
	await act(hand, {
		title: 'answer', press: [`answer ${name}`], fill: { 'Answer, as JSON': '{"decision": "yes"}' }, reason: null,
		check: `SELECT concat_ws(', ', decision, decided IS NOT NULL) FROM twtasks.outcomes WHERE kind = 'approval' AND identifier = '${name}'`, is: 'yes, t',
	});
	await hand.page.waitForSelector(`article:has-text("${name}")`, { state: 'detached' });
	tell(true, `${hand.name}: ... and the item leaves the list`);
}

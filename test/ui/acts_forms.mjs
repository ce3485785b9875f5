// Forms of policies, buckets and silences, with faults at their fields; and pages of which
// one part fails.
import { tell } from './browser.mjs';
import { act, value } from './hands.mjs';

const noted = (kind, name, more) => `SELECT concat_ws('; ', on_behalf_of, reason, (${more})) FROM twtasks.policy_audit WHERE kind = '${kind}' AND name = '${name}' ORDER BY id DESC LIMIT 1`;
const policy = (pattern) => `SELECT concat_ws(', ', coalesce(priority::text, 'none'), timeout, retry) FROM twtasks.type_policies WHERE pattern = '${pattern}'`;
const bucket = (name) => `SELECT concat_ws(', ', description, concurrency) FROM twtasks.buckets WHERE name = '${name}'`;
const gone = (table, column, name) => `SELECT count(*) FROM twtasks.${table} WHERE ${column} = '${name}'`;

// The text at the field that is marked as wrong.
const fault = (page) => page.locator('dialog .field:has([aria-invalid=true]) .fault').allTextContents().then((all) => all.join());

export async function ofPolicies(hand, look) {
	const { page } = hand;
	const made = `NEW|${hand.name}`, ruled = `RULED|${hand.name}`;
	const at = () => look('?page=types', `button[aria-label="change the policy ${ruled}"]`);

	await at();
	await hand.press('New policy');
	await hand.fill('timeout', 'soon');
	await hand.fill('priority', '12');
	tell(/length of time/.test(await fault(page)) && /0 to 9/.test(await fault(page)), `${hand.name}: faults stand at their fields`, await fault(page));
	tell(await page.locator('dialog footer .primary').isDisabled(), `${hand.name}: ... and nothing can be sent`);
	await page.keyboard.press('Escape');
	await at();
	await act(hand, {
		title: 'make a policy', press: ['New policy'], fill: { Pattern: made, priority: '2', timeout: '45 s', retry: '{"delays": ["1s", "1min"]}' },
		check: noted('type', made, policy(made)), is: 'otto; make a policy; 2, 00:00:45, {"delays": ["1s", "1min"]}',
	});
	await at();
	await act(hand, { title: 'change a policy', press: [`change the policy ${ruled}`], fill: { priority: '', timeout: '1 min' }, check: noted('type', ruled, policy(ruled)), is: 'otto; change a policy; none, 00:01:00, {"max_tries": 3}' });
	await at();
	await hand.press(`change the policy ${ruled}`);
	await hand.fill('timeout', '2 min');
	await hand.fill('Reason', 'too late');
	await value(`SELECT twtasks.configure_type('${ruled}', timeout => '3 min')`);
	await hand.submit();
	await page.waitForSelector('dialog .trouble');
	tell(/has changed meanwhile/.test(await page.locator('dialog .trouble').textContent()), `${hand.name}: a policy that somebody else has changed`);
	tell(await page.locator('dialog input[name=timeout]').inputValue() === '2 min' && await page.locator('dialog input[name=reason]').inputValue() === 'too late', `${hand.name}: ... nothing typed is lost`);
	tell(await value(policy(ruled)) === 'none, 00:03:00, {"max_tries": 3}', `${hand.name}: ... and nothing is done`);
	await page.keyboard.press('Escape');
	await at();
	await act(hand, { title: 'remove a policy', press: [`remove the policy ${ruled}`], check: noted('type', ruled, gone('type_policies', 'pattern', ruled)), is: 'otto; remove a policy; 0' });
}

export async function ofBuckets(hand, look) {
	const { page } = hand;
	const made = `new-${hand.name}`, of = `of-${hand.name}`, spare = `spare-${hand.name}`;
	const at = () => look('?page=nodes', `button[aria-label="change the bucket ${of}"]`);

	await at();
	await act(hand, { title: 'make a bucket', press: ['New bucket'], fill: { Name: made, Purpose: 'a new one', 'Tasks that may run at once': '4' }, check: noted('bucket', made, bucket(made)), is: 'otto; make a bucket; a new one, 4' });
	await at();
	await act(hand, { title: 'change a bucket', press: [`change the bucket ${of}`], fill: { Purpose: '', 'Tasks that may run at once': '8' }, check: noted('bucket', of, bucket(of)), is: 'otto; change a bucket; 8' });
	await at();
	await hand.press(`change the bucket ${of}`);
	// With any step, the browser lets the server judge the number.
	await page.locator('dialog input[name=concurrency]').evaluate((input) => { input.step = 'any'; });
	await hand.fill('Tasks that may run at once', '1.5');
	await hand.fill('Reason', 'a part of one');
	await hand.submit();
	await page.waitForSelector('dialog .fault');
	tell(/whole number/i.test(await fault(page)), `${hand.name}: what the server refuses stands at its field`, await fault(page));
	tell(await page.evaluate(() => document.activeElement.name) === 'concurrency', `${hand.name}: ... which has the focus`);
	await page.keyboard.press('Escape');
	await at();
	await act(hand, { title: 'remove a bucket', press: [`remove the bucket ${spare}`], check: noted('bucket', spare, gone('buckets', 'name', spare)), is: 'otto; remove a bucket; 0' });
}

export async function ofSilences(hand, look) {
	const object = `SILENT|${hand.name}`;

	await look('?page=silences', `button[aria-label="end the silence error of ${object}"]`);
	await act(hand, {
		title: 'end a silence', press: [`end the silence error of ${object}`], is: 'otto; end a silence; 0',
		check: `SELECT concat_ws('; ', on_behalf_of, reason, (SELECT count(*) FROM twtasks.silence WHERE pattern = '${object}' AND until > now())) FROM twtasks.policy_audit WHERE kind = 'silence' AND name LIKE '%${object}' ORDER BY id DESC LIMIT 1`,
	});
}

// One part of a page fails, and the others are shown.
export async function partly({ page, name }, look) {
	await page.route('**/api/v1/limits*', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', json: { type: '/problems/too-much', title: 'The answer takes too long', status: 503 } }));
	await look('?page=types', '.trouble');
	const said = await page.locator('.trouble').allTextContents();
	tell(said.length === 1 && said[0].startsWith('Limits: The answer takes too long'), `${name}: a part of a page that fails is named`, said.join('; '));
	tell(await page.locator('.panel:has(h2:text-is("Types")) [data-row]').count() > 0, `${name}: ... the others are shown`);
	tell((await page.locator('.panel:has(h2:text-is("Limits"))').textContent()).includes('could not be read'), `${name}: ... and the part does not say that there is none`);
	await page.unroute('**/api/v1/limits*');
}

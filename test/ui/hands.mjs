// How a person acts: with a mouse, or with nothing but a keyboard.  Both find controls by
// the name that assistive programs read.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { tell } from './browser.mjs';

const run = promisify(execFile);

// The value of a statement, as psql prints it.
export async function value(sql) {
	const { stdout } = await run('psql', ['-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', process.env.TWT_DATABASE, '-c', sql]);
	return stdout.trim();
}

// What holds the focus: its name, and whether it is within the open dialog.
function focused(page) {
	return page.evaluate(() => {
		const at = document.activeElement;
		const name = at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent;
		return name.trim();
	});
}

async function reach(page, name) {
	for (let i = 0; i < 250; i++) {
		if (await focused(page) === name) return;
		await page.keyboard.press('Tab');
	}
	throw new Error(`Tab does not reach "${name}"`);
}

async function retype(page, text) {
	await page.keyboard.press('Control+a');
	await page.keyboard.press('Delete');
	await page.keyboard.type(text);
}

// A time as the fields of the browser want it typed, in the order of en-US.
async function typeTime(page, text) {
	const [, year, month, day, hour, minute] = /^(\d+)-(\d+)-(\d+)T(\d+):(\d+)/.exec(text);

	for (const part of [month, day, year.padStart(6, '0'), hour, minute, '00', 'AM']) await page.keyboard.type(part);
}

const scope = (page) => page.locator('dialog[open]').or(page.locator('body:not(:has(dialog[open]))'));

export function mouse(page) {
	const field = (name) => scope(page).getByLabel(name, { exact: true }).first();

	return {
		page, name: 'MOUSE', n: 100,
		press: (name) => scope(page).getByRole('button', { name, exact: true }).first().click(),
		tick: (name) => page.getByRole('checkbox', { name, exact: true }).click(),
		async fill(name, text) {
			if (/^\d+-\d\d-\d\dT/.test(text)) return field(name).fill(text);
			await field(name).click();
			return retype(page, text);
		},
		submit: () => page.locator('dialog[open] footer button[type=submit]').click(),
	};
}

export function keyboard(page) {
	return {
		page, name: 'KEYS', n: 200,
		async press(name) {
			await reach(page, name);
			await page.keyboard.press('Enter');
		},
		async tick(name) {
			await reach(page, name);
			await page.keyboard.press('Space');
		},
		async fill(name, text) {
			await reach(page, name);
			if (/^\d+-\d\d-\d\dT/.test(text)) return typeTime(page, text);
			return retype(page, text);
		},
		// Enter is a new line in a text of several lines.
		async submit() {
			const isLong = await page.evaluate(() => document.activeElement.tagName === 'TEXTAREA');
			if (isLong) await reach(page, (await page.locator('dialog[open] footer button[type=submit]').textContent()).trim());
			return page.keyboard.press('Enter');
		},
	};
}

// Does one action, from its button to the note that it is done.
//
//	press		names of buttons, in their order; the last one opens the question
//	fill		values of fields by name; a reason is added
//	counts		what the preview must say
//	check		a statement, and the value that it must have then
export async function act(hand, { title, press, fill = {}, counts, reason = title, check, is }) {
	const { page } = hand;
	const name = `${hand.name}: ${title}`;
	const before = await page.locator('.notices li').count();

	for (const button of press) await hand.press(button);
	await page.waitForSelector('dialog[open]');
	if (counts) {
		const said = await page.locator('dialog .preview p').first().textContent();
		tell(said.startsWith(counts), `${name}: the preview`, said);
	}
	for (const [field, text] of Object.entries(fill)) await hand.fill(field, text);
	if (reason) await hand.fill('Reason', reason);
	await hand.submit();
	await page.waitForFunction((n) => document.querySelectorAll('.notices li').length > n || document.querySelector('dialog .trouble'), before);
	const refused = (await page.locator('dialog .trouble, .notices .bad').allTextContents()).join(' ');
	const found = refused || await value(check);
	tell(found === is, name, `"${found}" in place of "${is}"`);
}

// Each action of the page on a real server, by mouse and by keyboard only: what the
// database has then, with the person and the reason.  A viewer sees none of the buttons.
import { launch, open, serve, settled, tell } from './browser.mjs';
import { keyboard, mouse } from './hands.mjs';
import * as tasks from './acts_tasks.mjs';
import * as settings from './acts_settings.mjs';
import * as forms from './acts_forms.mjs';

const { server, base } = await serve(process.env.TWT_WEB);
const browser = await launch();
const PARTS = [
	tasks.ofOneTask, tasks.ofUnknown, tasks.ofMany, tasks.lostRace,
	settings.ofPauses, settings.ofSchedules, settings.ofLimits, settings.ofIncidents, settings.ofToDo,
	forms.ofPolicies, forms.ofBuckets, forms.ofSilences, forms.partly,
];

// Goes to a page, and waits for what the action needs there.
const looker = (page) => async (address, wanted) => {
	await page.goto(base + address);
	await settled(page);
	await page.waitForSelector(wanted);
	await page.waitForSelector('.who', { state: 'attached' });	// the roles are known
};

async function all(device) {
	const { page, faults } = await open(browser, base, process.env.TWT_OPERATOR, { timezoneId: 'UTC' });
	const hand = device(page);
	const reader = await open(browser, base, process.env.TWT_READER);

	try {
		for (const part of PARTS) await part(hand, looker(page));
		await tasks.ofPayload(device(reader.page), looker(reader.page));
	} catch (fault) {
		// What is open says more than the fault; the rest would wait for it in vain.
		tell(false, `${hand.name}: broke off`, `${fault.stack}\n${await page.locator('body').innerText()}`);
	}
	// The browser notes what the tests provoke: lost races, a wrong number, a part that fails.
	const loud = [...faults, ...reader.faults].filter((f) => !/status of (409|400|503)/.test(f));
	tell(!loud.length, `${hand.name}: no error on the console, and no other host`, loud.join('\n'));
}

async function viewer() {
	const { page } = await open(browser, base, process.env.TWT_VIEWER);
	const look = looker(page);
	const PAGES = ['', '?page=tasks', ...[1, 2, 3, 4, 6, 7, 8].map((n) => `?page=task&id=${tasks.id(100 + n)}`), '?page=errors', '?page=unknown', '?page=types', '?page=type&type=ONE%7CMOUSE', '?page=nodes', '?page=schedules', '?page=silences', '?page=audit'];
	const harmless = /^(copy\b|What if|what if|More filters|Filter|Show \d+ more)/;

	for (const address of PAGES) {
		await look(address, 'main');
		const names = await page.locator('main button').evaluateAll((all) => all.map((b) => b.getAttribute('aria-label') ?? b.textContent));
		const loud = names.filter((name) => !harmless.test(name));
		tell(!loud.length, `a viewer has no button that changes anything: ${address || 'overview'}`, loud.join());
		tell(await page.locator('main input[type=checkbox]').count() === 0, '... and chooses no rows');
	}
}

await viewer();
await Promise.all([all(mouse), all(keyboard)]);
await browser.close();
server.close();

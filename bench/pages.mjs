// What bench/pages asks of a browser; each line of output is two words with a tab between.
import { launch, open, settled } from '../test/ui/browser.mjs';

const base = `${process.env.TWT_WEB}/`;
const rounds = Number(process.env.ROUNDS);
const pages = JSON.parse(process.env.PAGES);
const browser = await launch();

// Milliseconds from the beginning of the navigation until the contents are there.
async function visible(address) {
	const is_form = address.includes('token=none');
	const { context, page } = await open(browser, base, is_form ? null : process.env.TWT_OPERATOR);

	await page.goto(base + address, { waitUntil: 'commit' });
	if (is_form) await page.waitForSelector('main.login');
	else await settled(page);
	const ms = await page.evaluate(() => performance.now());
	await context.close();
	return ms;
}

// The database stops at another moment between two requests in each round.
async function away(name, address, round) {
	const { context, page } = await open(browser, base, process.env.TWT_OPERATOR);

	await page.goto(base + address);
	await settled(page);
	await page.waitForTimeout((5000 * round) / rounds);
	console.log(`stop\t${name}`);
	await page.waitForSelector('.trouble', { timeout: 60000 });
	console.log(`seen\t${name}`);
	await page.waitForSelector('.trouble', { state: 'detached', timeout: 60000 });
	await context.close();
}

for (let round = 0; round < rounds; round++) {
	for (const [name, address] of pages) {
		if (process.argv[2] === 'browser') console.log(`${name}\t${await visible(address)}`);
		else if (['overview', 'tasks', 'nodes and queues'].includes(name)) await away(name, address, round);
	}
}
await browser.close();

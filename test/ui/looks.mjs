// Every page, light and dark, wide and narrow: no violation that axe finds, no weak text in
// a chart, nothing wider than the window, no error on the console, no other host asked.
import { launch, open, overflow, serve, settled, tell, violations, weakTexts } from './browser.mjs';
import { PAGES } from './pages.mjs';

const { server, base } = await serve(process.env.TWT_WEB);
const browser = await launch();

async function look([name, address]) {
	const { context, page, faults } = await open(browser, base, process.env.TWT_OPERATOR);
	const troubles = [];

	await page.goto(base + address);
	await settled(page);
	for (const colorScheme of ['light', 'dark']) {
		await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
		for (const width of [1280, 360]) {
			const here = (what) => troubles.push(`${colorScheme}, ${width} px: ${what}`);

			await page.setViewportSize({ width, height: 800 });
			const found = await violations(page, colorScheme === 'dark');
			if (found) here(found);
			for (const text of await weakTexts(page)) here(`weak text: ${text}`);
			const wide = await overflow(page);
			if (wide > 0) here(`${wide} px too wide`);
		}
	}
	await page.setViewportSize({ width: 320, height: 640 });
	if (await overflow(page) > 0) troubles.push('too wide at 320 px');
	// A busy machine answers late now and then; the page asks again.
	await page.waitForSelector('.trouble', { state: 'detached' }).catch(() => {});
	const refused = await page.locator('.trouble').allTextContents();
	tell(!troubles.length, `${name}: light and dark, wide and narrow`, troubles.join('\n'));
	tell(!faults.length && !refused.length, `${name}: no error, and no other host`, [...faults, ...refused].join('\n'));
	await context.close();
}

const all = Object.entries(PAGES).filter(([name]) => !process.argv[2] || name === process.argv[2]);
await Promise.all([0, 1].map(async () => {
	for (let next; (next = all.shift());) await look(next);
}));
await browser.close();
server.close();

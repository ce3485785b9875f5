// Pictures of every page, light and dark, in a window of each width of TWT_WIDTHS.
import { launch, open, serve, settled, tell } from './browser.mjs';
import { PAGES } from './pages.mjs';

const { server, base } = await serve(process.env.TWT_WEB);
const browser = await launch();
const { page } = await open(browser, base, process.env.TWT_OPERATOR);

// A list that the filter shortens has tasks of all statuses.
for (const [name, address] of Object.entries({ ...PAGES, tasks: '?page=tasks&type=PAYOUT*' })) {
	await page.goto(base + address);
	await settled(page);
	for (const width of process.env.TWT_WIDTHS.split(' ').map(Number)) {
		await page.setViewportSize({ width, height: Math.round(width < 600 ? width * 2 : width * 0.5625) });
		for (const colorScheme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
			await page.screenshot({ path: `${process.env.TWT_PICTURES}/page-${name.replaceAll(' ', '-')}-${colorScheme}-${width}.png`, fullPage: width === 1280 });
		}
	}
	tell(true, `${name}: is taken`);
}
await browser.close();
server.close();

// What the tests of pages share: a browser, a proxy that puts the server below a path, and
// checks whose results are lines of JSON for the test in Perl.
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';

// The packages stand where the test has installed them.
const require = createRequire(`${process.env.TWT_UI_MODULES}/`);
const { chromium } = require('playwright-core');
const { default: Axe } = require('@axe-core/playwright');

export const PREFIX = '/deep/below';

export function tell(ok, name, why = '') {
	console.log(JSON.stringify({ ok: Boolean(ok), name, why: String(why) }));
}

// A proxy such as nginx: only paths below PREFIX exist.
export function serve(target) {
	const { port, hostname } = new URL(target);
	const server = createServer((from, to) => {
		if (!from.url.startsWith(`${PREFIX}/`)) {
			to.writeHead(404).end();
			return;
		}
		const pass = request({ hostname, port, method: from.method, path: from.url.slice(PREFIX.length), headers: from.headers }, (answer) => {
			to.writeHead(answer.statusCode, answer.headers);
			answer.pipe(to);
		});
		pass.on('error', () => to.destroy());
		to.on('close', () => pass.destroy());
		from.pipe(pass);
	});
	return new Promise((ready) => server.listen(0, '127.0.0.1', () => ready({ server, base: `http://127.0.0.1:${server.address().port}${PREFIX}/` })));
}

export function launch() {
	return chromium.launch({ executablePath: process.env.TWT_CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

const pages = [];

// A script that breaks off says what its pages were showing.
process.on('uncaughtException', async (fault) => {
	console.error(fault.stack);
	for (const page of pages.filter((p) => !p.isClosed())) {
		const shown = page.evaluate(() => [location.href, document.title, document.activeElement?.outerHTML.slice(0, 160), document.body.innerText.slice(0, 1500)].join('\n'));
		console.error(await Promise.race([shown.catch((e) => e.message), new Promise((done) => setTimeout(done, 5000, 'the page gives no answer'))]));
	}
	process.exit(1);
});

// A page that notes what must not happen.
export async function open(browser, base, token, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options });
	const page = await context.newPage();

	pages.push(page);
	page.setDefaultTimeout(90000);
	const faults = [];

	if (token) await page.addInitScript((t) => sessionStorage.setItem('twtasks.token', t), token);
	page.on('console', (m) => m.type() === 'error' && faults.push(m.text()));
	page.on('pageerror', (e) => faults.push(e.stack));
	page.on('request', (r) => !r.url().startsWith(base) && faults.push(`another place was asked: ${r.url()}`));
	return { context, page, faults };
}

// Alters answers.  A page that has left in the meantime wants none.
export async function alter(page, path, altered) {
	await page.route(path, async (route) => {
		try {
			const answer = await route.fetch();
			await route.fulfill({ response: answer, json: altered(await answer.json()) });
		} catch {
			await route.abort().catch(() => {});
		}
	});
}

export async function settled(page) {
	await page.waitForSelector('main .body[aria-busy=false]');
}

// colours: only the rules that another colour scheme may break.
export async function violations(page, colours = false) {
	const axe = new Axe({ page }).options({ resultTypes: ['violations'], preload: false });
	const { violations: all } = await (colours ? axe.withRules(['color-contrast', 'link-in-text-block']) : axe).analyze();
	return all.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html.slice(0, 160)} ${n.failureSummary}`).join('\n')}`).join('\n');
}

// Texts in SVG whose contrast with their ground is too low: axe does not see them.
export function weakTexts(page) {
	return page.evaluate(() => {
		const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
		const rgba = (colour) => {
			canvas.clearRect(0, 0, 1, 1);
			canvas.fillStyle = colour;
			canvas.fillRect(0, 0, 1, 1);
			return [...canvas.getImageData(0, 0, 1, 1).data];
		};
		const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const ground = (text) => {
			const box = text.parentNode.tagName === 'g' && text.parentNode.querySelector(':scope > rect');
			if (box) return rgba(getComputedStyle(box).fill);
			for (let e = text.closest('svg'); e; e = e.parentElement) {
				const c = rgba(getComputedStyle(e).backgroundColor);
				if (c[3] === 255) return c;
			}
			return [255, 255, 255, 255];
		};
		return [...document.querySelectorAll('svg text')].map((text) => {
			const [a, b] = [light(rgba(getComputedStyle(text).fill)), light(ground(text))].sort((x, y) => y - x);
			return { text: text.textContent, contrast: (a + 0.05) / (b + 0.05) };
		}).filter((t) => t.contrast < 4.5).map((t) => `${t.text}: ${t.contrast.toFixed(2)}`);
	});
}

// How far the document is wider than its window.
export function overflow(page) {
	return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

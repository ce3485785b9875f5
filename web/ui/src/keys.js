// The keyboard: rows are moved through by their links, so focus says where one is.
import { go, to } from './route.js';

const PLACES = { o: 'overview', t: 'tasks', e: 'errors', u: 'unknown', y: 'types', n: 'nodes', s: 'schedules', a: 'audit', i: 'silences' };

function rows() {
	return [...document.querySelectorAll('main [data-row]')].filter((row) => row.offsetParent);
}

const handle = (row) => row?.querySelector('.row-link') ?? row?.querySelector('a, button, input');

function move(by) {
	const all = rows();
	const at = all.findIndex((row) => row.contains(document.activeElement));
	const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];

	handle(next)?.focus();
	next?.scrollIntoView({ block: 'nearest' });
}

export function watchKeys({ help }) {
	let gone = 0;	// when g was pressed
	const press = (event) => {
		const at = event.target;
		const types = /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && at.type !== 'checkbox';

		if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return;
		if (event.key === 'Escape') {
			if (types) at.blur();
			else document.querySelector('[data-unchoose]')?.click();
			return;
		}
		if (types) return;
		if (event.timeStamp - gone < 1500 && PLACES[event.key]) {
			gone = 0;
			event.preventDefault();
			go(to(PLACES[event.key]));
			return;
		}
		const does = {
			'/': () => document.getElementById('search').focus(),
			'?': help,
			j: () => move(1),
			k: () => move(-1),
			x: () => at.closest?.('[data-row]')?.querySelector('input[type=checkbox]')?.click(),
			g: () => { gone = event.timeStamp; },
		}[event.key];
		if (!does) return;
		event.preventDefault();
		does();
	};
	addEventListener('keydown', press);
	return () => removeEventListener('keydown', press);
}

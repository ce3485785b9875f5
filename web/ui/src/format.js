// Numbers, times and lengths of time for people.
import { store as preferences } from './preferences.js';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export function number(value) {
	if (value === null || value === undefined || value === '') return '–';
	const n = Number(value);
	return Math.abs(n) >= 10 || Number.isInteger(n) ? whole.format(n) : n.toFixed(1);
}

export function percent(value) {
	return value === null || value === undefined ? '–' : `${number(value)} %`;
}

// Seconds of a number, of ISO 8601 (PT1M) or of PostgreSQL's form (1 day 02:03:04.5).
export function seconds(value) {
	if (value === null || value === undefined || value === '') return null;
	if (typeof value === 'number') return value;
	const iso = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(value);
	if (iso) return (iso[1] ?? 0) * 86400 + (iso[2] ?? 0) * 3600 + (iso[3] ?? 0) * 60 + Number(iso[4] ?? 0);
	const clock = /^(?:(-?\d+) days? ?)?(?:(-?)(\d+):(\d+):([\d.]+))?$/.exec(value);
	if (clock) {
		const part = (clock[3] ?? 0) * 3600 + (clock[4] ?? 0) * 60 + Number(clock[5] ?? 0);
		return (clock[1] ?? 0) * 86400 + (clock[2] ? -part : part);
	}
	return Number.isNaN(Number(value)) ? null : Number(value);
}

export function length(value) {
	const s = seconds(value);

	if (s === null) return '–';
	if (s < 0) return `−${length(-s)}`;
	if (s < 0.0095) return `${Number((s * 1000).toPrecision(2))} ms`;
	if (s < 1) return `${Math.round(s * 1000)} ms`;
	if (s < 10) return `${Number(s.toFixed(1))} s`;
	if (s < 100) return `${Math.round(s)} s`;
	if (s < 5400) return `${Math.round(s / 60)} min`;
	if (s < 36 * 3600) {
		const minutes = Math.round(s / 60);
		return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')}`;
	}
	return `${Number((s / 86400).toFixed(1))} days`;
}

const two = (n) => String(n).padStart(2, '0');

function fields(date, utc) {
	return utc
		? [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]
		: [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
}

export function clock(date, utc = preferences.get().times === 'utc') {
	const f = fields(date, utc);
	return `${two(f[3])}:${two(f[4])}:${two(f[5])}`;
}

export function whenFull(date, utc = preferences.get().times === 'utc') {
	const f = fields(date, utc);
	const offset = -date.getTimezoneOffset();
	const zone = utc ? 'UTC' : `UTC${offset < 0 ? '−' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
	return `${f[0]}-${two(f[1])}-${two(f[2])} ${clock(date, utc)} ${zone}`;
}

function absolute(date, now, utc) {
	const f = fields(date, utc), n = fields(now, utc);
	const day = f[0] === n[0] && f[1] === n[1] && f[2] === n[2];
	return day ? clock(date, utc) : `${f[0] === n[0] ? '' : `${f[0]}-`}${two(f[1])}-${two(f[2])} ${clock(date, utc).slice(0, 5)}`;
}

export function relative(date, now = new Date()) {
	const s = (now - date) / 1000;
	if (Math.abs(s) < 1) return 'now';
	return s > 0 ? `${length(Math.round(s))} ago` : `in ${length(Math.round(-s))}`;
}

export function when(value, now = new Date()) {
	const date = new Date(value);
	const mode = preferences.get().times;
	return mode === 'relative' ? relative(date, now) : absolute(date, now, mode === 'utc');
}

// Seconds since a time.
export function since(value, now = new Date()) {
	return value ? Math.max(0, (now - new Date(value)) / 1000) : null;
}

// 1 thing, 2 things
export function count(n, one, many = `${one}s`) {
	return `${number(n)} ${Number(n) === 1 ? one : many}`;
}

// A name as one word of a shell.
export function shell(word) {
	return /^[\w./:@%+=-]+$/.test(word) ? word : `'${String(word).replaceAll("'", "'\\''")}'`;
}

// An id in the form that the server sends, from any form that PostgreSQL takes; NULL: it is none.
export function taskId(text = '') {
	const bare = /^\{.*\}$/.test(text) ? text.slice(1, -1) : text;

	if (!/^([0-9a-f]{4}-?){7}[0-9a-f]{4}$/i.test(bare)) return null;
	return bare.replaceAll('-', '').toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

// The client of /api/v1, and answers that are kept up to date.
import { useEffect, useState } from 'preact/hooks';
import { store } from './store.js';
import { live, tell } from './stream.js';

const LIMIT_MS = 4500;
const TOKEN = 'twtasks.token';

export class Problem extends Error {
	constructor(status, body) {
		super(body.detail || body.title || `The server answered with status ${status}.`);
		this.status = status;
		this.body = body;
		// 502 to 504 are a proxy's words for the same trouble; an answer that takes too long is none.
		this.away = status === 0 || (status >= 502 && status <= 504 && body.type !== '/problems/too-much');
		// Whether a change was made: nobody here knows.
		this.unsure = this.away || (status >= 500 && !body.type);
	}
}

// ---- state that all parts share ----

export function useStore(from) {
	const [value, set] = useState(from.get());

	useEffect(() => {
		set(from.get());
		return from.on(set);
	}, [from]);
	return value;
}

export const login = store({ needed: false, refused: false });
// since: when the database was found away, by the stream or the overview; at: the last answer.
export const link = store({ since: null, problem: null, at: null });
export const me = store(null);
export const holds = store(0);	// > 0: nothing is polled, since somebody chooses

export function hold() {
	holds.set(holds.get() + 1);
	return () => holds.set(holds.get() - 1);
}

// Holds the figures still as long as is is true.
export function useHold(is) {
	useEffect(() => (is ? hold() : undefined), [is]);
}

export function may(role) {
	return me.get()?.roles?.includes(role) ?? false;
}

export function hasExtension(name) {
	return (me.get()?.extensions ?? []).some((e) => e === name || e.name === name);
}

// ---- requests ----

// The token stays in this tab, and goes with it.
export const token = {
	get: () => sessionStorage.getItem(TOKEN),
	set: (value) => (value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN)),
};

export function address(parts, query) {
	const search = new URLSearchParams();

	for (const [name, value] of Object.entries(query ?? {})) {
		if (value !== undefined && value !== null && value !== '') search.set(name, value);
	}
	const text = search.toString();
	return parts.map(encodeURIComponent).join('/') + (text ? `?${text}` : '');
}

// The body may come too late as well, which fails.  Undefined: it is not JSON.
async function read(answer) {
	const text = await answer.text();

	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

export function authorization() {
	const key = token.get();
	return key ? { Authorization: `Bearer ${key}` } : {};
}

// The body is a value, or text that is JSON already.
export async function call(method, path, body, headers = {}) {
	const all = { Accept: 'application/json', ...authorization(), ...headers };
	let answer, json;

	if (body !== undefined) all['Content-Type'] = 'application/json';
	try {
		answer = await fetch(`api/v1/${path}`, {
			method,
			headers: all,
			body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
			cache: 'no-cache',
			credentials: 'same-origin',
			redirect: 'error',
			signal: AbortSignal.timeout(method === 'GET' ? LIMIT_MS : 15000),
		});
		json = await read(answer);
	} catch (e) {
		const slow = e.name === 'TimeoutError';
		throw new Problem(0, { detail: slow ? 'twtasks-web gave no answer in time.' : 'twtasks-web cannot be reached.' });
	}
	if (answer.status === 401) login.set({ needed: true, refused: Boolean(token.get()) });
	// A page of a proxy with status 200 is no answer either.
	if (!json) throw new Problem(answer.ok ? 502 : answer.status, { detail: `Something answered with status ${answer.status}, and not in JSON.` });
	if (!answer.ok) throw new Problem(answer.status, json);
	return json;
}

// ---- answers that are kept up to date ----

const SLOW_MS = 30000;	// while the server tells of changes
const answers = new Map();

// Milliseconds until the next instant of the clock that is a multiple of every: all viewers
// ask together, so one answer of the database serves them.
function untilNext(every) {
	const ms = every - Date.now() % every;

	return ms < 100 ? ms + every : ms;	// a timer may come early
}

function noteLink(path, problem) {
	const { since, at } = link.get();

	if (!problem && (path === 'overview' || !since)) link.set({ since: null, problem: null, at: new Date() });
	else if (problem?.away && path === 'overview') link.set({ since: since ?? new Date(), problem, at });
}

tell('down', (type) => noteLink('overview', new Problem(503, { type: `/problems/${type}`, title: 'The database gives no answer now' })));

// Whether an answer changes although the stream tells nothing: reasons why a task does not
// run, and the progress of one that does.
function moves(path, data) {
	return path.endsWith('/why') || data?.status === 'PROCESSING';
}

// Milliseconds from an answer to the next request; 0: none.
function patience(path, every, next, told) {
	if (next.problem) return every || (next.problem.status === 404 ? 0 : 5000);
	return told && live.get() && !moves(path, next.data) ? every && Math.max(every, SLOW_MS) : every;
}

// The answer at path (NULL: none), asked for again at each multiple of so many milliseconds (0:
// only after a failure that may pass), but not while the page is hidden or held.  A failure
// keeps the last answer.
export function useAnswer(path, every = 5000) {
	const [state, set] = useState(() => answers.get(path) ?? {});

	useEffect(() => {
		let timer, stopped = false, busy = false, late = false;
		// Its name in the stream of changes.
		const told = path === 'overview' ? path : /^tasks\/([0-9a-f-]{36})/.exec(path)?.[1];

		set(answers.get(path) ?? {});
		if (path === null) return undefined;
		const ask = async () => {
			clearTimeout(timer);
			late = busy;	// an answer that is under way may lack the change
			if (stopped || busy) return;
			busy = true;
			let next;
			try {
				next = { data: await call('GET', path), at: new Date() };
				noteLink(path, null);
			} catch (problem) {
				next = { ...answers.get(path), problem };
				noteLink(path, problem);
			}
			busy = false;
			// A late answer would change what somebody is about to decide on; the end of the hold asks again.
			if (holds.get() && answers.get(path)?.data) return;
			answers.set(path, next);
			if (stopped) return;
			set(next);
			if (late && !document.hidden) return void ask();
			if (next.problem?.status !== 401) wait(patience(path, every, next, told));
		};
		const wait = (ms) => {
			if (ms && !document.hidden && !holds.get()) timer = setTimeout(ask, untilNext(ms));
		};
		const wake = () => {
			clearTimeout(timer);
			if (!document.hidden && !holds.get()) ask();
		};
		const off = [told ? tell(told, wake) : () => {}, told ? live.on((is) => is || wake()) : () => {}, holds.on((n) => n === 0 && wake()), changed.on(wake), login.on((l) => !l.needed && wake())];
		document.addEventListener('visibilitychange', wake);
		ask();
		return () => {
			stopped = true;
			clearTimeout(timer);
			off.forEach((fn) => fn());
			document.removeEventListener('visibilitychange', wake);
		};
	}, [path, every]);
	return { ...state, refresh: () => changed.set(changed.get() + 1) };
}

export const changed = store(0);	// grows with each change that this page has made
export const notices = store([]);

let lastNotice = 0;

export function notice(kind, text, to) {
	notices.set([...notices.get(), { id: ++lastNotice, kind, text, to }]);
}

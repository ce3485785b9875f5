// The server tells by GET /stream which answers have changed.  Without a stream the page asks
// in intervals, as it does for all other answers.
import { useEffect } from 'preact/hooks';
import { store } from './store.js';

// The first pause before another attempt, and the longest.
const AGAIN_MS = 2000;
const AGAIN_MAX_MS = 60000;
const SILENT_MS = 40000;	// a comment comes every 15 seconds
const listeners = new Map();

export const live = store(false);	// whether the server tells

// Calls fn when the answer of that name has changed; returns what ends that.
export function tell(name, fn) {
	const all = listeners.get(name) ?? listeners.set(name, new Set()).get(name);

	all.add(fn);
	return () => all.delete(fn);
}

// An event is lines that end with an empty one.  After "down" the server does not know
// what changes, until it tells again.
function take(text) {
	const event = /^event: (.*)$/m.exec(text)?.[1], data = /^data: (.*)$/m.exec(text)?.[1];

	if (!event) return;
	if (live.get() !== (event !== 'down')) live.set(event !== 'down');
	listeners.get(event === 'task' ? data : event)?.forEach((fn) => fn(data));
}

// Returns whether another attempt may succeed.
async function follow(address, headers, end) {
	let timer;
	const patient = () => {
		clearTimeout(timer);
		timer = setTimeout(() => end.abort(), SILENT_MS);
	};

	try {
		patient();
		const answer = await fetch(address, { headers, cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: end.signal });
		if (!answer.ok || !/^text\/event-stream/.test(answer.headers.get('content-type') ?? '')) {
			answer.body?.cancel();
			return answer.status >= 500;
		}
		const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
		let text = '';
		for (;;) {
			const { value, done } = await reader.read();
			if (done) return true;
			patient();
			const events = (text + value).split(/\r?\n\r?\n/);
			text = events.pop();
			events.forEach(take);
		}
	} catch {
		return true;	// it broke off
	} finally {
		clearTimeout(timer);
		if (live.get()) live.set(false);
	}
}

// Follows the stream while the page is seen: of the overview and of one task (NULL: none).
export function useStream(task, headers) {
	useEffect(() => {
		let end, timer, pause = AGAIN_MS;
		const stop = () => {
			clearTimeout(timer);
			end?.abort();
			end = null;
		};
		const start = async () => {
			const mine = new AbortController(), began = Date.now();
			stop();
			if (document.hidden) return;
			end = mine;
			const again = await follow(`api/v1/stream${task ? `?task=${encodeURIComponent(task)}` : ''}`, headers(), mine);
			if (!again || end !== mine) return;
			if (Date.now() - began >= AGAIN_MAX_MS) pause = AGAIN_MS;
			// Viewers whom a server has lost together do not come back together.
			timer = setTimeout(start, pause * (1 - Math.random() / 2));
			pause = Math.min(2 * pause, AGAIN_MAX_MS);
		};
		const turn = () => {
			pause = AGAIN_MS;
			start();
		};

		start();
		document.addEventListener('visibilitychange', turn);
		return () => {
			document.removeEventListener('visibilitychange', turn);
			stop();
		};
	}, [task]);
}

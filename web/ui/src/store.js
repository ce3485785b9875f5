// A value that parts of the page share, and hear of when it changes.
export function store(value) {
	const listeners = new Set();

	return {
		get: () => value,
		set(next) {
			value = next;
			listeners.forEach((fn) => fn(next));
		},
		on(fn) {
			listeners.add(fn);
			return () => listeners.delete(fn);
		},
	};
}

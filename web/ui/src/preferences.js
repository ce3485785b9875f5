// Choices of a person, kept by the browser.  No secret is among them.
const NAME = 'twtasks.preferences';
const listeners = new Set();
let value = { theme: 'system', times: 'local' };

try {
	value = { ...value, ...JSON.parse(localStorage.getItem(NAME) ?? '{}') };
} catch {
	// A browser that keeps nothing starts with the defaults.
}

function apply() {
	const root = document.documentElement;

	if (value.theme === 'system') root.removeAttribute('data-theme');
	else root.setAttribute('data-theme', value.theme);
}

export const store = {
	get: () => value,
	set(change) {
		value = { ...value, ...change };
		try {
			localStorage.setItem(NAME, JSON.stringify(value));
		} catch {
			// As above.
		}
		apply();
		listeners.forEach((fn) => fn(value));
	},
	on(fn) {
		listeners.add(fn);
		return () => listeners.delete(fn);
	},
};

apply();

// Addresses: "./?page=NAME&..." so that they work below any path.
import { useEffect, useState } from 'preact/hooks';

const listeners = new Set();

export function to(page, params = {}) {
	const search = new URLSearchParams();

	if (page !== 'overview') search.set('page', page);
	for (const [name, value] of Object.entries(params)) {
		if (value !== undefined && value !== null && value !== '') search.set(name, value);
	}
	const text = search.toString();
	return text ? `./?${text}` : './';
}

function here() {
	const params = Object.fromEntries(new URLSearchParams(location.search));
	const page = params.page ?? 'overview';

	delete params.page;
	return { page, params };
}

export function go(href, replace = false) {
	history[replace ? 'replaceState' : 'pushState'](null, '', href);
	const now = here();
	listeners.forEach((fn) => fn(now));
}

export function useRoute() {
	const [route, set] = useState(here);

	useEffect(() => {
		const back = () => set(here());
		// Links are ordinary ones; this only spares loading the document again.
		const click = (event) => {
			const a = event.target.closest?.('a[href^="./"]');
			if (!a || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
			event.preventDefault();
			go(a.getAttribute('href'));
			scrollTo(0, 0);
		};
		listeners.add(set);
		addEventListener('popstate', back);
		document.addEventListener('click', click);
		return () => {
			listeners.delete(set);
			removeEventListener('popstate', back);
			document.removeEventListener('click', click);
		};
	}, []);
	return route;
}

// The difference of two texts, by words.

// Parts of the second text: {text, is_new}.  A common beginning and end are left out
// of the quadratic part, which long texts do without.
export function difference(before, after) {
	const a = before.split(/(\W)/), b = after.split(/(\W)/);
	let head = 0, tail = 0;

	while (head < a.length && head < b.length && a[head] === b[head]) head++;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
	const am = a.slice(head, a.length - tail), bm = b.slice(head, b.length - tail);
	const is_new = am.length * bm.length > 250000 ? bm.map(() => true) : unmatched(am, bm);
	const parts = [];
	const add = (text, fresh) => {
		const last = parts[parts.length - 1];
		if (last && last.is_new === fresh) last.text += text;
		else if (text) parts.push({ text, is_new: fresh });
	};
	add(b.slice(0, head).join(''), false);
	bm.forEach((word, i) => add(word, is_new[i]));
	add(b.slice(b.length - tail).join(''), false);
	return parts;
}

// The words of b that are in no longest common sequence with a.
function unmatched(a, b) {
	const w = b.length + 1;
	const best = new Uint16Array((a.length + 1) * w);
	const is_new = b.map(() => true);

	for (let i = a.length - 1; i >= 0; i--)
		for (let j = b.length - 1; j >= 0; j--)
			best[i * w + j] = a[i] === b[j] ? best[(i + 1) * w + j + 1] + 1 : Math.max(best[(i + 1) * w + j], best[i * w + j + 1]);
	for (let i = 0, j = 0; i < a.length && j < b.length;) {
		if (a[i] === b[j]) {
			is_new[j] = false;
			i++;
			j++;
		} else if (best[(i + 1) * w + j] >= best[i * w + j + 1]) i++;
		else j++;
	}
	return is_new;
}

// The machine of a kind as a picture: states in columns by their distance from the
// start, ends last.  Arrows to the next column are straight; arrows over columns run in
// lanes above, arrows back in lanes below, arrows to the same state under it.  The same
// as a table stands behind it.
const W = 104, H = 34, GAP_X = 100, GAP_Y = 18, LANE = 20, LINE = 12;

function layers(states, transitions) {
	const layer = new Map(states.filter((s) => s.what === 'start').map((s) => [s.name, 0]));
	const ends = new Set(states.filter((s) => s.what === 'end').map((s) => s.name));

	for (let moved = true; moved;) {
		moved = false;
		for (const t of transitions) {
			if (layer.has(t.from) && !layer.has(t.to) && !ends.has(t.to)) {
				layer.set(t.to, layer.get(t.from) + 1);
				moved = true;
			}
		}
	}
	const last = Math.max(0, ...layer.values()) + 1;
	states.forEach((s) => !layer.has(s.name) && layer.set(s.name, last));
	return layer;
}

// One arrow for all answers that lead from one state to another.
function arrows(transitions, layer) {
	const by = new Map();

	transitions.forEach((t) => {
		const key = `${t.from}\u0000${t.to}`;
		const steps = layer.get(t.to) - layer.get(t.from);
		const way = t.from === t.to ? 'loop' : steps === 1 ? 'next' : steps > 1 ? 'over' : 'back';
		by.set(key, { ...t, way, answers: [...new Set([...(by.get(key)?.answers ?? []), t.answer])] });
	});
	return [...by.values()];
}

function plan(states, transitions) {
	const layer = layers(states, transitions);
	const all = arrows(transitions, layer);
	const of = (way) => all.filter((a) => a.way === way);
	const over = of('over').sort((a, b) => layer.get(b.from) - layer.get(a.from)), back = of('back');
	const columns = [];
	const at = new Map();

	states.forEach((s) => (columns[layer.get(s.name)] ??= []).push(s));
	const top = 14 + over.length * LANE;
	const most = Math.max(...columns.map((c) => c?.length ?? 0));
	columns.forEach((column, x) => column?.forEach((s, i) => at.set(s.name, { x: 10 + x * (W + GAP_X), y: top + i * (H + GAP_Y) })));
	const loops = Math.max(0, ...of('loop').map((a) => at.get(a.from).y + H + 26 + a.answers.length * LINE));
	const low = Math.max(top + most * (H + GAP_Y), loops);
	over.forEach((a, i) => { a.lane = top - 12 - i * LANE; a.n = i; });
	back.forEach((a, i) => { a.lane = low + 6 + i * LANE; a.n = i; });
	return { all, at, width: 10 + columns.length * (W + GAP_X) - GAP_X + 12, height: low + back.length * LANE + 14 };
}

function route(arrow, a, b) {
	const many = arrow.answers.join(', ');

	switch (arrow.way) {
		case 'loop':
			return { d: `M${a.x + 20} ${a.y + H}C${a.x + 14} ${a.y + H + 26} ${a.x + 60} ${a.y + H + 26} ${a.x + 54} ${a.y + H}`, texts: arrow.answers.map((text, i) => ({ text, x: a.x + 37, y: a.y + H + 30 + i * LINE })) };
		case 'next': {
			const x1 = a.x + W, y1 = a.y + H / 2, y2 = b.y + H / 2, x = (x1 + b.x) / 2;
			return { d: `M${x1} ${y1}C${x} ${y1} ${x} ${y2} ${b.x} ${y2}`, texts: arrow.answers.map((text, i) => ({ text, x, y: (y1 + y2) / 2 + 4 + (i - (arrow.answers.length - 1) / 2) * LINE })) };
		}
		case 'over': {
			const x = a.x + W / 2 + arrow.n * 6, down = b.x - 14 - arrow.n * 7, y = b.y + H / 2;
			return { d: `M${x} ${a.y}L${x} ${arrow.lane + 6}Q${x} ${arrow.lane} ${x + 6} ${arrow.lane}L${down - 6} ${arrow.lane}Q${down} ${arrow.lane} ${down} ${arrow.lane + 6}L${down} ${y - 6}Q${down} ${y} ${down + 6} ${y}L${b.x} ${y}`, texts: [{ text: many, x: x + 12, y: arrow.lane + 4, start: true }] };
		}
		default: {
			const x1 = a.x + W - 14 - arrow.n * 8, x2 = b.x + W - 26 - arrow.n * 8;
			return { d: `M${x1} ${a.y + H}L${x1} ${arrow.lane - 6}Q${x1} ${arrow.lane} ${x1 - 6} ${arrow.lane}L${x2 + 6} ${arrow.lane}Q${x2} ${arrow.lane} ${x2} ${arrow.lane - 6}L${x2} ${b.y + H}`, texts: [{ text: many, x: (x1 + x2) / 2, y: arrow.lane + 4 }] };
		}
	}
}

export function Machine({ of: { states = [], transitions = [] }, now }) {
	const { all, at, width, height } = plan(states, transitions);
	const routes = all.map((a) => ({ key: `${a.from} ${a.to}`, ...route(a, at.get(a.from), at.get(a.to)) }));

	return (
		<>
			<div class="scroll-x" tabindex="0" role="region" aria-label="picture of the machine">
				<svg class="machine" width={width} height={height} role="img" aria-label={`${states.map((s) => s.name).join(', ')}${now ? `; now at ${now}` : ''}. The table below has all arrows.`}>
					<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
					{routes.map((r) => <path key={r.key} d={r.d} marker-end="url(#tip)" />)}
					{states.map((s) => {
						const p = at.get(s.name);
						return <g key={s.name} class={`${s.what}${s.name === now ? ' now' : ''}`}><rect x={p.x} y={p.y} width={W} height={H} rx={s.what === 'step' ? 7 : 17} /><text x={p.x + W / 2} y={p.y + 21} text-anchor="middle">{s.name === now ? '▸ ' : ''}{s.name}</text></g>;
					})}
					{routes.map((r) => r.texts.map((t) => <text key={r.key + t.text} class="edge-text" x={t.x} y={t.y} text-anchor={t.start ? 'start' : 'middle'}>{t.text.replaceAll('_', ' ')}</text>))}
				</svg>
			</div>
			<details>
				<summary>The same as a table</summary>
				<div class="scroll-x" tabindex="0" role="region" aria-label="rules of the machine">
					<table class="figures machine-rules">
						<thead><tr><th scope="col">state</th><th scope="col">answer</th><th scope="col">does</th><th scope="col">next</th></tr></thead>
						<tbody>{transitions.map((t, i) => <tr key={i}><th scope="row">{t.from}</th><td>{t.answer}</td><td>{t.does}</td><td>{t.to}</td></tr>)}</tbody>
					</table>
				</div>
			</details>
		</>
	);
}

// Charts in SVG.  Each has its figures in a table behind it, and no meaning by colour
// alone.
import { useEffect, useRef, useState } from 'preact/hooks';
import { clock, number } from './format.js';

function useWidth() {
	const box = useRef(null);
	const [width, set] = useState(640);

	useEffect(() => {
		const watch = new ResizeObserver(([entry]) => set(Math.max(200, Math.round(entry.contentRect.width))));
		watch.observe(box.current);
		return () => watch.disconnect();
	}, []);
	return [box, width];
}

// The least of 1, 2, 5, 10, ... that is not below.
function ceiling(value) {
	const base = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
	return [1, 2, 5, 10].map((n) => n * base).find((n) => n >= value);
}

// A line through the values that are known; it breaks where one is not.
function path(values, x, y) {
	return values.map((v, i) => (v === null || v === undefined ? '' : `${(values[i - 1] ?? null) === null ? 'M' : 'L'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`)).join('');
}

// Names at the right end, moved apart where they would overlap.
function apart(labels, top, bottom) {
	const sorted = [...labels].sort((a, b) => a.y - b.y);

	sorted.forEach((label, i) => {
		if (i) label.y = Math.max(label.y, sorted[i - 1].y + 14);
	});
	for (let i = sorted.length - 1; i >= 0; i--) sorted[i].y = Math.min(sorted[i].y, i === sorted.length - 1 ? bottom : sorted[i + 1].y - 14);
	return sorted;
}

export function Flow({ minutes, height = 190 }) {
	const [box, width] = useWidth();
	const left = 44, right = 78, top = 10, bottom = height - 22, floor = bottom - 1;
	const most = ceiling(Math.max(1, ...minutes.flatMap((m) => [m.in ?? 0, m.out ?? 0])));
	const x = (i) => left + ((width - left - right) * i) / Math.max(1, minutes.length - 1);
	const y = (value) => bottom - ((bottom - top) * (value ?? 0)) / most;
	const step = Math.max(2, (width - left - right) / Math.max(1, minutes.length) - 2);
	const wrong = (m) => (m.errors ?? 0) + (m.failed ?? 0);
	const worst = Math.max(1, ...minutes.map(wrong));
	const last = minutes[minutes.length - 1] ?? {};
	const labels = apart(['in', 'out'].filter((name) => (last[name] ?? null) !== null).map((name) => ({ name, y: y(last[name]) })), top + 4, bottom - 4);
	const every = width < 480 ? 20 : 10;
	const total = minutes.reduce((n, m) => n + wrong(m), 0);

	return (
		<figure class="chart" ref={box}>
			<svg width={width} height={height} role="img" aria-label={`Tasks per minute: ${number(last.in)} in, ${number(last.out)} out; ${number(total)} errors in ${minutes.length} minutes`}>
				{[0, 0.5, 1].map((n) => (
					<g key={n}>
						<line class="grid" x1={left} x2={width - right} y1={y(most * n)} y2={y(most * n)} />
						<text class="axis" x={left - 6} y={y(most * n) + 4} text-anchor="end">{number(most * n)}</text>
					</g>
				))}
				{minutes.map((m, i) => (i % every === (minutes.length - 1) % every) && (
					<text key={m.at} class="axis" x={x(i)} y={height - 6} text-anchor="middle">{clock(new Date(m.at)).slice(0, 5)}</text>
				))}
				{minutes.map((m, i) => wrong(m) > 0 && (
					<rect key={m.at} class="wrong" x={x(i) - step / 2} width={step} y={floor - Math.max(4, (wrong(m) / worst) * 34)} height={Math.max(4, (wrong(m) / worst) * 34)} />
				))}
				<path class="line in" d={path(minutes.map((m) => m.in), x, y)} />
				<path class="line out" d={path(minutes.map((m) => m.out), x, y)} />
				{labels.map((l) => <text key={l.name} class={`name ${l.name}`} x={width - right + 6} y={l.y + 4}>{l.name} {number(last[l.name])}</text>)}
			</svg>
			<figcaption>
				<span class="key"><svg width="18" height="8" aria-hidden="true"><line class="line in" x1="0" x2="18" y1="4" y2="4" /></svg> in</span>
				<span class="key"><svg width="18" height="8" aria-hidden="true"><line class="line out" x1="0" x2="18" y1="4" y2="4" /></svg> out (dashed)</span>
				<span class="key"><svg width="10" height="10" aria-hidden="true"><rect class="wrong" width="10" height="10" /></svg> errors: {number(total)}, at most {number(total ? worst : 0)} a minute</span>
			</figcaption>
			<details>
				<summary>Figures</summary>
				<div class="scroll" tabindex="0" role="region" aria-label="figures of the chart">
					<table class="figures">
						<thead><tr><th scope="col">minute</th><th scope="col">in</th><th scope="col">out</th><th scope="col">errors</th><th scope="col">retried</th></tr></thead>
						<tbody>{[...minutes].reverse().map((m) => <tr key={m.at}><th scope="row">{clock(new Date(m.at)).slice(0, 5)}</th><td>{number(m.in)}</td><td>{number(m.out)}</td><td>{number(wrong(m))}</td><td>{number(m.retried)}</td></tr>)}</tbody>
					</table>
				</div>
			</details>
		</figure>
	);
}

export function Spark({ values, label }) {
	const most = Math.max(1, ...values);
	const x = (i) => (i * 72) / Math.max(1, values.length - 1);

	if (values.filter((v) => v !== null && v !== undefined).length < 2) return null;
	return <svg class="spark" viewBox="0 0 72 18" width="72" height="18" role="img" aria-label={label}><path class="line in" d={path(values, x, (v) => 16 - (14 * v) / most)} /></svg>;
}

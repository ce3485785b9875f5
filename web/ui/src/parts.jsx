// Small parts that all pages use.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { link, useStore } from './api.js';
import { clock, number, relative, when, whenFull } from './format.js';
import { store as preferences } from './preferences.js';
import { to } from './route.js';

export const Link = ({ page, params, children, ...rest }) => <a href={to(page, params)} {...rest}>{children}</a>;

// ---- times ----

export function useNow(every = 1000) {
	const [now, set] = useState(() => new Date());

	useEffect(() => {
		const timer = setInterval(() => !document.hidden && set(new Date()), every);
		return () => clearInterval(timer);
	}, [every]);
	return now;
}

export function Time({ at, ago }) {
	useStore(preferences);
	if (!at) return <span class="quiet">–</span>;
	if (at === 'infinity') return <span>never</span>;
	const date = new Date(at);
	// PostgreSQL has years that JavaScript does not read.
	if (Number.isNaN(date.getTime())) return <span>{at}</span>;
	return <time datetime={date.toISOString()} title={`${whenFull(date, false)} · ${whenFull(date, true)}`}>{ago ? relative(date) : when(at)}</time>;
}

// ---- words with a sign ----

const STATUS = {
	WAITING: ['◷', 'wait'], SUBMITTED: ['▸', 'wait'], PROCESSING: ['▶', 'run'], ERROR: ['✕', 'bad'], HELD: ['‖', 'warn'],
	DONE: ['✓', 'good'], FAILED: ['✕', 'bad'], CANCELLED: ['⊘', 'quiet'],
};

export function Status({ is }) {
	if (!is) return <span class="quiet">–</span>;
	const [sign, tone] = STATUS[is] ?? ['·', 'quiet'];
	return <span class={`status one-line ${tone}`}><i aria-hidden="true">{sign}</i>{is}</span>;
}

export function Tag({ tone = '', children, title }) {
	return <span class={`tag ${tone}`} title={title}>{children}</span>;
}

export function Copy({ text, label }) {
	const [done, set] = useState(false);

	useEffect(() => {
		const timer = done && setTimeout(() => set(false), 2000);
		return () => clearTimeout(timer);
	}, [done]);
	return (
		<button type="button" class="copy" aria-label={`copy ${label}`} onClick={() => navigator.clipboard?.writeText(text).then(() => set(true))}>
			{done ? 'copied' : 'copy'}
		</button>
	);
}

export const Command = ({ text }) => <p class="command"><code>{text}</code><Copy text={text} label="this command" /></p>;

// The beginning of an id is its time, and the end tells it from others of that time.
export const short = (id) => `${id.slice(0, 8)}…${id.slice(-12)}`;

export const Id = ({ id, short: is_short }) => <Link page="task" params={{ id }} class={`mono row-link${is_short ? ' one-line' : ''}`} title={id}>{is_short ? short(id) : id}</Link>;

// A share of a whole, as a bar with its figures.
export function Meter({ used, of, label }) {
	const full = of > 0 && used >= of;

	if (of === null || of === undefined) return <span>{number(used)}</span>;
	return (
		<span class={`meter${full ? ' full' : ''}`}>
			<svg viewBox="0 0 40 8" width="40" height="8" aria-hidden="true">
				<rect class="track" width="40" height="8" rx="2" />
				<rect class="fill" width={of > 0 ? Math.min(40, (40 * used) / of) : 0} height="8" rx="2" />
			</svg>
			{number(used)}/{number(of)}{full ? ` full${label ?? ''}` : ''}
		</span>
	);
}

// ---- frames ----

// The database is away, and none of these answers is newer than that; NULL: it is not.
function useDown(all) {
	const { since, problem } = useStore(link);
	const times = all.map((a) => a.at).filter(Boolean);

	if (!since || times.some((at) => at > since)) return null;
	return { problem, at: times[0], data: times.length > 0 };
}

// Without all of answers there is nothing to say.  parts are further answers by their
// names: one that fails (404: it is not kept) has its trouble told, and the others are shown.
export function Page({ title, lead, answers = [], parts = {}, children, aside }) {
	const heading = useRef(null);
	const all = Object.entries(parts);
	const down = useDown([...answers, ...all.map(([, a]) => a)]);
	const trouble = answers.find((a) => a.problem) ?? down;
	const failed = trouble ? [] : all.filter(([, a]) => a.problem && a.problem.status !== 404);
	// The same trouble of all is told once.
	const alone = failed.length > 1 && failed.length === all.length && failed.every(([, a]) => a.problem.away);
	const lacks = answers.some((a) => !a.data) || (!answers.length && all.every(([, a]) => !a.data && !a.problem));
	const waits = [...answers, ...all.map(([, a]) => a)].some((a) => !a.data && !a.problem);

	useEffect(() => {
		document.title = `${title} · twtasks`;
	}, [title]);
	useEffect(() => {
		if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
	}, []);
	return (
		<main id="main">
			<header class="page-head">
				<div><h1 ref={heading} tabindex="-1">{title}</h1>{lead && <p class="lead">{lead}</p>}</div>
				{aside && <div class="page-aside">{aside}</div>}
			</header>
			{trouble && <Trouble of={trouble} />}
			{(alone ? failed.slice(0, 1) : failed).map(([name, a]) => <Trouble key={name} of={a} name={alone ? null : name} />)}
			<div class={trouble?.data ? 'body stale' : 'body'} aria-busy={waits}>
				{lacks ? !trouble && <p class="quiet" role="status">Loading …</p> : children}
			</div>
		</main>
	);
}

// Why the figures below are old, or absent.
// name: of the part that failed; NULL: the whole page.
function Trouble({ of, name }) {
	const state = useStore(link);
	const { problem, at } = of;

	if (problem.status === 401) return null;
	const { title, detail } = problem.body;
	return (
		<div class="trouble" role="alert">
			<strong>{name && `${name}: `}{title ?? (problem.away ? 'twtasks-web does not answer' : 'This cannot be shown')}</strong>
			{problem.away && state.since && `, since ${clock(state.since)}`}{'. '}
			{detail ?? (title ? '' : problem.message)}
			{at && ` You see the answer of ${clock(at)}.`}{problem.away && ' The page asks again by itself.'}
		</div>
	);
}

// of: the answer that it shows, if that may fail alone.
export function Panel({ title, aside, children, of, class: name = '' }) {
	return (
		<section class={`panel ${name}${of?.problem ? ' stale' : ''}`}>
			{(title || aside) && <header><h2>{title}</h2>{aside && <div class="panel-aside">{aside}</div>}</header>}
			{of && !of.data ? <Empty>{of.problem ? 'It could not be read.' : 'Loading …'}</Empty> : children}
		</section>
	);
}

export const GoOn = ({ page, params, cursor, as = 'cursor', children }) => cursor && <p class="meta pager">{children}<Link class="button small" page={page} params={{ ...params, [as]: cursor }}>Go on</Link></p>;

export const Empty = ({ children }) => <p class="empty">{children}</p>;

// Columns are {head, cell(row), num, wide}; the first one names the row.  On a narrow
// screen each row is a card, so each cell has the head of its column.
export function Table({ columns, rows, name, id = (row, i) => i, empty = 'There are none.', mark, chosen, onChoose }) {
	if (!rows?.length) return <Empty>{empty}</Empty>;
	return (
		<table class="rows">
			<caption class="hidden">{name}</caption>
			<thead>
				<tr>
					{onChoose && <th class="choose"><input type="checkbox" aria-label="choose all rows" checked={rows.every((r) => chosen.has(id(r)))} onChange={(e) => onChoose(e.currentTarget.checked ? rows.map(id) : [], true)} /></th>}
					{columns.map((c) => <th key={c.head} scope="col" class={c.num ? 'num' : ''}>{c.head}</th>)}
				</tr>
			</thead>
			<tbody>
				{rows.map((row, i) => (
					<tr key={id(row, i)} data-row class={`${mark?.(row) ?? ''}${chosen?.has(id(row)) ? ' chosen' : ''}`}>
						{onChoose && <td class="choose"><input type="checkbox" aria-label={`choose ${id(row)}`} checked={chosen.has(id(row))} onChange={(e) => onChoose(id(row), e.currentTarget.checked)} /></td>}
						{columns.map((c, n) => {
							const Cell = n === 0 ? 'th' : 'td';
							return <Cell key={c.head} scope={n === 0 ? 'row' : undefined} class={`${c.num ? 'num' : ''}${c.wide ? ' wide' : ''}`} data-head={c.head}>{c.cell(row)}</Cell>;
						})}
					</tr>
				))}
			</tbody>
		</table>
	);
}

// Names and values.
export const Facts = ({ of }) => (
	<dl class="facts">
		{of.filter(Boolean).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value ?? <span class="quiet">–</span>}</dd></div>)}
	</dl>
);

// ---- a question before something is done ----

// busy: it stays open, since how it ends must be seen.
export function Dialog({ title, children, onClose, busy }) {
	const box = useRef(null);

	// Not a useEffect, which waits for a frame: a key that comes sooner would reach the page
	// below, and the focus would come back after somebody has moved it.
	useLayoutEffect(() => {
		const before = document.activeElement;
		box.current.showModal();
		return () => before?.isConnected && before.focus();
	}, []);
	// A browser closes it at the second Esc, whatever the page says.
	const leave = (event) => {
		if (!busy) return onClose();
		event.preventDefault();
		if (!box.current.open) box.current.showModal();
	};
	return (
		<dialog ref={box} aria-labelledby="dialog-title" onClose={leave} onCancel={leave}>
			<header><h2 id="dialog-title">{title}</h2><button type="button" class="plain" onClick={leave} disabled={busy} aria-label="close">✕</button></header>
			{children}
		</dialog>
	);
}

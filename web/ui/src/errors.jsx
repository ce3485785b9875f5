// Tasks in ERROR, grouped by the shape of their errors.
import { address, me, may, useAnswer, useStore } from './api.js';
import { BulkChange } from './actions.jsx';
import { useState } from 'preact/hooks';
import { count, length, number } from './format.js';
import { Spark } from './charts.jsx';
import { Empty, Link, Page, Panel, Time } from './parts.jsx';

// When its tasks came.  A group that is older than the line has zeros only.
function Course({ of: g }) {
	const step = g.step === '01:00:00' ? 'hour' : 'minute';
	const most = Math.max(...g.counts);
	const words = most ? `at most ${count(most, 'task')} in one ${step} of the last ${g.counts.length}` : `none in the last ${count(g.counts.length, step)}`;

	return <span class="course"><Spark values={g.counts} label={words} /> <small>{words}</small></span>;
}

// The longest piece of a shape without placeholders finds its tasks.
export function needle(shape) {
	return (shape ?? '').split(/#|<[^>]*>|\.\.\.|'[^']*'|"[^"]*"/).map((s) => s.trim()).sort((a, b) => b.length - a.length)[0] ?? '';
}

function Group({ of: g, type }) {
	const [asks, set] = useState(null);
	const types = g.types ?? [];
	const one = types.length === 1 ? types[0] : type;
	const filter = { type: one ?? '*', status: 'ERROR', error: needle(g.shape) };
	// A shorter text, or none, would match errors of other groups.
	const telling = filter.error.length >= 4;

	return (
		<article class="card" data-row>
			<header>
				<h2><strong>{number(g.tasks)}{g.capped ? ' or more' : ''}</strong> × <code>{g.shape || 'no error text'}</code></h2>
				<Course of={g} />
			</header>
			<p class="meta">first <Time at={g.first_seen} />, last <Time at={g.last_seen} />{g.node_started && <> · began {length((new Date(g.first_seen) - new Date(g.node_started.at)) / 1000)} after node {g.node_started.node} started</>} · {count(types.length, 'type')}: {types.slice(0, 6).map((t, i) => <span key={t}>{i ? ', ' : ''}<Link page="type" params={{ type: t }}>{t}</Link></span>)}{types.length > 6 && ` and ${types.length - 6} more`}</p>
			{g.example_error && <details><summary>The last error in full</summary><pre tabindex="0" aria-label="error">{g.example_error}</pre></details>}
			<div class="decide">
				<Link class="button small row-link" page="tasks" params={{ ...filter, type: one }}>See the tasks</Link>
				{g.example && <Link class="button small" page="task" params={{ id: g.example }}>The last one</Link>}
				{may('operator') && telling && <button type="button" class="small" onClick={() => set('resume')}>Resume all …</button>}
				{may('operator') && telling && <button type="button" class="small" onClick={() => set('fail')}>Fail all …</button>}
				{may('operator') && !telling && <span class="quiet">Its text does not tell its tasks from others: choose them in the list.</span>}
			</div>
			{asks && <BulkChange action={asks} what={`tasks with "${filter.error}"`} filter={filter} onClose={() => set(null)} />}
		</article>
	);
}

export function Errors({ params }) {
	const answer = useAnswer(address(['errors'], { type: params.type }));
	const groups = answer.data?.items ?? [];

	useStore(me);
	return (
		<Page title="Errors" answers={[answer]} lead="Tasks that wait for a person, by the shape of their errors: numbers, times and ids do not count."
			aside={params.type && <><span class="quiet">type {params.type}</span> <Link class="button small" page="errors">All types</Link></>}>
			{answer.data?.more && <p class="meta">Only the first {number(groups.length)} groups; choose a type for more.</p>}
			{groups.length ? <div class="cards">{groups.map((g) => <Group key={g.shape} of={g} type={params.type} />)}</div> : <Panel><Empty>{params.type ? `No task of type ${params.type} is in ERROR.` : 'No task is in ERROR.'}</Empty></Panel>}
		</Page>
	);
}

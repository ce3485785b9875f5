// Types with their figures, limits with their use, policies with the pattern each comes from.
import { useState } from 'preact/hooks';
import { address, call, me, may, useAnswer, useHold, useStore } from './api.js';
import { ChangeButton, Refused } from './actions.jsx';
import { Flow } from './charts.jsx';
import { length, number, percent, since } from './format.js';
import { TYPE_COLUMNS } from './overview.jsx';
import { Field } from './fields.jsx';
import { Dialog, Empty, Facts, GoOn, Link, Meter, Page, Panel, Table, Tag, Time } from './parts.jsx';
import { go, to } from './route.js';
import { PolicyChange, PolicyRemoval } from './settings.jsx';

const present = (row, names) => Object.fromEntries(names.filter((name) => row[name] !== null).map((name) => [name, row[name]]));

// All that the limit has: what a change leaves out would be unset.
const whole = (limit) => ({
	...present(limit, ['concurrency']),
	...(limit.stretch ? present(limit, ['stretch', 'stretch_priority']) : {}),
	...(limit.rate ? present(limit, ['rate', 'per', 'burst']) : {}),
});

// ---- limits ----

function WhatIf({ limit, onClose }) {
	const name = limit.name ?? limit.pattern;
	const [n, set] = useState(String((limit.concurrency ?? 1) * 2));
	const [answer, setAnswer] = useState(null);
	const [problem, setProblem] = useState(null);

	useHold(true);
	const ask = (event) => {
		event.preventDefault();
		setProblem(null);
		call('POST', address(['limits', name, 'what-if']), { concurrency: Number(n), scope: limit.scope }).then(setAnswer, setProblem);
	};
	return (
		<Dialog title={`What if the limit ${name} were another one?`} onClose={onClose}>
			<form onSubmit={ask}>
				<Field label="Tries that may run at once" hint={`Now ${limit.concurrency ?? 'no such limit'}. Nothing is changed.`}><input type="number" min="0" max="100000" required value={n} onInput={(e) => set(e.currentTarget.value)} /></Field>
				<Refused problem={problem} is_trial />
				{answer && <p class="sentence" role="status">{answer.sentence}</p>}
				<footer><button type="button" onClick={onClose}>Close</button><button type="submit" class="primary">Reckon</button></footer>
			</form>
		</Dialog>
	);
}

function LimitActs({ limit }) {
	const [asks, set] = useState(false);
	const [n, setN] = useState(String(limit.concurrency ?? ''));

	return (
		<span class="decide one-line">
			<button type="button" class="small" aria-label={`what if ${limit.name ?? limit.pattern}`} onClick={() => set(true)}>What if</button>
			{asks && <WhatIf limit={limit} onClose={() => set(false)} />}
			<ChangeButton label="Set" class="small" describe={`set the limit ${limit.pattern}`} title={`Limit ${limit.pattern}`} verb={`Set to ${n}`} done={`Limit ${limit.pattern} is ${n} now.`} ready={n !== ''}
				send={(reason) => call('PUT', address(['limits', limit.pattern]), { ...whole(limit), concurrency: Number(n), scope: limit.scope, version: limit.changed_at, reason })}>
				<Field label="Tries that may run at once" name="concurrency" hint={limit.scope === 'node' ? 'on each node' : 'in the whole cluster'}><input type="number" min="0" max="100000" required value={n} onInput={(e) => setN(e.currentTarget.value)} /></Field>
			</ChangeButton>
		</span>
	);
}

function Limits({ rows, empty = 'There is no limit of types.' }) {
	useStore(me);
	return (
		<Table name="limits" rows={rows} id={(l) => `${l.pattern} ${l.scope} ${l.name ?? ''}`} empty={empty} columns={[
			{ head: 'limit', cell: (l) => <>{l.name ?? l.pattern}{l.name && l.name !== l.pattern && <small> of {l.pattern}</small>}</> },
			{ head: 'scope', cell: (l) => (l.scope === 'node' ? 'each node' : l.scope) },
			{ head: 'use', cell: (l) => (l.concurrency === null || l.concurrency === undefined ? '–' : l.used === null || l.used === undefined ? `at most ${number(l.concurrency)}` : <Meter used={l.used} of={l.concurrency} />) },
			{ head: 'waits', num: true, cell: (l) => number(l.waiting) },
			{ head: 'rate', cell: (l) => (l.rate ? `${number(l.rate)} per ${length(l.per)}` : <span class="quiet">–</span>) },
			{ head: 'changed', cell: (l) => <><Time at={l.changed_at} /> <small>{l.changed_by}</small></> },
			{ head: 'change', cell: (l) => <LimitActs key={l.changed_at} limit={l} /> },
		]} />
	);
}

// ---- policies ----

const KNOWN = ['pattern', 'changed_at', 'changed_by'];

function options(p) {
	return Object.entries(p).filter(([name, value]) => !KNOWN.includes(name) && value !== null && value !== undefined);
}

function Policies({ rows, empty = 'No policy is set: all types have the defaults.' }) {
	return (
		<Table name="policies" rows={rows} id={(p) => p.pattern} empty={empty} columns={[
			{ head: 'pattern', cell: (p) => p.pattern },
			{ head: 'options', wide: true, cell: (p) => <span class="options">{options(p).map(([name, value]) => <Tag key={name}>{name} {typeof value === 'object' ? JSON.stringify(value) : String(value)}</Tag>)}</span> },
			{ head: 'changed', cell: (p) => <><Time at={p.changed_at} /> <small>{p.changed_by}</small></> },
			...(may('operator') ? [{ head: 'change', cell: (p) => <span key={p.changed_at} class="decide one-line"><PolicyChange policy={p} /><PolicyRemoval policy={p} /></span> }] : []),
		]} />
	);
}

// ---- pages ----

export function Types({ params }) {
	const types = useAnswer(address(['types'], { limit: 100, type: params.q, cursor: params.types }));
	const limits = useAnswer(address(['limits'], { limit: 200, cursor: params.limits }));
	const policies = useAnswer(address(['policies'], { limit: 200, cursor: params.policies }));
	const none = params.q || params.limits || params.policies ? 'None of these matches.' : undefined;
	const more = (as, of) => <GoOn page="types" params={params} as={as} cursor={of.data?.cursor} />;
	const [q, set] = useState(params.q ?? '');
	const has = (row) => !params.q || JSON.stringify(row).toLowerCase().includes(params.q.replace(/\*$/, '').toLowerCase());

	useStore(me);
	return (
		<Page title="Types and limits" parts={{ Limits: limits, Types: types, Policies: policies }} aside={
			<form class="decide" onSubmit={(e) => { e.preventDefault(); go(to('types', { q })); }}>
				<input type="search" aria-label="only types with" placeholder="TYPE or TYPE*" value={q} onInput={(e) => set(e.currentTarget.value)} />
			</form>}>
			<Panel title="Limits" of={limits}><Limits rows={(limits.data?.items ?? []).filter(has)} empty={none} />{more('limits', limits)}</Panel>
			<Panel title="Types" of={types}><Table name="types" rows={(types.data?.items ?? []).filter(has)} columns={TYPE_COLUMNS} id={(t) => `${t.bucket} ${t.type}`} empty={params.q ? 'No type is named so, or it has no task.' : 'No task has been counted yet.'} />{more('types', types)}</Panel>
			<Panel title="Policies" of={policies} aside={may('operator') && <PolicyChange />}><Policies rows={(policies.data?.items ?? []).filter(has)} empty={none} />{more('policies', policies)}</Panel>
		</Page>
	);
}

// paused: since when; NULL: it is not.
export function Pause({ kind, name, paused }) {
	const path = (verb) => address([kind === 'bucket' ? 'buckets' : 'policies', name, verb]);
	if (paused)
		return <ChangeButton label="Resume" class="small" describe={`resume ${name}`} title={`Resume ${name}`} verb="Resume" done={`${name} goes on.`} lead="Its tasks start again." send={(reason) => call('POST', path('resume'), { version: paused, reason })} />;
	return <ChangeButton label="Pause" class="small" describe={`pause ${name}`} title={`Pause ${name}`} verb="Pause" danger done={`${name} is paused.`} lead="Its tasks do not start until somebody resumes it. Running ones end." send={(reason) => call('POST', path('pause'), { reason })} />;
}

export function Type({ params }) {
	const answer = useAnswer(address(['types', params.type ?? '']));
	const d = answer.data;
	const t = d?.row ?? {};
	const minutes = d?.flow?.minutes ?? [];
	const pause = (d?.pauses ?? []).find((p) => p.kind === 'type' && p.name === params.type);
	const from = new Map((d?.policy_from ?? []).map((o) => [o.option, o.pattern]));
	const policy = options(d?.policy ?? {}).filter(([name]) => name !== 'patterns');

	useStore(me);
	return (
		<Page title={params.type} answers={[answer]} lead="A type of tasks."
			aside={<><Link class="button" page="tasks" params={{ type: params.type }}>Its tasks</Link><Link class="button" page="errors" params={{ type: params.type }}>Its errors</Link>{may('operator') && <Pause kind="type" name={params.type} paused={pause?.since} />}</>}>
			{d && (
				<>
					<Panel><Facts of={[
						['backlog', t.submitted ? <Link page="tasks" params={{ type: params.type, status: 'SUBMITTED' }}>{number(t.submitted)}</Link> : '0'], ['oldest', length(since(t.oldest))], ['wait for a time', number(t.waiting)], ['run now', number(t.processing)], ['in / min', number(t.in_per_min)], ['out / min', number(t.out_per_min)],
						['errors', <Link page="errors" params={{ type: params.type }}>{number(t.errors)}</Link>], ['p95 run', length(t.p95_run)], ['p95 wait', length(t.p95_wait)],
						['held', number(t.held)], ['retried', percent(t.retry_percent)],
						['slots', t.slots === null ? 'no limit' : <><Meter used={t.slots_used ?? 0} of={t.slots} /> <small>{t.slots_limit}</small></>], ['bucket', t.bucket ?? 'several'], ['nodes', (d.nodes ?? []).join(', ') || 'none'],
						...(d.pauses ?? []).map((p) => [`paused ${p.kind}`, <><Tag tone="warn">‖ {p.name}</Tag> <Time at={p.since} /> by {p.paused_by}{p.reason && `: ${p.reason}`}</>]),
					]} /></Panel>
					{minutes.length > 0 && <Panel title="Tasks per minute"><Flow minutes={minutes} /></Panel>}
					<Panel title="Policy in force">{policy.length ? <Facts of={policy.map(([name, value]) => [name, <>{typeof value === 'object' ? JSON.stringify(value) : String(value)} <small>{from.get(name) ? `from ${from.get(name)}` : 'default'}</small></>])} /> : <Empty>All options have their defaults.</Empty>}</Panel>
					<Panel title="Limits"><Limits rows={d.limits} /></Panel>
				</>
			)}
		</Page>
	);
}

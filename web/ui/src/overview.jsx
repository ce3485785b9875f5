// The first page: is anything wrong, since when, what helps, and does it grow?
import { useState } from 'preact/hooks';
import { address, call, me, useStore } from './api.js';
import { ChangeButton } from './actions.jsx';
import { Flow, Spark } from './charts.jsx';
import { clock, count, length, number, percent, relative, since } from './format.js';
import { Field } from './fields.jsx';
import { Empty, Link, Meter, Page, Panel, Table, Tag, Time, useNow } from './parts.jsx';

// Where there is no stream.  The server keeps its answer for longer, so a page hears soon of a
// database that hangs, and the database has no more to do.
export const OVERVIEW_MS = 1000;
const UNCOUNTED_S = 180;

// Where an incident is looked at.
function target(i) {
	const type = i.object || undefined;

	switch (i.kind) {
		case 'unknown': return ['unknown', {}, 'Decide them'];
		case 'error': return ['errors', { type }, 'See the errors'];
		case 'stuck': case 'old': return ['tasks', { type, status: i.kind === 'old' ? 'SUBMITTED' : undefined }, 'See the tasks'];
		case 'stall': return ['nodes', {}, 'See nodes and queues'];
		default:
	}
	if (/limit|bucket|paused|policy|type/.test(i.kind)) return ['types', type ? { q: type } : {}, 'Types and limits'];
	if (/schedule/.test(i.kind)) return ['schedules', {}, 'Schedules'];
	if (/event|stream/.test(i.kind)) return ['streams', {}, 'Streams'];
	if (/outcome|anomal|kind/.test(i.kind)) return ['kinds', {}, 'Kinds'];
	return ['nodes', {}, 'See nodes and queues'];
}

function Silence({ incident }) {
	const [hours, set] = useState('2');

	return (
		<ChangeButton
			label="Silence" class="small" describe={`silence ${incident.key}`} title={`Silence ${incident.key}`} verb={`Silence for ${count(hours, 'hour')}`} done={`${incident.key} is silent for ${count(hours, 'hour')}.`}
			lead={`${incident.object ? 'Nobody is told about it for that time. It stays' : `Nobody is told about ANY incident of the kind ${incident.kind} for that time. They stay`} on this page.`}
			send={(reason) => call('POST', 'silences', { kind: incident.kind, pattern: incident.object || '*', until: new Date(Date.now() + hours * 3600e3).toISOString(), reason })}
		>
			<Field label="Hours"><input type="number" min="1" max="168" required value={hours} onInput={(e) => set(e.currentTarget.value)} /></Field>
		</ChangeButton>
	);
}

function Incident({ of: i, now }) {
	const [page, params, label] = target(i);
	const page_ = i.severity === 'page';

	return (
		<li class={`incident ${page_ ? 'is-page' : 'is-ticket'}`}>
			<span class="sign" aria-hidden="true">{page_ ? '■' : '□'}</span>
			<div class="what">
				<p class="summary"><Tag tone={page_ ? 'bad' : 'warn'}>{i.severity}</Tag> <strong>{i.summary}</strong></p>
				{i.detail && <p class="detail">{i.detail}</p>}
				{i.hint && <p class="hint"><span aria-hidden="true">→ </span>{i.hint}</p>}
				<p class="meta">
					{i.opened && <>since <Time at={i.opened} /> ({length(Math.round((now - new Date(i.opened)) / 1000))})</>}
					{i.acknowledged && <> · taken on by {i.acknowledged_by} <Time at={i.acknowledged} /></>}
					{i.silenced_until && <> · <Link page="silences">silent</Link> until <Time at={i.silenced_until} /></>}
				</p>
			</div>
			<div class="acts">
				<Link class="button small" page={page} params={params} aria-label={`${label}: ${i.key}`}>{label}</Link>
				{!i.acknowledged && i.key && (
					<ChangeButton label="Acknowledge" class="small" describe={`acknowledge ${i.key}`} title="I take this on" verb="Acknowledge" done={`${i.key} is acknowledged.`}
						lead={<>{i.summary}. It is not sent again, and others see your name.</>}
						send={(reason) => call('POST', address(['incidents', i.key, 'acknowledge']), { reason })} />
				)}
				{!i.silenced_until && i.key && <Silence incident={i} />}
			</div>
		</li>
	);
}

// Warnings that no incident tells about: some are never an incident, others not yet, since
// the leader judges once a minute.
function alone(warnings, incidents) {
	return (warnings ?? []).filter((w) => !incidents.some((i) => i.kind === w.warning));
}

// Incidents come from the count of the leader.  Without a count nobody may say that all is
// well.
function uncounted(data) {
	const age = data.counted_at ? since(data.counted_at, new Date(data.now ?? Date.now())) : null;

	if (age !== null && age < UNCOUNTED_S) return [];
	return [{
		key: '', kind: 'silent', severity: 'page', opened: data.counted_at, summary: data.counted_at ? `Nobody has counted tasks for ${length(age)}` : 'Nobody has ever counted tasks',
		detail: 'A leading sidecar counts once a minute, and opens and ends incidents. The figures below are old.', hint: 'see whether a sidecar runs and reaches the database: twtasksctl doctor',
	}];
}

function Notes({ of: warnings }) {
	if (!warnings.length) return null;
	return <ul class="notes">{warnings.map((w) => <li key={w.warning + w.detail}><strong>{w.warning}</strong>: {w.detail}{w.hint && <span class="quiet"> → {w.hint}</span>}</li>)}</ul>;
}

function Looked({ data, at, now }) {
	return <p class="meta">Looked at {clock(at)}. Tasks were counted {data.counted_at ? relative(new Date(data.counted_at), now) : 'never: no sidecar leads'}.</p>;
}

function Verdict({ data, at, now }) {
	const incidents = [...uncounted(data), ...(data.incidents ?? [])].sort((a, b) => (a.severity === b.severity ? new Date(a.opened) - new Date(b.opened) : a.severity === 'page' ? -1 : 1));
	const more = alone(data.warnings, incidents);
	const n = Math.max(incidents.length, data.incidents_open ?? 0);
	const [all, setAll] = useState(false);
	const shown = all ? incidents : incidents.slice(0, 6);

	if (n === 0)
		return (
			<section class="verdict fine" aria-label="verdict">
				<h2><span class="sign" aria-hidden="true">✓</span> Nothing is wrong{data.well_since && <> since <Time at={data.well_since} /></>}</h2>
				<Looked data={data} at={at} now={now} />
				<Notes of={more} />
			</section>
		);
	return (
		<section class={`verdict ${incidents.some((i) => i.severity === 'page') ? 'wrong' : 'uneasy'}`} aria-label="verdict">
			<h2>{count(n, 'thing')} {n === 1 ? 'is' : 'are'} wrong</h2>
			<ul>
				{shown.map((i) => <Incident key={i.key ?? i.id} of={i} now={now} />)}
			</ul>
			{incidents.length > 6 && <button type="button" class="plain" onClick={() => setAll(!all)}>{all ? 'Show fewer' : `Show ${incidents.length - 6} more`}</button>}
			<Notes of={more} />
			<Looked data={data} at={at} now={now} />
		</section>
	);
}

const Figure = ({ name, value, note, children }) => (
	<div class="figure"><dt>{name}</dt><dd><strong>{value}</strong>{children}{note && <small>{note}</small>}</dd></div>
);

// Whether the backlog grows, in words.
function trend(t, minutes) {
	if (!minutes.length) return '';
	const net = (t.out_per_min ?? 0) - (t.in_per_min ?? 0);

	if (!t.submitted) return 'no task can run';
	if (t.in_per_min === null || t.in_per_min === undefined || Math.abs(net) < 0.5) return t.in_per_min === null ? '' : 'steady';
	return net > 0 ? `shrinks ${number(net)}/min, empty in ${length((t.submitted / net) * 60)}` : `grows ${number(-net)}/min`;
}

function Figures({ totals: t, minutes }) {
	return (
		<dl class="figures-row">
			<Figure name="in / min" value={number(t.in_per_min)}><Spark values={minutes.map((m) => m.in)} label="in, 60 minutes" /></Figure>
			<Figure name="out / min" value={minutes.length ? number(t.out_per_min) : '–'}><Spark values={minutes.map((m) => m.out)} label="out, 60 minutes" /></Figure>
			<Figure name="backlog" value={`${number(t.submitted)}${t.capped ? '+' : ''}`} note={trend(t, minutes)} />
			<Figure name="oldest" value={length(since(t.oldest))} note={t.waiting ? `${number(t.waiting)} more wait for a time` : 'in the queue'} />
			<Figure name="p95 wait" value={length(t.p95_wait)} note="before a start" />
			<Figure name="p95 run" value={length(t.p95_run)} note="of a try" />
		</dl>
	);
}

function Buckets({ rows }) {
	return (
		<Table name="buckets" rows={rows} id={(b) => b.bucket} empty="No task has been counted yet." columns={[
			{ head: 'bucket', cell: (b) => b.bucket },
			{ head: 'backlog', num: true, cell: (b) => (b.submitted ? <Link page="tasks" params={{ bucket: b.bucket, status: 'SUBMITTED' }}>{number(b.submitted)}{b.capped ? '+' : ''}</Link> : '0') },
			{ head: 'oldest', num: true, cell: (b) => length(since(b.oldest)) },
			{ head: 'later', num: true, cell: (b) => number(b.waiting) },
			{ head: 'runs', num: true, cell: (b) => number(b.processing) },
		]} />
	);
}

export const TYPE_COLUMNS = [
	{ head: 'type', cell: (t) => <><Link page="type" params={{ type: t.type }} class="row-link">{t.type}</Link>{t.is_paused && <> <Tag tone="warn">‖ paused</Tag></>}</> },
	{ head: 'backlog', num: true, cell: (t) => (t.submitted ? <Link page="tasks" params={{ type: t.type, status: 'SUBMITTED' }}>{number(t.submitted)}{t.capped ? '+' : ''}</Link> : '0') },
	{ head: 'oldest', num: true, cell: (t) => length(since(t.oldest)) },
	{ head: 'later', num: true, cell: (t) => (t.waiting ? <Link page="tasks" params={{ type: t.type, status: 'WAITING' }}>{number(t.waiting)}</Link> : '0') },
	{ head: 'runs', num: true, cell: (t) => number(t.processing) },
	{ head: 'in/min', num: true, cell: (t) => number(t.in_per_min) },
	{ head: 'out/min', num: true, cell: (t) => number(t.out_per_min) },
	{ head: 'retry', num: true, cell: (t) => percent(t.retry_percent) },
	{ head: 'errors', num: true, cell: (t) => (Number(t.errors) ? <Link page="errors" params={{ type: t.type }} class="bad-link">{number(t.errors)}</Link> : '0') },
	{ head: 'p95 run', num: true, cell: (t) => length(t.p95_run) },
	{ head: 'slots', cell: (t) => (t.slots === null ? <span class="quiet">no limit</span> : <Meter used={t.slots_used ?? 0} of={t.slots} />) },
];

export function Overview({ overview: answer }) {
	const now = useNow(1000);
	const d = answer.data;
	const minutes = d?.flow?.minutes ?? [];
	const [most, setMost] = useState(25);

	useStore(me);
	return (
		<Page title="Overview" answers={[answer]}>
			{d && (
				<>
					<Verdict data={d} at={answer.at} now={now} />
					<Figures totals={d.totals ?? {}} minutes={minutes} />
					<div class="columns">
						<Panel title="Tasks per minute" class="grow">
							{minutes.length ? <Flow minutes={minutes} /> : <Empty>No sidecar has reported a minute yet.</Empty>}
						</Panel>
						<Panel title="Backlog by bucket" aside={<Link page="nodes">Nodes and queues</Link>}><Buckets rows={d.buckets ?? []} /></Panel>
					</div>
					<Panel title="Types, the worst first" aside={<Link page="types">All types and limits</Link>}>
						<Table name="types" rows={(d.types ?? []).slice(0, most)} columns={TYPE_COLUMNS} id={(t) => `${t.bucket} ${t.type}`} empty="No task has been counted yet." mark={(t) => (Number(t.errors) ? 'has-errors' : '')} />
						{(d.types ?? []).length > most && <button type="button" class="plain" onClick={() => setMost(200)}>Show {Math.min(200, d.types.length) - most} more</button>}
					</Panel>
				</>
			)}
		</Page>
	);
}

// Pages of twtasks_events and twtasks_kinds.
import { useState } from 'preact/hooks';
import { address, call, me, useAnswer, useStore } from './api.js';
import { ChangeButton } from './actions.jsx';
import { Machine } from './machine.jsx';
import { count, number } from './format.js';
import { Field } from './fields.jsx';
import { Empty, Facts, GoOn, Id, Link, Page, Panel, Status, Table, Tag, Time } from './parts.jsx';
import { go, to } from './route.js';

const Trouble = ({ children }) => <span class="status bad"><i aria-hidden="true">✕</i>{children}</span>;

// ---- streams of ordered events ----

function Objects({ stream, params }) {
	const state = params.state ?? 'blocked';
	const answer = useAnswer(address(['streams', stream, 'objects'], { state, cursor: params.cursor, limit: 100 }));
	const d = answer.data;

	return (
		<Panel title={`Objects of ${stream}`} aside={
			<label>Show <select value={state} onChange={(e) => go(to('streams', { stream, after: params.after, state: e.currentTarget.value }))}><option value="blocked">those that stand</option><option value="queued">those with events</option><option value="all">all</option></select></label>}>
			<Table name="objects" rows={d?.items} id={(o) => o.object} empty={answer.problem ? answer.problem.message : d ? 'There is none.' : 'Loading …'} columns={[
				{ head: 'object', cell: (o) => o.object },
				{ head: 'queued', num: true, cell: (o) => `${number(o.queued)}${o.queued_capped ? '+' : ''}` },
				{ head: 'oldest', cell: (o) => <Time at={o.oldest} /> },
				{ head: 'head', cell: (o) => (o.head ? <><Id id={o.head} short /> <Status is={o.status} /></> : <span class="quiet">–</span>) },
				{ head: 'given, sent', num: true, cell: (o) => `${number(o.last_id)}, ${number(o.sent_id)}` },
				{ head: 'why it stands', wide: true, cell: (o) => (o.problem ? <Trouble>{o.problem}</Trouble> : <span class="quiet">it goes on</span>) },
			]} />
			<GoOn page="streams" params={params} cursor={d?.cursor} />
		</Panel>
	);
}

export function Streams({ params }) {
	const answer = useAnswer(address(['streams'], { limit: 100, cursor: params.after }));
	const rows = answer.data?.items ?? [];
	const stream = params.stream ?? rows[0]?.name;

	return (
		<Page title="Streams" answers={[answer]} lead="Each object has its events done in order, one after the other.">
			<Panel title="Streams">
				<Table name="streams" rows={rows} id={(s) => s.name} empty="No stream is configured." columns={[
					{ head: 'stream', cell: (s) => <Link page="streams" params={{ stream: s.name, after: params.after }} class="row-link" aria-current={s.name === stream ? 'true' : undefined}>{s.name}</Link> },
					{ head: 'type', cell: (s) => <Link page="type" params={{ type: s.type }}>{s.type}</Link> },
					{ head: 'bucket', cell: (s) => s.bucket },
					{ head: 'batch', num: true, cell: (s) => number(s.batch) },
					{ head: 'changed', cell: (s) => <><Time at={s.changed_at} /> <small>{s.changed_by}</small></> },
				]} />
				<GoOn page="streams" params={{}} cursor={answer.data?.cursor} as="after" />
			</Panel>
			{stream && <Objects key={stream} stream={stream} params={params} />}
		</Page>
	);
}

// ---- kinds of task ----

export function Kinds({ params }) {
	const answer = useAnswer(address(['kinds'], { limit: 100, cursor: params.cursor }));
	const rows = answer.data?.items ?? [];

	return (
		<Page title="Kinds" answers={[answer]} lead="Kinds of task that ask a third party, and what its silence means for each.">
			<Panel>
				<Table name="kinds" rows={rows} id={(k) => k.name} empty="No kind is configured." columns={[
					{ head: 'name', cell: (k) => <Link page="kind" params={{ kind: k.name }} class="row-link">{k.name}</Link> },
					{ head: 'kind', cell: (k) => k.kind },
					{ head: 'undecided', num: true, cell: (k) => `${number(k.undecided)}${k.undecided_capped ? '+' : ''}` },
					{ head: 'type', cell: (k) => (k.type ? <Link page="type" params={{ type: k.type }}>{k.type}</Link> : '–') },
					{ head: 'attempts', num: true, cell: (k) => (k.attempts === null ? 'any' : number(k.attempts)) },
					{ head: 'starts', cell: (k) => ((k.reactions ?? []).map((r) => `${r.decision} → ${r.then_kind}`).join(', ') || <span class="quiet">–</span>) },
					{ head: 'changed', cell: (k) => <><Time at={k.changed_at} /> <small>{k.changed_by}</small></> },
				]} />
				<GoOn page="kinds" params={params} cursor={answer.data?.cursor} />
			</Panel>
		</Page>
	);
}

function Identifiers({ params }) {
	const answer = useAnswer(address(['outcomes'], { kind: params.kind, state: params.state, cursor: params.cursor, limit: 50 }));
	const [text, set] = useState('');
	const find = (event) => {
		event.preventDefault();
		go(to('kind', { kind: params.kind, identifier: text.trim() }));
	};

	return (
		<Panel title="Identifiers" aside={
			<form class="decide" onSubmit={find}>
				<input type="search" aria-label="open an identifier" placeholder="identifier" required value={text} onInput={(e) => set(e.currentTarget.value)} />
			</form>}>
			<Table name="identifiers" rows={answer.data?.items} id={(o) => o.identifier} empty={answer.problem ? answer.problem.message : answer.data ? (params.state ? 'There is none.' : 'None is undecided. Open a decided one by its name.') : 'Loading …'} columns={[
				{ head: 'identifier', cell: (o) => <Link page="kind" params={{ kind: params.kind, identifier: o.identifier }} class="row-link">{o.identifier}</Link> },
				{ head: 'at', cell: (o) => (o.decided ? <Tag tone="good">✓ {o.decision}</Tag> : <>{o.step} <small>try {o.attempt}</small></>) },
				{ head: 'started', cell: (o) => <Time at={o.started} /> },
				{ head: 'decided', cell: (o) => <Time at={o.decided} /> },
				{ head: 'problem', wide: true, cell: (o) => (o.problem ? <Trouble>{o.problem}</Trouble> : o.uncertain ? <Tag tone="warn">! uncertain</Tag> : <span class="quiet">none</span>) },
			]} />
			<GoOn page="kind" params={params} cursor={answer.data?.cursor} />
		</Panel>
	);
}

function Identifier({ of: d }) {
	const o = d.outcome;

	return (
		<>
			<Panel>
				<Facts of={[
					['state', d.state], ['step', `${o.step}, attempt ${o.attempt}`], o.task && ['task', <><Id id={o.task} /> <Status is={o.status} /></>],
					['started', <Time at={o.started} />], o.due && ['due', <Time at={o.due} />], o.expires && ['expires', <Time at={o.expires} />],
					o.decided && ['decided', <><Time at={o.decided} /> <strong>{o.decision}</strong>{o.decided_by && <small> by {o.decided_by}</small>}</>],
					o.uncertain && ['uncertain', <Tag tone="warn">! nobody knows what the other side did</Tag>], o.fault && ['fault', o.fault], o.problem && ['problem', <Trouble>{o.problem}</Trouble>],
				]} />
			</Panel>
			{d.machine && <Panel title="Machine"><Machine of={d.machine} now={o.decided ? null : o.step} /></Panel>}
			<Panel title="Steps">
				<Table name="steps" rows={d.attempts} id={(a) => `${a.number} ${a.step} ${a.task}`} columns={[
					{ head: 'step', cell: (a) => `${a.number}. ${a.step}` }, { head: 'task', cell: (a) => (a.task ? <Id id={a.task} short /> : '–') },
					{ head: 'started', cell: (a) => <Time at={a.started} /> }, { head: 'ended', cell: (a) => <Time at={a.ended} /> },
					{ head: 'answer', cell: (a) => a.answer ?? '–' }, { head: 'fault', wide: true, cell: (a) => (a.fault ? <Trouble>{a.fault}</Trouble> : <span class="quiet">none</span>) },
				]} />
			</Panel>
			{d.anomalies?.length > 0 && (
				<Panel title="Anomalies: results that came after they were given up">
					<Table name="anomalies" rows={d.anomalies} id={(a) => `${a.seen} ${a.task}`} columns={[
						{ head: 'seen', cell: (a) => <Time at={a.seen} /> }, { head: 'step', cell: (a) => `${a.number}. ${a.step}` }, { head: 'what', wide: true, cell: (a) => a.what },
						{ head: 'decision', cell: (a) => a.decision ?? '–' }, { head: 'closed', cell: (a) => (a.closed ? <><Time at={a.closed} /> {a.reason}</> : <Tag tone="warn">! open</Tag>) },
					]} />
				</Panel>
			)}
		</>
	);
}

export function Kind({ params }) {
	const machine = useAnswer(params.identifier ? null : address(['kind-machines', params.kind ?? '']), 0);
	const one = useAnswer(params.identifier ? address(['kinds', params.kind, params.identifier]) : null);

	if (params.identifier)
		return (
			<Page key={params.identifier} title={params.identifier} answers={[one]} lead={<>An identifier of the kind <Link page="kind" params={{ kind: params.kind }}>{params.kind}</Link>.</>}>
				{one.data?.outcome && <Identifier of={one.data} />}
			</Page>
		);
	return (
		<Page title={params.kind ?? 'Kind'} parts={{ Machine: machine }} lead="A kind of task.">
			<Panel title="Machine" of={machine}>{machine.data && <Machine of={machine.data} />}</Panel>
			<Identifiers params={params} />
		</Page>
	);
}

// ---- to-do ----

function Answer({ of: i }) {
	const [text, set] = useState('{}');
	let fault;

	try {
		JSON.parse(text);
	} catch (e) {
		fault = `This is not JSON: ${e.message}`;
	}
	return (
		<ChangeButton needsReason={false} label="Answer …" class="primary" describe={`answer ${i.identifier}`} title={`Answer ${i.identifier}`} verb="Answer" ready={!fault} done={`${i.identifier} is answered.`}
			lead="An item has one outcome, ever."
			// As it was written, since JavaScript would change long numbers.
			send={() => call('POST', address(['to-do', i.kind, i.identifier]), `{"data":${text}}`)}>
			<Field label="Answer, as JSON" hint={fault ?? 'As the decide function of the kind takes it.'}><textarea class="mono" rows="6" spellcheck={false} value={text} onInput={(e) => set(e.currentTarget.value)} /></Field>
		</ChangeButton>
	);
}

export function ToDo({ params }) {
	const answer = useAnswer(address(['to-do'], { cursor: params.cursor }));
	const d = answer.data;
	const rows = d?.items ?? [];

	useStore(me);
	return (
		<Page title="To-do" answers={[answer]} lead="Items that wait for the answer of a person.">
			{rows.length > 0 ? (
				<div class="cards">
					{rows.map((i) => (
						<article key={`${i.kind} ${i.identifier}`} class="card" data-row>
							<header><h2><Link page="kind" params={{ kind: i.kind, identifier: i.identifier }} class="row-link">{i.identifier}</Link> <small>{i.kind}</small></h2><span class="meta">since <Time at={i.started} />{i.expires && <> · until <Time at={i.expires} /></>}</span></header>
							{i.read_model_text && <pre tabindex="0" aria-label={`item ${i.identifier}`}>{i.read_model_text}</pre>}
							<div class="decide"><Answer of={i} /></div>
						</article>
					))}
				</div>
			) : <Panel><Empty>Nothing waits for an answer of yours.</Empty></Panel>}
			{(d?.kinds ?? []).some((k) => !k.may_read && k.open) && <p class="meta">{d.kinds.filter((k) => !k.may_read && k.open).map((k) => `${count(k.open, 'item')} of ${k.name} ${k.open === 1 ? 'waits' : 'wait'} for ${k.answerers.join(', ') || 'somebody else'}`).join('; ')}.</p>}
			<GoOn page="todo" params={params} cursor={d?.cursor} />
		</Page>
	);
}

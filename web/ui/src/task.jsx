// One task: why it is where it is, its life, its attempts, and what may be done.
import { useState } from 'preact/hooks';
import { address, call, me, may, useAnswer, useHold, useStore } from './api.js';
import { actionsFor, Change, commandFor, TaskAction } from './actions.jsx';
import { difference } from './diff.js';
import { count, length, number, taskId } from './format.js';
import { Command, Copy, Empty, Facts, Link, Page, Panel, Status, Tag, Time } from './parts.jsx';

const ENDS = ['DONE', 'FAILED', 'CANCELLED'];
const PERSONS = /resume|reschedul|cancel|fail_|hold|release|reopen|request/;
const BAD = /error|failed|unknown|expired|late/;

function Why({ why }) {
	if (!why) return null;
	const queued = why.status === 'SUBMITTED' && why.place !== null;
	return (
		<Panel>
			<p class="sentence">{why.sentence}</p>
			{(queued || why.starts) && (
				<p class="meta">
					{queued && <>{number(why.place)}{why.place_capped ? ' or more' : ''} before it. </>}
					{why.starts && <>It starts <Time at={why.starts} />.</>}
				</p>
			)}
			{why.cancel_requested && <p class="meta">{why.cancel_requested.actor} asked its handler to stop, <Time at={why.cancel_requested.requested} />: {why.cancel_requested.reason}</p>}
			{(why.advice ?? []).length > 0 && (
				<details>
					<summary>{count(why.advice.length, 'remedy', 'remedies')}, each with its statement</summary>
					{why.advice.map((a) => <div key={a.do}><p>{a.do}</p>{a.sql && <Command text={a.sql} />}</div>)}
				</details>
			)}
		</Panel>
	);
}

// Waits and runs on one line of time.  A run that is too short to see has two pixels.
function Bars({ attempts, task }) {
	const spans = attempts.filter((a) => a.started);
	const first = new Date(task.created).getTime();
	const ended = ENDS.includes(task.status) ? new Date(task.state_time).getTime() : Date.now();
	const last = Math.max(ended, ...spans.map((a) => new Date(a.ended ?? ended).getTime()), first + 1);
	const x = (at) => (1000 * (new Date(at).getTime() - first)) / (last - first);
	if (task.status === 'PROCESSING' && task.started) spans.push({ started: task.started, ended: null, result: 'running', runnable: null });
	const run = spans.reduce((n, a) => n + (new Date(a.ended ?? ended) - new Date(a.started)), 0);
	return (
		<figure class="chart bars">
			<svg viewBox="0 0 1000 26" width="100%" height="26" preserveAspectRatio="none" role="img" aria-label={`${count(spans.length, 'try', 'tries')} in ${length((last - first) / 1000)}: ${length(run / 1000)} running, the rest waiting`}>
				<rect class="wait" x="0" y="10" width="1000" height="6" />
				{spans.map((a, i) => {
					const good = a.result === 'done' || a.result === 'running';
					return <rect key={i} class={good ? 'run' : 'end-bad'} x={x(a.started)} y={good ? 4 : 1} width={Math.max(3, x(a.ended ?? ended) - x(a.started))} height={good ? 18 : 24}><title>{`try ${a.try ?? ''}: ${a.result}`}</title></rect>;
				})}
			</svg>
			<figcaption>
				<span><Time at={task.created} /> to {ENDS.includes(task.status) ? <Time at={task.state_time} /> : 'now'}, {length((last - first) / 1000)}</span>
				<span class="key"><svg width="14" height="6" aria-hidden="true"><rect class="wait" width="14" height="6" /></svg> waits {length((last - first - run) / 1000)}</span>
				<span class="key"><svg width="10" height="10" aria-hidden="true"><rect class="run" width="10" height="10" /></svg> runs {length(run / 1000)}</span>
				<span class="key"><svg width="10" height="14" aria-hidden="true"><rect class="end-bad" width="10" height="14" /></svg> a try without success (taller)</span>
			</figcaption>
		</figure>
	);
}

function tone(e) {
	if (e.event === 'done') return 'good';
	if (e.event === 'start') return 'run';
	if (BAD.test(e.event)) return 'bad';
	return PERSONS.test(e.event) ? 'person' : '';
}

function Life({ events, problem }) {
	if (!events && problem?.status !== 404) return <Empty>{problem ? problem.message : 'Loading …'}</Empty>;
	if (!events?.length) return <Empty>Nothing is kept of its life.</Empty>;
	return (
		<ol class="life">
			{events.map((e, i) => {
				// clocks of two nodes may differ
				const gap = i ? Math.max(0, new Date(e.at) - new Date(events[i - 1].at)) / 1000 : null;
				return (
					<li key={i} class={tone(e)}>
						<div class="left"><Time at={e.at} />{gap !== null && <span class="gap">+{length(gap)}</span>}</div>
						<span class="dot" aria-hidden="true" />
						<div class="event"><strong>{e.event}</strong> {e.status && e.event !== 'now' && <Tag>{e.status}</Tag>}{e.version !== null && e.version !== undefined && <span class="quiet"> version {e.version}</span>}{e.actor && <span class="quiet"> by {e.actor}</span>}{e.node && <span class="quiet"> on {e.node}</span>}{e.detail && <p>{e.detail}</p>}</div>
					</li>
				);
			})}
		</ol>
	);
}

function Attempts({ attempts, is_cut }) {
	const failed = attempts.filter((a) => a.error);

	if (!failed.length) return null;
	return (
		<Panel title="Errors of its tries">
			<ol class="attempts">
				{[...failed].reverse().map((a, i, all) => {
					const before = all[i + 1];
					return (
						<li key={a.version}>
							<p><strong>try {a.try}</strong> <Tag tone="bad">{a.result}</Tag> <Time at={a.ended} /> <span class="quiet">ran {length((new Date(a.ended) - new Date(a.started)) / 1000)}{a.node && ` on ${a.node}`}</span></p>
							{before?.error === a.error
								? <p class="quiet">The same error as in try {before.try}.</p>
								: <pre tabindex="0" aria-label={`error of try ${a.try}`}>{before ? difference(before.error, a.error).map((p, n) => (p.is_new ? <mark key={n}>{p.text}</mark> : p.text)) : a.error}</pre>}
						</li>
					);
				})}
			</ol>
			<p class="meta">Marked: words that differ from the try before.{is_cut && ' There are earlier tries: GET /api/v1/tasks/ID/attempts has all.'}</p>
		</Panel>
	);
}

function Payload({ task }) {
	const [open, set] = useState(false);
	const [shown, setShown] = useState(null);

	useStore(me);
	useHold(open);
	if (!may('payload')) return null;
	// As text from the database, since JavaScript would change long numbers.
	const parts = shown && [shown.data, shown.payload].filter((part) => part !== null && part !== undefined);
	const text = shown && (parts.join('\n\n') || 'It has no data and no payload.');
	const read = async (reason) => {
		const ask = (as) => call('POST', address(['tasks', task.id, 'payload']), { reason, as });
		setShown(await ask('text').catch(async (problem) => {
			if (problem.status !== 422) throw problem;
			return { ...(await ask('base64')), is_coded: true };
		}));
	};
	return (
		<Panel title="Payload" aside={<button type="button" class="small" onClick={() => set(true)}>{shown ? 'Read it again' : 'Read it'} …</button>}>
			{shown ? <><pre tabindex="0" aria-label="payload">{text}</pre><p class="meta">{shown.is_coded && 'In base64, since it is not text in UTF-8. '}This read is recorded. <Copy text={text} label="the payload" /></p>
				{shown.outcome && <><pre tabindex="0" aria-label="outcome">{shown.outcome}</pre><p class="meta">The outcome that its handler gave. <Copy text={shown.outcome} label="the outcome" /></p></>}</> : <p class="quiet">Each read is recorded with your name and reason.</p>}
			{open && (
				<Change title="Read the payload" verb="Read it" done="The payload was read; the read is recorded." onClose={() => set(false)}
					lead="Your name, the time and the reason are recorded before it is shown, also if you may not read it."
					send={read} />
			)}
		</Panel>
	);
}

function Trace({ task }) {
	const { trace_url } = useStore(me) ?? {};

	return <span class="mono">{trace_url ? <a href={trace_url.replace('{trace_id}', encodeURIComponent(task.trace_id))} rel="noreferrer">{task.trace_id}</a> : task.trace_id} <Copy text={task.trace_id} label="the trace id" /></span>;
}

function Progress({ of: { percent, note, at } }) {
	return <><progress max="100" value={percent} aria-label="progress of the task" /> {percent} %{note && `: ${note}`} <span class="quiet">reported <Time at={at} /></span></>;
}

export function Task({ params }) {
	const id = taskId(params.id) ?? params.id ?? '';
	const task = useAnswer(address(['tasks', id]));
	const ended = ENDS.includes(task.data?.status);
	const every = ended ? 0 : 5000;
	const why = useAnswer(address(['tasks', id, 'why']), every);
	const life = useAnswer(address(['tasks', id, 'life']), every);
	const attempts = useAnswer(address(['tasks', id, 'attempts']), every);
	const t = task.data;
	const tries = [...(attempts.data?.items ?? [])].sort((a, b) => Number(a.version) - Number(b.version));
	const actions = t ? actionsFor(t.status) : [];

	useStore(me);
	if (task.problem?.status === 404)
		return <Page title="Task"><Empty>No task with the id <code>{id}</code> is kept. It may have ended longer ago than its history is kept, or been deleted at its end.</Empty></Page>;
	return (
		<Page title={t ? t.type : 'Task'} answers={[task]} parts={{ 'Why it does not run': why, 'Its life': life, 'Its tries': attempts }}
			lead={<span class="mono">{id} <Copy text={id} label="the id" /></span>}
			aside={t && actions.map((a, i) => <TaskAction key={a} task={t} action={a} class={i === 0 ? 'primary' : ''} />)}>
			{t && (
				<>
					<Why why={why.data} />
					<Panel>
						<Facts of={[
							['status', <><Status is={t.status} /> since <Time at={t.state_time} /></>],
							['version', t.version], ['tries', number(t.tries)],
							['type', <><Link page="type" params={{ type: t.type }}>{t.type}</Link>{t.sub_type && ` ${t.sub_type}`}</>],
							['bucket, priority', `${t.bucket}, ${t.priority}`],
							t.key && ['key', <span class="mono">{t.key} <Copy text={t.key} label="the key" /></span>],
							t.status === 'WAITING' && ['runs', <Time at={t.next_event_time} />],
							t.progress && ['progress', <Progress of={t.progress} />],
							t.deadline && ['deadline', <Time at={t.deadline} />], t.expires && ['expires', <Time at={t.expires} />],
							['added', <><Time at={t.created} />{t.added_by && ` by ${t.added_by}`}</>],
							t.node && ['node', t.node], t.unknown_outcome && ['outcome', <Link page="unknown">unknown: decide it</Link>], t.message && ['message', t.message],
							t.trace_id && ['trace', <Trace task={t} />],
						]} />
					</Panel>
					<Panel title="Life">
						{attempts.data && <Bars attempts={[...tries]} task={t} />}
						{life.data?.cursor && <p class="meta">Only its last events; twtasksctl life has all.</p>}
						<Life events={life.data?.items} problem={life.problem} />
					</Panel>
					<Attempts attempts={tries} is_cut={attempts.data?.cursor} />
					<Payload task={t} />
					<Panel title="On the command line">
						<Command text={`twtasksctl show ${id}`} />
						{actions.map((a) => <Command key={a} text={commandFor(t, a)} />)}
					</Panel>
				</>
			)}
		</Page>
	);
}

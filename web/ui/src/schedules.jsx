// Schedules: the next times in their zone and in yours, and what the last run became.
import { address, call, me, may, useAnswer, useStore } from './api.js';
import { ChangeButton } from './actions.jsx';
import { whenFull } from './format.js';
import { GoOn, Id, Link, Page, Panel, Status, Table, Tag, Time } from './parts.jsx';

function Acts({ of: s }) {
	const post = (verb) => (reason) => call('POST', address(['schedules', s.name, verb]), { reason, version: s.changed_at });

	return (
		<span class="decide one-line">
			<ChangeButton label="Run now" class="small" describe={`Run now: ${s.name}`} title={`Run ${s.name} now`} verb="Run now" done={`${s.name}: a task was added.`} lead="Adds one task more. The next times stay." send={post('run')} />
			{s.is_paused
				? <ChangeButton label="Resume" class="small" describe={`resume ${s.name}`} title={`Resume ${s.name}`} verb="Resume" done={`${s.name} goes on.`} send={post('resume')} />
				: <ChangeButton label="Pause" class="small" describe={`pause ${s.name}`} title={`Pause ${s.name}`} verb="Pause" danger done={`${s.name} is paused.`} lead="It adds no task until somebody resumes it." send={post('pause')} />}
		</span>
	);
}

export function Schedules({ params }) {
	const answer = useAnswer(address(['schedules'], { limit: 100, cursor: params.cursor }));

	useStore(me);
	return (
		<Page title="Schedules" answers={[answer]}>
			<Panel>
				<Table name="schedules" rows={answer.data?.items} id={(s) => s.name} empty="There is no schedule." columns={[
					{ head: 'schedule', cell: (s) => <>{s.name} {s.is_paused && <Tag tone="warn">‖ paused</Tag>}{s.problem && <p class="status bad"><i aria-hidden="true">✕</i>{s.problem}</p>}</> },
					{ head: 'cron', cell: (s) => <code class="one-line">{s.cron}</code> },
					{ head: 'next, yours', cell: (s) => (s.is_paused ? <span class="quiet">–</span> : <NextTimes of={s} />) },
					{ head: 'next, there', cell: (s) => (s.next?.length && !s.is_paused ? <>{String(s.next[0].local_time).replace('T', ' ').slice(0, 16)} <small>{s.time_zone}</small></> : <span class="quiet">–</span>) },
					{ head: 'type', cell: (s) => <Link page="type" params={{ type: s.type }} class="row-link">{s.type}</Link> },
					{ head: 'last run', cell: (s) => (s.last_run ? <><Time at={s.last_run} /> <Status is={s.last_status} />{s.last_error && <p>{s.last_error}</p>}{s.last_task && <> <Id id={s.last_task} short /></>}</> : <span class="quiet">never</span>) },
					{ head: 'missed', cell: (s) => (s.last_missed ? <span class="status warn"><i aria-hidden="true">!</i><Time at={s.last_missed} /></span> : <span class="quiet">none</span>) },
					...(may('operator') ? [{ head: 'change', cell: (s) => <Acts of={s} /> }] : []),
				]} />
				<GoOn page="schedules" params={params} cursor={answer.data?.cursor} />
			</Panel>
		</Page>
	);
}

function NextTimes({ of: s }) {
	const times = (s.next ?? []).map((n) => n.occurrence);

	if (!times.length) return <span class="quiet">never</span>;
	return <details><summary><Time at={times[0]} /></summary><ul class="plain-list">{times.map((t) => <li key={t}>{whenFull(new Date(t))}</li>)}</ul></details>;
}

// Changes by people, and reads of payloads.
import { useEffect, useState } from 'preact/hooks';
import { address, useAnswer } from './api.js';
import { Field } from './fields.jsx';
import { GoOn, Id, Link, Page, Panel, Table, Tag, Time } from './parts.jsx';
import { go, to } from './route.js';

const FILTERS = ['task', 'person', 'since', 'until'];
const OF = { tasks: 'tasks', policies: 'types, buckets and limits', schedules: 'schedules' };

const person = (r) => <>{r.on_behalf_of ?? r.actor}{r.on_behalf_of && <small> by {r.actor}</small>}{!r.on_behalf_of && r.role && r.role !== r.actor && <small> as {r.role}</small>}</>;

export function Audit({ params }) {
	const [values, set] = useState(params);
	const changes = useAnswer(address(['audit'], { ...params, limit: 100 }), 10000);
	const reads = useAnswer(address(['payload-reads'], { limit: 50 }), 10000);

	useEffect(() => set(params), [JSON.stringify(params)]);
	const forbidden = reads.problem?.status === 403 || reads.problem?.status === 404;
	return (
		<Page title="Audit" parts={{ Changes: changes, ...(forbidden ? {} : { 'Reads of payloads': reads }) }}>
			<Panel>
				<form class="filters" aria-label="filters" onSubmit={(e) => { e.preventDefault(); go(to('audit', { ...values, cursor: undefined })); }}>
					<Field label="changes of"><select value={values.of ?? 'tasks'} onChange={(e) => go(to('audit', { of: e.currentTarget.value === 'tasks' ? undefined : e.currentTarget.value }))}>{Object.entries(OF).map(([name, text]) => <option key={name} value={name}>{text}</option>)}</select></Field>
					{FILTERS.filter((n) => n !== 'task' || !params.of).map((name) => <Field key={name} label={name}><input name={name} value={values[name] ?? ''} autocomplete="off" placeholder={/since|until/.test(name) ? '2026-01-31T03:00Z' : ''} onInput={(e) => set({ ...values, [name]: e.currentTarget.value })} /></Field>)}
					<button type="submit" class="primary">Filter</button>
					{Object.keys(params).length > 0 && <Link class="button" page="audit">Clear</Link>}
				</form>
			</Panel>
			<Panel title="Changes" of={changes}>
				<Table name="changes" rows={changes.data?.items} id={(r, i) => r.id ?? i} empty={Object.keys(params).length ? 'No change matches.' : 'Nobody has changed anything.'} columns={[
					{ head: 'time', cell: (r) => <Time at={r.at} /> },
					{ head: 'person', cell: person },
					{ head: 'action', cell: (r) => <Tag>{r.action}</Tag> },
					{ head: 'object', cell: (r) => (r.kind === 'task' ? <Id id={r.name} short /> : <>{r.name} <small>{r.kind}</small></>) },
					{ head: 'to', cell: (r) => r.to_status ?? '–' },
					{ head: 'reason', wide: true, cell: (r) => r.reason ?? '–' },
				]} />
				<GoOn page="audit" params={params} cursor={changes.data?.cursor} />
			</Panel>
			{!forbidden && (
				<Panel title="Reads of payloads" of={reads}>
					<Table name="reads of payloads" rows={reads.data?.items} id={(r, i) => r.id ?? i} empty="Nobody has read a payload." columns={[
						{ head: 'time', cell: (r) => <Time at={r.at} /> },
						{ head: 'person', cell: person },
						{ head: 'task', cell: (r) => <><Id id={r.task_id} short /> <small>{r.type}</small></> },
						{ head: 'answer', cell: (r) => (r.was_denied ? <Tag tone="bad">✕ denied</Tag> : <Tag>given</Tag>) },
						{ head: 'reason', wide: true, cell: (r) => r.reason },
					]} />
				</Panel>
			)}
		</Page>
	);
}

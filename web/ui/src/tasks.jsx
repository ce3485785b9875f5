// Tasks by filters, which stand in the address; changes of chosen rows or of all that match.
import { useEffect, useState } from 'preact/hooks';
import { address, may, me, useAnswer, useHold, useStore } from './api.js';
import { ACTIONS, BulkChange } from './actions.jsx';
import { count, length, number } from './format.js';
import { Field } from './fields.jsx';
import { Id, Link, Page, Panel, Status, Table, Time } from './parts.jsx';
import { go, to } from './route.js';

const STATUSES = ['WAITING', 'SUBMITTED', 'PROCESSING', 'ERROR', 'HELD', 'DONE', 'FAILED', 'CANCELLED'];
const FILTERS = ['status', 'type', 'key', 'key_prefix', 'error', 'bucket', 'node', 'sub_type', 'priority', 'added_by', 'since', 'until'];
const WORDS = { key_prefix: 'key begins with', sub_type: 'sub-type', added_by: 'added by', error: 'error contains' };
const FIRST = 5;

export const COLUMNS = [
	{ head: 'task', cell: (t) => <><Id id={t.id} short />{t.key && <small class="key-line"> {t.key}</small>}</> },
	{ head: 'type', cell: (t) => <>{t.type}{t.sub_type && <small> {t.sub_type}</small>}</> },
	{ head: 'status', cell: (t) => <Status is={t.status} /> },
	{ head: 'since', cell: (t) => <Time at={t.state_time} /> },
	{ head: 'age', num: true, cell: (t) => length((Date.now() - new Date(t.created)) / 1000) },
	{ head: 'tries', num: true, cell: (t) => number(t.tries) },
	{ head: 'next', cell: (t) => (t.status === 'WAITING' ? <Time at={t.next_event_time} /> : <span class="quiet">–</span>) },
	{ head: 'error', wide: true, cell: (t) => (t.error ? <span class="clip">{t.error}</span> : <span class="quiet">–</span>) },
];

const asTime = (value) => (value && !Number.isNaN(new Date(value).getTime()) ? new Date(value).toISOString() : undefined);
const asLocal = (value) => {
	const date = new Date(value);
	return value && !Number.isNaN(date.getTime()) ? new Date(date - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16) : '';
};

function Filters({ params }) {
	const [values, set] = useState(params);
	const [more, setMore] = useState(FILTERS.slice(FIRST).some((f) => params[f]));
	const key = JSON.stringify(params);

	useEffect(() => set(params), [key]);
	const change = (name, value) => {
		const next = { ...values, [name]: value, cursor: undefined };
		set(next);
		return next;
	};
	const submit = (event) => {
		event?.preventDefault();
		go(to('tasks', { ...values, cursor: undefined }));
	};
	const input = (name) => (
		<Field key={name} label={WORDS[name] ?? name}>
			{name === 'since' || name === 'until'
				? <input type="datetime-local" value={asLocal(values[name])} onInput={(e) => change(name, asTime(e.currentTarget.value))} />
				: <input name={name} value={values[name] ?? ''} autocomplete="off" spellcheck={false} onInput={(e) => change(name, e.currentTarget.value)} placeholder={name === 'type' ? 'TYPE or TYPE*' : ''} />}
		</Field>
	);
	return (
		<form class="filters" onSubmit={submit} aria-label="filters">
			<Field label="status">
				<select value={values.status ?? ''} onChange={(e) => go(to('tasks', change('status', e.currentTarget.value)))}>
					<option value="">any</option>
					{STATUSES.map((s) => <option key={s} value={s}>{s}</option>)}
				</select>
			</Field>
			{FILTERS.slice(1, more ? undefined : FIRST).map(input)}
			<button type="submit" class="primary">Filter</button>
			{!more && <button type="button" class="plain" onClick={() => setMore(true)}>More filters</button>}
			{Object.keys(params).length > 0 && <Link class="button" page="tasks">Clear</Link>}
		</form>
	);
}

// Chosen rows, or else all that match: what may be done to them.
function ActionBar({ params, rows, chosen, unchoose }) {
	const [asks, set] = useState(null);
	const filter = Object.fromEntries(FILTERS.filter((f) => params[f]).map((f) => [f, params[f]]));
	const statuses = new Set(chosen.size ? rows.filter((r) => chosen.has(r.id)).map((r) => r.status) : params.status?.split(',') ?? rows.map((r) => r.status));
	// Changes have no filter by priority, and look for ended tasks only by a time or a key.
	const offers = (name) => chosen.size > 0 || (!filter.priority && (name !== 'reopen' || filter.since || filter.key || filter.key_prefix));
	const names = Object.keys(ACTIONS).filter((name) => ACTIONS[name].from.some((s) => statuses.has(s)) && offers(name));
	const types = [...new Set(rows.filter((r) => chosen.has(r.id)).map((r) => r.type))];

	useStore(me);
	useHold(chosen.size > 0);
	if (!may('operator') || !rows.length || !names.length) return null;
	// The walk of a change needs a type; "*" means all.
	const chosenFilter = { type: types.length === 1 ? types[0] : '*', status: ACTIONS[asks]?.from.join(',') };
	return (
		<div class={`action-bar${chosen.size ? ' is-chosen' : ''}`} role="group" aria-label="change tasks">
			<strong>{chosen.size ? `${count(chosen.size, 'task')} chosen` : 'All that match'}</strong>
			{names.map((name) => <button key={name} type="button" class="small" onClick={() => set(name)}>{ACTIONS[name].says} …</button>)}
			{chosen.size > 0 && <button type="button" class="plain small" data-unchoose onClick={unchoose}>Choose none</button>}
			{chosen.size > 0 && <span class="quiet">The page stands still meanwhile.</span>}
			{asks && (
				<BulkChange action={asks} what={chosen.size ? count(chosen.size, 'chosen task') : 'all that match'} ids={chosen.size ? [...chosen] : undefined} filter={chosen.size ? chosenFilter : { type: '*', ...filter }}
					onClose={(answer) => { set(null); if (answer) unchoose(); }} />
			)}
		</div>
	);
}

export function Tasks({ params }) {
	const answer = useAnswer(address(['tasks'], { ...params, limit: 50 }));
	const [chosen, setChosen] = useState(new Set());
	const d = answer.data;
	const rows = d?.items ?? [];

	useEffect(() => setChosen(new Set()), [JSON.stringify(params)]);
	const choose = (id, is) => {
		const next = new Set(Array.isArray(id) ? [] : chosen);
		if (Array.isArray(id)) id.forEach((one) => next.add(one));
		else if (is) next.add(id);
		else next.delete(id);
		setChosen(next);
	};
	return (
		<Page title="Tasks" answers={[answer]}>
			<Panel>
				<Filters params={params} />
			</Panel>
			<ActionBar key={JSON.stringify(params)} params={params} rows={rows} chosen={chosen} unchoose={() => setChosen(new Set())} />
			<Panel>
				<Table name="tasks" columns={COLUMNS} rows={rows} id={(t) => t.id} chosen={chosen} onChoose={may('operator') ? choose : undefined}
					empty={params.key ? 'No task that is kept has this key. Try "key begins with", a type, or a text of the error.' : d?.is_complete === false ? 'No task matches among the tasks that were looked at.' : 'No task matches.'} />
				<p class="meta pager">
					{d && <span>Looked at {count(d.looked_at ?? rows.length, 'task')}{d.looked_back_to && <>, back to <Time at={d.looked_back_to} /></>}{d.is_complete === false ? '; there may be more' : d.cursor ? '' : '; these are all'}.</span>}
					{params.cursor && <Link page="tasks" params={{ ...params, cursor: undefined }}>Newest</Link>}
					{d?.cursor && <Link page="tasks" params={{ ...params, cursor: d.cursor }} class="button small">Go on</Link>}
				</p>
			</Panel>
		</Page>
	);
}

// Changes by people: each one asks for a reason, and says what it will do before.
import { useEffect, useState } from 'preact/hooks';
import { address, call, changed, me, may, notice, useHold, useStore } from './api.js';
import { count, number } from './format.js';
import { Command, Dialog, Field, Id, Reason, Status, Tag } from './parts.jsx';
import { shell } from './format.js';

// What may be done to tasks: of which statuses, and in words.
export const ACTIONS = {
	resume: { from: ['ERROR', 'WAITING'], says: 'Resume', done: 'run again' },
	reschedule: { from: ['WAITING'], says: 'Reschedule', done: 'run at another time', time: true },
	hold: { from: ['WAITING', 'SUBMITTED', 'ERROR'], says: 'Hold', done: 'wait until somebody releases them' },
	release: { from: ['HELD'], says: 'Release', done: 'run', time: true },
	cancel: { from: ['WAITING', 'SUBMITTED', 'PROCESSING', 'HELD'], says: 'Cancel', done: 'end as CANCELLED, or be asked to stop' },
	fail: { from: ['ERROR'], says: 'Fail', done: 'end as FAILED' },
	reopen: { from: ['FAILED', 'CANCELLED'], says: 'Reopen', done: 'run again', time: true },
};

const MOST = 5000;	// of one change

export const actionsFor = (status) => Object.keys(ACTIONS).filter((name) => ACTIONS[name].from.includes(status));

export function Refused({ problem }) {
	if (!problem) return null;
	return <p class="trouble" role="alert"><strong>{problem.body?.title ?? 'Refused'}.</strong> {problem.message}</p>;
}

// The one frame of all changes.  send() is called with the reason; its answer goes to onDone.
export function Change({ title, verb, lead, send, done, onClose, children, ready = true, danger, needsReason = true }) {
	const [reason, setReason] = useState('');
	const [busy, setBusy] = useState(false);
	const [problem, setProblem] = useState(null);

	useHold(true);
	const submit = async (event) => {
		event.preventDefault();
		if (busy || !ready) return;
		setBusy(true);
		setProblem(null);
		try {
			const answer = await send(reason.trim());
			changed.set(changed.get() + 1);
			notice('good', typeof done === 'function' ? done(answer) : done);
			onClose(answer);
		} catch (e) {
			setProblem(e);
			setBusy(false);
		}
	};
	return (
		<Dialog title={title} onClose={() => onClose()}>
			<form onSubmit={submit}>
				{lead && <p>{lead}</p>}
				{children}
				{needsReason && <Reason value={reason} onInput={setReason} />}
				<Refused problem={problem} />
				<footer>
					<button type="button" onClick={() => onClose()}>Leave it</button>
					<button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy || !ready || (needsReason && !reason.trim())}>{busy ? 'Working …' : verb}</button>
				</footer>
			</form>
		</Dialog>
	);
}

// A button that opens a change; absent for roles that may not.
export function ChangeButton({ label, role = 'operator', class: name, describe, ...change }) {
	const [open, set] = useState(false);

	useStore(me);
	if (!may(role)) return null;
	return (
		<>
			<button type="button" class={name} aria-label={describe} onClick={() => set(true)}>{label}</button>
			{open && <Change {...change} onClose={() => set(false)} />}
		</>
	);
}

function When({ value, onInput }) {
	return (
		<Field label="Run at" hint="In your local time. Empty: now.">
			<input type="datetime-local" step="1" value={value} onInput={(e) => onInput(e.currentTarget.value)} />
		</Field>
	);
}

const iso = (local) => (local ? new Date(local).toISOString() : new Date().toISOString());

// ---- one task ----

// The same on the command line.
export function commandFor(task, verb) {
	const time = verb === 'reschedule' ? ' --run-after 10min' : '';
	return `twtasksctl ${verb} ${task.id} --version ${task.version}${time} --reason ${shell('...')}`;
}

export function TaskAction({ task, action, verb, title, class: name, lead, command = action, body = {} }) {
	const [at, setAt] = useState('');
	const takesTime = Boolean(ACTIONS[action]?.time);

	return (
		<ChangeButton
			label={verb ?? ACTIONS[action].says} class={name} title={title ?? `${ACTIONS[action].says} this task`} verb={verb ?? ACTIONS[action].says}
			danger={action === 'cancel' || action === 'fail'} done={`${verb ?? ACTIONS[action].says}: task ${task.id}.`}
			send={(reason) => call('POST', address(['tasks', task.id, action]), { version: String(task.version), reason, ...body, ...(takesTime ? { run_after: iso(at) } : {}) })}
			lead={lead ?? <>It is {task.status} in version {task.version}. If somebody changes it before you, nothing happens.</>}
		>
			{takesTime && <When value={at} onInput={setAt} />}
			<Command text={commandFor(task, command)} />
		</ChangeButton>
	);
}

// ---- many tasks ----

const count_of = (groups, results) => (groups ?? []).filter((g) => results.test(g.result)).reduce((sum, g) => sum + g.tasks, 0);

// The preview is a dry run of the very same change; the real one must meet its count.
export function BulkChange({ action, filter, ids, what, onClose }) {
	const [preview, setPreview] = useState(null);
	const [problem, setProblem] = useState(null);
	const [at, setAt] = useState('');
	const a = ACTIONS[action];
	const takesTime = Boolean(a.time);
	const statuses = filter.status ? { status: filter.status.split(',') } : {};
	const body = (more) => ({ action, filter: { ...filter, ...statuses }, ...(takesTime ? { run_after: iso(at) } : {}), ...more });

	useEffect(() => {
		call('POST', 'changes', body({ dry_run: true, max_tasks: MOST, ...(ids ? { ids } : {}) })).then(setPreview, setProblem);
	}, []);
	const first = preview?.first ?? [];
	const groups = preview?.groups ?? [];
	const would = count_of(groups, /^would_/);

	return (
		<Change
			title={`${a.says}: ${what}`} verb={preview ? `${a.says} ${count(would, 'task')}` : a.says} ready={Boolean(preview) && would > 0}
			danger={action === 'cancel' || action === 'fail'} onClose={onClose}
			done={(answer) => {
				const n = count_of(answer.groups, /^(changed|requested)$/);
				return `${a.says}: ${count(n, 'task')} changed${would > n ? `, ${number(would - n)} not: others had changed them` : ''}.`;
			}}
			send={(reason) => call('POST', 'changes', body({ reason, dry_run: false, max_tasks: MOST, ids: preview.ids, ...(ids || preview.is_capped ? {} : { expect: preview.tasks }) }))}
		>
			<Refused problem={problem} />
			{!preview && !problem && <p class="quiet" role="status">Trying it, and rolling it back …</p>}
			{preview && (
				<div class="preview">
					<p><strong>{count(would, 'task')}</strong> would {a.done}{preview.is_capped && ', the most for one change: do it again for the rest'}.</p>
					<ul class="plain-list">
						{groups.slice(0, 8).map((t) => <li key={t.type + t.from_status + t.result}><strong>{number(t.tasks)}</strong> {t.type} <Status is={t.from_status} />{!/^would_/.test(t.result) && <> <Tag tone="warn">{t.result}</Tag></>}</li>)}
						{groups.length > 8 && <li class="quiet">and {number(groups.length - 8)} more groups</li>}
					</ul>
					{first.length > 0 && (
						<details>
							<summary>The first {first.length}</summary>
							<ul class="plain-list">{first.map((r) => <li key={r.id ?? r}><Id id={r.id ?? r} /></li>)}</ul>
						</details>
					)}
				</div>
			)}
			{takesTime && <When value={at} onInput={setAt} />}
		</Change>
	);
}

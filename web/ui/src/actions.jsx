// Changes by people: each one asks for a reason, and says what it will do before.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { address, call, changed, me, may, notice, useHold, useStore } from './api.js';
import { count, number, shell, when } from './format.js';
import { Faults, faultOf, Field, Reason } from './fields.jsx';
import { Command, Dialog, Id, Status, Tag } from './parts.jsx';

// What may be done to tasks: of which statuses, and in words.
export const ACTIONS = {
	resume: { from: ['ERROR', 'WAITING'], says: 'Resume', done: 'run again' },
	reschedule: { from: ['WAITING'], says: 'Reschedule', done: 'run at another time', time: true },
	hold: { from: ['WAITING', 'SUBMITTED', 'ERROR'], says: 'Hold', done: 'wait until somebody releases them' },
	release: { from: ['HELD'], says: 'Release', done: 'go on', time: true, empty: 'its old time, or ERROR if it was held there' },
	prioritize: { from: ['WAITING', 'SUBMITTED', 'ERROR', 'HELD'], says: 'Prioritize', done: 'get that priority', priority: true },
	cancel: { from: ['WAITING', 'SUBMITTED', 'PROCESSING', 'HELD'], says: 'Cancel', done: 'end as CANCELLED, or be asked to stop' },
	fail: { from: ['ERROR'], says: 'Fail', done: 'end as FAILED' },
	reopen: { from: ['FAILED', 'CANCELLED'], says: 'Reopen', done: 'run again', time: true },
};

const MOST = 5000;	// of one change

export const actionsFor = (status) => Object.keys(ACTIONS).filter((name) => ACTIONS[name].from.includes(status));

// is_trial: nothing would have been done.
export function Refused({ problem, is_trial }) {
	if (!problem) return null;
	return <p class="trouble" role="alert"><strong>{problem.body?.title ?? (problem.unsure ? 'No answer' : 'Refused')}.</strong> {is_trial ? problem.body?.detail : words(problem)}</p>;
}

// What failed, for a change: an answer that is lost does not say that nothing was done.
function words(problem) {
	const { detail: said, title, version, task_status: status } = problem.body ?? {};
	const is = status ? ` It is ${status} in version ${version} now.` : !version ? '' : version === 'new' ? ' It is not there any more.' : ` Its last change is of ${when(version)}.`;
	const detail = (said ?? (title ? '' : problem.message)) + (problem.status === 409 ? is : '');
	return problem.unsure ? `${detail} Whether it was done is not known: look before you try again.`.trim() : detail;
}

// The one frame of all changes.  send() is called with the reason.  draft keeps the reason
// of a change that was refused for the next time.
export function Change({ title, verb, lead, send, done, onClose, children, ready = true, danger, needsReason = true, draft }) {
	const [reason, setReason] = useState(draft?.current ?? '');
	const [busy, setBusy] = useState(false);
	const [problem, setProblem] = useState(null);
	const gone = useRef(false);
	const form = useRef(null);

	useHold(true);
	useLayoutEffect(() => form.current?.querySelector('[aria-invalid=true]')?.focus(), [problem]);
	useEffect(() => () => { gone.current = true; }, []);
	const submit = async (event) => {
		event.preventDefault();
		if (busy || !ready) return;
		setBusy(true);
		setProblem(null);
		try {
			const answer = await send(reason.trim());
			if (draft) draft.current = '';
			changed.set(changed.get() + 1);
			const said = typeof done === 'function' ? done(answer) : done;
			notice(said.bad ? 'bad' : 'good', said.bad ?? said);
			onClose(answer);
		} catch (e) {
			if (draft) draft.current = reason;
			setProblem(e);
			setBusy(false);
			// Somebody went to another page meanwhile.
			if (gone.current) notice('bad', `${title}: ${e.body?.title ?? 'failed'}. ${words(e)}`);
		}
	};
	return (
		<Dialog title={title} onClose={() => onClose()} busy={busy}>
			<form ref={form} onSubmit={submit}>
				{lead && <p>{lead}</p>}
				<Faults.Provider value={faultOf(problem)}>
					{children}
					{needsReason && <Reason value={reason} onInput={setReason} />}
				</Faults.Provider>
				<Refused problem={problem} />
				<footer>
					<button type="button" disabled={busy} onClick={() => onClose()}>Leave it</button>
					<button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy || !ready || (needsReason && !reason.trim())}>{busy ? 'Working …' : verb}</button>
				</footer>
			</form>
		</Dialog>
	);
}

// A button that opens a change; absent for roles that may not.
export function ChangeButton({ label, role = 'operator', class: name, describe, ...change }) {
	const [open, set] = useState(false);
	const draft = useRef('');

	useStore(me);
	if (!may(role)) return null;
	return (
		<>
			<button type="button" class={name} aria-label={describe} onClick={() => set(true)}>{label}</button>
			{open && <Change {...change} draft={draft} onClose={() => set(false)} />}
		</>
	);
}

// What an action asks for beside the reason: a time, a priority, or nothing.
function Asked({ of: { time, priority, empty = 'now' }, value, onInput }) {
	const input = (e) => onInput(e.currentTarget.value);

	if (time) return <Field label="Run at" name="run_after" hint={`In your local time. Empty: ${empty}.`}><input type="datetime-local" step="1" value={value} onInput={input} /></Field>;
	return priority && <Field label="Priority" name="priority" hint="0 is the most urgent, 9 the least."><input type="number" min="0" max="9" required value={value} onInput={input} /></Field>;
}

// The member of a body.  A year that JavaScript does not read is refused here.  A preview
// has no priority yet, and its counts are the same for all.
const member = (action, value) => {
	if (action.priority) return { priority: Number(value) };
	if (!action.time || (!value && action.empty)) return {};
	return { run_after: (value ? new Date(value) : new Date()).toISOString() };
};

// ---- one task ----

// The same on the command line.
export function commandFor(task, verb, time = verb === 'reschedule' ? '10min' : '') {
	const priority = verb === 'prioritize' ? ` --priority ${task.priority}` : '';
	return `twtasksctl ${verb} ${task.id} --version ${task.version}${time && ` --run-after ${time}`}${priority} --reason ${shell('...')}`;
}

export function TaskAction({ task, action, verb, title, class: name, lead, command = action, commandTime, body = {} }) {
	const a = ACTIONS[action] ?? {};
	const [typed, setValue] = useState(null);
	const value = typed ?? (a.priority ? String(task.priority) : '');
	const says = verb ?? a.says;
	const ends = ['cancel', 'fail'].includes(action) || body.happened;

	return (
		<ChangeButton
			label={says} class={name} title={title ?? `${says} this task`} verb={says} danger={action === 'cancel' || action === 'fail'}
			done={(answer) => (ends && answer.status === 'ERROR' ? { bad: `${says}: task ${task.id} is in ERROR: a function of on_end refused it.` } : `${says}: task ${task.id}.`)}
			send={(reason) => call('POST', address(['tasks', task.id, action]), { version: String(task.version), reason, ...body, ...member(a, value) })}
			lead={lead ?? <>It is {task.status} in version {task.version}. If somebody changes it before you, nothing happens.</>}
		>
			<Asked of={a} value={value} onInput={setValue} />
			<Command text={commandFor(task, command, commandTime)} />
		</ChangeButton>
	);
}

// ---- many tasks ----

const count_of = (groups, results) => (groups ?? []).filter((g) => results.test(g.result)).reduce((sum, g) => sum + g.tasks, 0);

// The preview is a dry run of the very same change; the real one must meet its count.
export function BulkChange({ action, filter, ids, what, onClose }) {
	const [preview, setPreview] = useState(null);
	const [problem, setProblem] = useState(null);
	const [value, setValue] = useState('');
	const a = ACTIONS[action];
	const statuses = filter.status ? { status: filter.status.split(',') } : {};
	const body = (more) => ({ action, filter: { ...filter, ...statuses }, ...member(a, value), ...more });

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
				const back = action === 'cancel' || action === 'fail' ? count_of(answer.groups.filter((g) => g.status === 'ERROR'), /^changed$/) : 0;
				const said = `${a.says}: ${count(n, 'task')} changed${would > n ? `, ${number(would - n)} not: others had changed them` : ''}.`;
				return back ? { bad: `${said} ${number(back)} of them are in ERROR: a function of on_end refused them.` } : said;
			}}
			send={(reason) => call('POST', 'changes', body({ reason, dry_run: false, max_tasks: MOST, ids: preview.ids, ...(ids || preview.is_capped ? {} : { expect: preview.tasks }) }))}
		>
			<Refused problem={problem} is_trial />
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
			<Asked of={a} value={value} onInput={setValue} />
		</Change>
	);
}

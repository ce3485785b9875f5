// Forms for policies and buckets, which are replaced as a whole: what a form leaves empty is
// unset.  The version is the change that the person saw.
import { useState } from 'preact/hooks';
import { address, call, useAnswer } from './api.js';
import { ChangeButton } from './actions.jsx';
import { Field } from './fields.jsx';

const UNIT = '\\d+(\\.\\d+)? ?(us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|mons?|months?|y|years?)';
const INTERVAL = new RegExp(`^(${UNIT})( ?${UNIT})*( \\d+:\\d\\d:\\d\\d(\\.\\d+)?)?$|^\\d+:\\d\\d:\\d\\d(\\.\\d+)?$|^0$`, 'i');
const FUNCTION = 'schema.function; only the owner of the database may name one. "none": no function.';

// Each takes the text of a field, and returns JSON, or throws why it is none.
const READ = {
	text: (text) => JSON.stringify(text),
	bool: (text) => text,
	list: (text) => JSON.stringify(text.split(',').map((part) => part.trim()).filter(Boolean)),
	number(text) {
		if (/^\d$/.test(text)) return text;
		throw new Error('A digit from 0 to 9.');
	},
	interval(text) {
		if (INTERVAL.test(text)) return JSON.stringify(text);
		throw new Error('A length of time, such as 30 s, 5 min or 1 day 02:00:00.');
	},
	// As it was written, since JavaScript would change long numbers.
	json(text) {
		if (text === 'none') return '"none"';
		try {
			JSON.parse(text);
		} catch (fault) {
			throw new Error(`This is not JSON: ${fault.message}`);
		}
		return text;
	},
};

const OPTIONS = [
	{ name: 'priority', as: 'number', hint: '0 is the most urgent, 9 the least' },
	{ name: 'timeout', as: 'interval', hint: 'of one try, such as 30 s' },
	{ name: 'retry', as: 'json', hint: 'such as {"delay": "5s", "max_tries": 20}, or none' },
	{ name: 'stuck', as: 'text', of: ['error', 'retry', 'fail', 'ignore'], hint: 'what happens to a task of unknown outcome' },
	{ name: 'bucket', as: 'text', of: 'buckets' },
	{ name: 'queue_time', as: 'interval' },
	{ name: 'expires_after', as: 'interval', hint: 'not started after that: FAILED' },
	{ name: 'when_done', as: 'text', of: ['keep', 'clear', 'delete'], hint: 'the part of a DONE task that is kept' },
	{ name: 'takeover', as: 'text', of: ['gone', 'deadline'], hint: 'when a task of a lost node is taken over' },
	{ name: 'nodes', as: 'list', hint: 'names of nodes, with commas between; others do not start such tasks' },
	{ name: 'reset_tries', as: 'bool', of: ['true', 'false'], hint: 'whether tries start again from 0 after "repeat"' },
	{ name: 'aging', as: 'interval', hint: 'a waiting task rises by one priority each such time; 0: it does not' },
	...['stuck_function', 'retry_function', 'on_end', 'intercept'].map((name) => ({ name, as: 'text', hint: FUNCTION })),
];
const FIRST = 5;

function shown(policy, { name, as }) {
	const value = policy?.[name] ?? '';

	if (as === 'list') return Array.isArray(value) ? value.join(', ') : '';
	return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

// The options as members of JSON, and the faults by the names of fields.
function judge(values) {
	const members = [], faults = {};

	for (const { name, as } of OPTIONS) {
		const text = (values[name] ?? '').trim();
		try {
			if (text) members.push(`${JSON.stringify(name)}:${READ[as](text)}`);
		} catch (fault) {
			faults[name] = fault.message;
		}
	}
	return { json: `{${members.join(',')}}`, faults, is_empty: !members.length };
}

function Option({ of: { name, of, hint }, value, fault, onInput, buckets }) {
	const choices = of === 'buckets' ? [...new Set([value, ...buckets].filter(Boolean))] : of;
	const input = (e) => onInput(e.currentTarget.value);

	return (
		<Field label={name} name={name} hint={hint} fault={fault}>
			{choices
				? <select value={value} onChange={input}><option value="">not set</option>{choices.map((c) => <option key={c} value={c}>{c}</option>)}</select>
				: <input value={value} placeholder="not set" autocomplete="off" spellcheck={false} onInput={input} />}
		</Field>
	);
}

function Options({ values, set, faults }) {
	const buckets = (useAnswer(address(['buckets'], { limit: 200 }), 0).data?.items ?? []).map((b) => b.name);
	const option = (o) => <Option key={o.name} of={o} value={values[o.name] ?? ''} fault={faults[o.name]} buckets={buckets} onInput={(text) => set({ ...values, [o.name]: text })} />;
	const rest = OPTIONS.slice(FIRST);

	return (
		<>
			<div class="two-fields">{OPTIONS.slice(0, FIRST).map(option)}</div>
			<details open={rest.some((o) => values[o.name] && !faults[o.name]) || undefined}>
				<summary>More options</summary>
				<div class="two-fields">{rest.map(option)}</div>
			</details>
		</>
	);
}

// policy NULL: a new one.
export function PolicyChange({ policy }) {
	const [name, setName] = useState('');
	const [values, set] = useState(() => Object.fromEntries(OPTIONS.map((o) => [o.name, shown(policy, o)])));
	const { json, faults, is_empty } = judge(values);
	const pattern = policy?.pattern ?? name.trim();

	return (
		<ChangeButton label={policy ? 'Change' : 'New policy'} class="small" describe={policy ? `change the policy ${pattern}` : undefined} title={policy ? `Policy ${pattern}` : 'New policy'} verb={policy ? 'Set the policy' : 'Make the policy'}
			done={`The policy ${pattern} is set.`} ready={pattern !== '' && !is_empty && !Object.keys(faults).length} lead="It counts at once in every sidecar. An option that is not set comes from a shorter pattern, or has its default."
			send={(reason) => call('PUT', address(['policies', pattern]), `{"options":${json},"version":${JSON.stringify(policy?.changed_at ?? 'new')},"reason":${JSON.stringify(reason)}}`)}>
			{!policy && <Field label="Pattern" name="pattern" hint="A type, or the beginning of types and a *"><input required autocomplete="off" spellcheck={false} value={name} onInput={(e) => setName(e.currentTarget.value)} /></Field>}
			<Options values={values} set={set} faults={faults} />
		</ChangeButton>
	);
}

export const PolicyRemoval = ({ policy: { pattern, changed_at: version } }) => (
	<ChangeButton label="Remove" class="small" describe={`remove the policy ${pattern}`} title={`Remove the policy ${pattern}`} verb="Remove" danger done={`The policy ${pattern} is removed.`} lead="Its types have the options of shorter patterns then, or the defaults."
		send={(reason) => call('DELETE', address(['policies', pattern]), { version, reason })} />
);

// bucket NULL: a new one.
export function BucketChange({ bucket }) {
	const [typed, setName] = useState('');
	const [description, describe] = useState(bucket?.description ?? '');
	const [concurrency, setConcurrency] = useState(String(bucket?.concurrency ?? ''));
	const name = bucket?.name ?? typed.trim();

	return (
		<ChangeButton label={bucket ? 'Change' : 'New bucket'} class="small" describe={bucket ? `change the bucket ${name}` : undefined} title={bucket ? `Bucket ${name}` : 'New bucket'} verb={bucket ? 'Set the bucket' : 'Make the bucket'} done={`The bucket ${name} is set.`} ready={name !== ''}
			send={(reason) => call('PUT', address(['buckets', name]), {
				...(description.trim() ? { description: description.trim() } : {}), ...(concurrency === '' ? {} : { concurrency: Number(concurrency) }), version: bucket?.changed_at ?? 'new', reason,
			})}>
			{!bucket && <Field label="Name" name="name" hint="1 to 48 letters, digits, _ and -"><input required pattern="[A-Za-z0-9_\-]{1,48}" autocomplete="off" spellcheck={false} value={typed} onInput={(e) => setName(e.currentTarget.value)} /></Field>}
			<Field label="Purpose" name="description"><input maxlength="500" autocomplete="off" value={description} onInput={(e) => describe(e.currentTarget.value)} /></Field>
			<Field label="Tasks that may run at once" name="concurrency" hint="on each node; empty: no limit; 0: none starts"><input type="number" min="0" max="100000" value={concurrency} onInput={(e) => setConcurrency(e.currentTarget.value)} /></Field>
		</ChangeButton>
	);
}

export const BucketRemoval = ({ bucket: { name, changed_at: version } }) => (
	<ChangeButton label="Remove" class="small" describe={`remove the bucket ${name}`} title={`Remove the bucket ${name}`} verb="Remove" danger done={`The bucket ${name} is removed.`} lead="A bucket that has tasks stays."
		send={(reason) => call('DELETE', address(['buckets', name]), { version, reason })} />
);

// Sidecars, their queues, buckets and listeners.
import { address, me, may, useAnswer, useStore } from './api.js';
import { length, number } from './format.js';
import { GoOn, Page, Panel, Table, Tag, Time, useNow } from './parts.jsx';
import { BucketChange, BucketRemoval } from './settings.jsx';
import { Pause } from './types.jsx';

function life(n) {
	if (n.ended) return <Tag>ended</Tag>;
	if (!n.is_alive) return <Tag tone="bad">✕ silent</Tag>;
	return <Tag tone="good">✓ lives</Tag>;
}

const list = (value) => (Array.isArray(value) ? value.join(', ') : value ?? '–');

export function Nodes({ params }) {
	const nodes = useAnswer(address(['nodes'], { limit: 100, cursor: params.nodes }));
	const queues = useAnswer('queues');
	const buckets = useAnswer(address(['buckets'], { limit: 100, cursor: params.buckets }));
	const listeners = useAnswer(address(['listeners'], { limit: 100, cursor: params.listeners }));
	const more = (as, of) => <GoOn page="nodes" params={params} as={as} cursor={of.data?.cursor} />;
	const now = useNow(2000);

	useStore(me);
	return (
		<Page title="Nodes and queues" parts={{ Nodes: nodes, Buckets: buckets, 'Queues in shared memory': queues, Listeners: listeners }}>
			<Panel title="Nodes" of={nodes}>
				<Table name="nodes" rows={nodes.data?.items} id={(n) => n.incarnation} empty="No sidecar is known here." columns={[
					{ head: 'node', cell: (n) => <>{n.name} {n.leads && <Tag tone="good">leader</Tag>}</> },
					{ head: 'state', cell: (n) => life(n) },
					{ head: 'heartbeat', cell: (n) => <Time at={n.heartbeat} ago={!n.ended} /> },
					{ head: 'started', cell: (n) => <Time at={n.started} /> },
					{ head: 'ended', cell: (n) => <Time at={n.ended} /> },
					{ head: 'buckets', cell: (n) => list(n.buckets) },
					{ head: 'types', wide: true, cell: (n) => list(n.types) + (n.types_count > n.types?.length ? ` and ${n.types_count - n.types.length} more` : '') },
					{ head: 'faults', wide: true, cell: (n) => ((n.faults ?? []).length ? n.faults.map((f) => <p key={f} class="status bad"><i aria-hidden="true">✕</i>{f}</p>) : <span class="quiet">none</span>) },
				]} />
				{more('nodes', nodes)}
			</Panel>
			<Panel title="Buckets" of={buckets} aside={may('operator') && <BucketChange />}>
				<Table name="buckets" rows={buckets.data?.items} id={(b) => b.name} columns={[
					{ head: 'bucket', cell: (b) => <>{b.name} {b.paused && <Tag tone="warn">‖ paused</Tag>}</> },
					{ head: 'backlog', num: true, cell: (b) => `${number(b.submitted)}${b.capped ? '+' : ''}` },
					{ head: 'at once', num: true, cell: (b) => (b.concurrency === null || b.concurrency === undefined ? 'no limit' : number(b.concurrency)) },
					{ head: 'purpose', wide: true, cell: (b) => (b.paused ? <>{b.pause_reason} <small>{b.paused_by} <Time at={b.paused_since} /></small></> : b.description ?? <span class="quiet">–</span>) },
					...(may('operator') ? [{ head: 'change', cell: (b) => <span key={b.changed_at} class="decide one-line"><Pause kind="bucket" name={b.name} paused={b.paused_since} /><BucketChange bucket={b} />{b.name !== 'default' && <BucketRemoval bucket={b} />}</span> }] : []),
				]} />
				{more('buckets', buckets)}
			</Panel>
			<Panel title="Queues in shared memory" of={queues}>
				<Table name="queues" rows={queues.data?.items} id={(q) => q.bucket} empty={`Triggers travel ${queues.data?.kind === 'notify' ? 'by NOTIFY: twtasks is not preloaded' : 'by another way'}.`} columns={[
					{ head: 'bucket', cell: (q) => q.bucket },
					{ head: 'waiting', num: true, cell: (q) => number(q.waiting) },
					{ head: 'pushed', num: true, cell: (q) => number(q.pushed) },
					{ head: 'dropped', num: true, cell: (q) => (Number(q.dropped) ? <strong class="status bad">{number(q.dropped)}</strong> : '0') },
					{ head: 'waiters', num: true, cell: (q) => number(q.waiters) },
					{ head: 'sweep', cell: (q) => (q.need_sweep ? 'asked for' : <span class="quiet">–</span>) },
				]} />
			</Panel>
			<Panel title="Listeners" of={listeners}>
				<Table name="listeners" rows={listeners.data?.items} id={(l) => `${l.listener} ${l.topic} ${l.partition}`} empty="No listener takes messages here." mark={(l) => (l.problem ? 'has-errors' : '')} columns={[
					{ head: 'listener', cell: (l) => l.listener },
					{ head: 'topic', cell: (l) => <>{l.topic} <small>partition {l.partition}</small></> },
					{ head: 'next offset', num: true, cell: (l) => number(l.next_offset) },
					{ head: 'moved', cell: (l) => <Time at={l.moved} /> },
					{ head: 'stands', num: true, cell: (l) => (l.problem_since ? length((now - new Date(l.problem_since)) / 1000) : <span class="quiet">–</span>) },
					{ head: 'problem', wide: true, cell: (l) => (l.problem ? <span class="status bad"><i aria-hidden="true">✕</i>{l.problem}</span> : <span class="quiet">none</span>) },
				]} />
				{more('listeners', listeners)}
			</Panel>
		</Page>
	);
}

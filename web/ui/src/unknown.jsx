// Tasks whose work may or may not have been done: two decisions, and no third.
import { address, me, useAnswer, useStore } from './api.js';
import { TaskAction } from './actions.jsx';
import { count, number } from './format.js';
import { Copy, Empty, GoOn, Id, Link, Page, Panel, Status, Time } from './parts.jsx';

function One({ of: t }) {
	return (
		<article class="card" data-row>
			<header>
				<h2><Link page="type" params={{ type: t.type }}>{t.type}</Link> <Status is={t.status} /></h2>
				<span class="meta">lost <Time at={t.lost_at} />{t.node && ` by ${t.node}`} · {count(t.tries, 'try', 'tries')}</span>
			</header>
			<p><Id id={t.id} /> <Copy text={t.id} label="the id" />{t.key && <span class="mono"> · key {t.key} <Copy text={t.key} label="the key" /></span>}</p>
			<p>{t.why && t.why[0].toUpperCase() + t.why.slice(1)}.</p>
			{t.late_result !== undefined && t.late_at && <p class="late"><strong>A result came late</strong>, <Time at={t.late_at} />: {t.late_result ?? 'done'}. The work was probably done.</p>}
			<div class="decide">
				<TaskAction task={t} action="finish" command="confirm" body={{ happened: true }} verb="It happened" title="It happened: do not run it again"
					lead="You have looked at the other side, and the work was done. The task ends, and never runs again." />
				<TaskAction task={t} action="finish" command={t.status === 'HELD' ? 'release' : 'resume'} commandTime={t.status === 'HELD' ? 'now' : undefined} body={{ happened: false }} verb="It did not happen" title="It did not happen: run it again"
					lead="You have looked at the other side, and nothing was done. The task runs again." />
			</div>
		</article>
	);
}

export function Unknown({ params }) {
	const answer = useAnswer(address(['unknown'], { limit: 50, cursor: params.cursor }));
	const rows = answer.data?.items ?? [];

	useStore(me);
	return (
		<Page title="Unknown outcomes" answers={[answer]} lead="A node or a deadline was lost while these tasks ran. Nobody here knows whether their work was done: look at the other side by the id, then decide.">
			{rows.length ? <div class="cards">{rows.map((t) => <One key={t.id} of={t} />)}</div> : <Panel><Empty>{answer.data?.total ? 'There are no more on this page.' : 'No outcome is unknown.'}</Empty></Panel>}
			<GoOn page="unknown" params={params} cursor={answer.data?.cursor}>{number(answer.data?.total)}{answer.data?.total_capped ? '+' : ''} in all. </GoOn>
		</Page>
	);
}

// Incidents that nobody is told about for a time, and who asked for that.
import { address, call, may, me, useAnswer, useStore } from './api.js';
import { ChangeButton } from './actions.jsx';
import { GoOn, Page, Panel, Table, Time } from './parts.jsx';

const words = (s) => `${s.kind === '*' ? 'all kinds' : s.kind} of ${s.pattern === '*' ? 'all' : s.pattern}`;

const End = ({ of: s }) => (
	<ChangeButton label="End" class="small" describe={`end the silence ${words(s)}`} title={`End the silence: ${words(s)}`} verb="End it now" done={`The silence is over: ${words(s)}.`} lead="People are told of its incidents again."
		send={(reason) => call('DELETE', address(['silences', s.id]), { reason })} />
);

export function Silences({ params }) {
	const answer = useAnswer(address(['silences'], { limit: 100, cursor: params.cursor }));

	useStore(me);
	return (
		<Page title="Silences" answers={[answer]} lead="Nobody is told of these incidents until the silence ends. They stay on the overview.">
			<Panel>
				<Table name="silences" rows={answer.data?.items} id={(s) => s.id} empty="Nothing is silenced." columns={[
					{ head: 'kind', cell: (s) => (s.kind === '*' ? 'all' : s.kind) },
					{ head: 'object', cell: (s) => (s.pattern === '*' ? 'all' : s.pattern) },
					{ head: 'until', cell: (s) => <Time at={s.until} /> },
					{ head: 'since', cell: (s) => <><Time at={s.at} /> <small>{s.actor}</small></> },
					{ head: 'reason', wide: true, cell: (s) => s.reason },
					...(may('operator') ? [{ head: 'change', cell: (s) => <End of={s} /> }] : []),
				]} />
				<GoOn page="silences" params={params} cursor={answer.data?.cursor} />
			</Panel>
		</Page>
	);
}

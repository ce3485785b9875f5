// The pages that there are, by what they show: the rest of their address.
const ID = '00000000-0000-0000-0000-000000000001';

export const PAGES = {
	'overview': '', 'tasks': '?page=tasks', 'a task': `?page=task&id=${ID}`, 'errors': '?page=errors', 'unknown outcomes': '?page=unknown',
	'types': '?page=types', 'a type': '?page=type&type=PAYOUT%7CACME', 'nodes': '?page=nodes', 'schedules': '?page=schedules', 'audit': '?page=audit', 'silences': '?page=silences',
	'streams': '?page=streams&state=all', 'kinds': '?page=kinds', 'a kind': '?page=kind&kind=transfer', 'an identifier': '?page=kind&kind=transfer&identifier=transfer-1', 'to-do': '?page=todo',
};

// The frame around all pages: navigation, search, state of the link, login, help.
import './style.css';
import { Component, render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { authorization, call, hasExtension, link, login, me, notices, token, useAnswer, useStore } from './api.js';
import { clock, count, number, taskId } from './format.js';
import { watchKeys } from './keys.js';
import { Field } from './fields.jsx';
import { Dialog, Link } from './parts.jsx';
import { store as preferences } from './preferences.js';
import { go, to, useRoute } from './route.js';
import { useStream } from './stream.js';
import { Overview, OVERVIEW_MS } from './overview.jsx';
import { Tasks } from './tasks.jsx';
import { Task } from './task.jsx';
import { Errors } from './errors.jsx';
import { Unknown } from './unknown.jsx';
import { Types, Type } from './types.jsx';
import { Nodes } from './nodes.jsx';
import { Schedules } from './schedules.jsx';
import { Audit } from './audit.jsx';
import { Silences } from './silences.jsx';
import { Kind, Kinds, Streams, ToDo } from './extensions.jsx';

const PAGES = {
	overview: Overview, tasks: Tasks, task: Task, errors: Errors, unknown: Unknown, types: Types, type: Type,
	nodes: Nodes, schedules: Schedules, audit: Audit, silences: Silences, streams: Streams, kinds: Kinds, kind: Kind, todo: ToDo,
};

// The field is too small for its whole placeholder there.
const narrow = matchMedia('(max-width: 480px)');

function useNarrow() {
	const [is, set] = useState(narrow.matches);

	useEffect(() => {
		const hear = () => set(narrow.matches);

		narrow.addEventListener('change', hear);
		return () => narrow.removeEventListener('change', hear);
	}, []);
	return is;
}

function Search() {
	const [text, set] = useState('');
	const isNarrow = useNarrow();
	const submit = (event) => {
		const word = text.trim();

		event.preventDefault();
		if (!word) return;
		go(taskId(word) ? to('task', { id: taskId(word) }) : to('tasks', word.endsWith('*') ? { type: word } : { key: word }));
		set('');
		event.currentTarget.querySelector('input').blur();
	};
	return (
		<form role="search" class="search" onSubmit={submit}>
			<input id="search" type="search" aria-label="search: id, key, or type*" placeholder={isNarrow ? 'find' : 'id, key or type*'} autocomplete="off" spellcheck={false} value={text} onInput={(e) => set(e.currentTarget.value)} />
			<kbd aria-hidden="true">/</kbd>
		</form>
	);
}

function Live() {
	const state = useStore(link);

	if (state.since) return <span class="live away"><i aria-hidden="true">✕</i> no answer since {clock(state.since)}</span>;
	return <span class="live"><i aria-hidden="true">●</i> {state.at ? <>live <span class="clock">{clock(state.at)}</span></> : 'connecting'}</span>;
}

function Navigation({ page, overview, who }) {
	const d = overview.data;
	const wrong = d?.incidents?.length ?? 0;
	const errors = (d?.types ?? []).reduce((n, t) => n + Number(t.errors ?? 0), 0);
	const unknown = (d?.incidents ?? []).filter((i) => i.kind === 'unknown').reduce((n, i) => n + Number(i.count), 0);
	const items = [
		['overview', 'Overview', wrong, 'bad'], ['tasks', 'Tasks'], ['errors', 'Errors', errors, ''], ['unknown', 'Unknown outcomes', unknown, 'bad'],
		['types', 'Types and limits'], ['nodes', 'Nodes and queues'], ['schedules', 'Schedules'], ['audit', 'Audit'], ['silences', 'Silences'],
		who && hasExtension('twtasks_events') && ['streams', 'Streams'],
		who && hasExtension('twtasks_kinds') && ['kinds', 'Kinds'],
		who && hasExtension('twtasks_kinds') && ['todo', 'To-do'],
	].filter(Boolean);
	const part = { task: 'tasks', type: 'types', kind: 'kinds' }[page] ?? page;

	return (
		<nav aria-label="pages">
			<ul>
				{items.map(([name, text, n, tone]) => (
					<li key={name}><Link page={name} aria-current={part === name ? 'page' : undefined}>{text}{n > 0 && <span class={`badge ${tone}`}>{number(n)}</span>}</Link></li>
				))}
			</ul>
		</nav>
	);
}

// Incidents are read out when they open or end; figures are not.
function Announcer({ overview }) {
	const before = useRef(null);
	const [text, set] = useState('');
	const incidents = overview.data?.incidents;

	useEffect(() => {
		if (!incidents) return;
		const now = new Map(incidents.map((i) => [i.key, i.summary]));
		if (before.current) {
			const opened = [...now].filter(([key]) => !before.current.has(key)).map(([, s]) => `New incident: ${s}.`);
			const ended = [...before.current].filter(([key]) => !now.has(key)).map(([, s]) => `Over: ${s}.`);
			if (opened.length + ended.length) set([...opened, ...ended].join(' '));
		}
		before.current = now;
	}, [incidents]);
	return <div class="hidden" aria-live="polite" id="announcer">{text}</div>;
}

function Notices() {
	const all = useStore(notices);

	if (!all.length) return null;
	return (
		<ul class="notices" aria-label="what was done">
			{all.map((n) => (
				<li key={n.id} role="status" class={n.kind}><span><i aria-hidden="true">{n.kind === 'bad' ? '✕' : '✓'}</i> {n.text}</span><button type="button" class="plain" aria-label="dismiss" onClick={() => notices.set(notices.get().filter((o) => o.id !== n.id))}>✕</button></li>
			))}
		</ul>
	);
}

const KEYS = [
	['/', 'search'], ['j  k', 'next and previous row'], ['Enter', 'open the row'], ['x', 'choose the row'], ['Esc', 'leave: dialog, field, choice'],
	['g o', 'overview'], ['g t', 'tasks'], ['g e', 'errors'], ['g u', 'unknown outcomes'], ['g y', 'types and limits'], ['g n', 'nodes and queues'], ['g s', 'schedules'], ['g a', 'audit'], ['g i', 'silences'], ['?', 'this help'],
];

function Help({ onClose }) {
	return (
		<Dialog title="Keys" onClose={onClose}>
			<dl class="keys">{KEYS.map(([key, text]) => <div key={key}><dt>{key.split('  ').map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{text}</dd></div>)}</dl>
		</Dialog>
	);
}

function Settings({ who }) {
	const p = useStore(preferences);

	return (
		<div class="settings">
			<label>Times <select value={p.times} onChange={(e) => preferences.set({ times: e.currentTarget.value })}><option value="local">local</option><option value="utc">UTC</option><option value="relative">relative</option></select></label>
			<label>Look <select value={p.theme} onChange={(e) => preferences.set({ theme: e.currentTarget.value })}><option value="system">system</option><option value="light">light</option><option value="dark">dark</option></select></label>
			{who && <p class="who" title={`roles: ${(who.roles ?? []).join(', ')}`}>{who.name}<small>{(who.roles ?? []).join(', ')}</small></p>}
			{token.get() && <button type="button" class="plain" onClick={() => { token.set(null); location.reload(); }}>Log out</button>}
			<p class="version quiet">twtasks {who?.version ?? who?.extension_version ?? ''}</p>
		</div>
	);
}

function Login({ refused }) {
	const [text, set] = useState('');
	const [busy, setBusy] = useState(false);
	const submit = async (event) => {
		event.preventDefault();
		setBusy(true);
		token.set(text.trim());
		try {
			me.set(await call('GET', 'me'));
			login.set({ needed: false, refused: false });
		} catch (problem) {
			if (problem.status !== 401) login.set({ needed: true, refused: false, text: problem.message });
			token.set(null);
			setBusy(false);
		}
	};
	return (
		<main class="login" id="main">
			<form onSubmit={submit}>
				<h1>twtasks</h1>
				<Field label="Token" hint="An administrator makes one with twtasks-web --new-token. It stays in this tab only.">
					<input type="password" name="token" required autocomplete="off" spellcheck={false} value={text} onInput={(e) => set(e.currentTarget.value)} autofocus />
				</Field>
				{refused && <p class="trouble" role="alert">This token is not known here.</p>}
				{login.get().text && <p class="trouble" role="alert">{login.get().text}</p>}
				<footer><button type="submit" class="primary" disabled={busy || !text.trim()}>Log in</button></footer>
			</form>
		</main>
	);
}

function useMe() {
	const state = useStore(login);

	useEffect(() => {
		let timer;
		const ask = () => call('GET', 'me').then((who) => me.set(who), (problem) => {
			if (problem.status !== 401) timer = setTimeout(ask, 3000);
		});
		if (!state.needed && !me.get()) ask();
		return () => clearTimeout(timer);
	}, [state.needed]);
	return useStore(me);
}

// A fault of the page itself, in words; navigation stays.
class Boundary extends Component {
	state = {};

	static getDerivedStateFromError(fault) {
		return { fault };
	}

	componentDidCatch(fault) {
		console.error(fault);
	}

	render({ children }, { fault }) {
		if (!fault) return children;
		return (
			<main id="main">
				<h1>This page failed</h1>
				<div class="trouble" role="alert"><strong>{String(fault)}.</strong> The fault is in the page; twtasksctl shows the same figures.</div>
				<button type="button" onClick={() => location.reload()}>Reload</button>
			</main>
		);
	}
}

function Frame() {
	const route = useRoute();
	const who = useMe();
	const overview = useAnswer('overview', OVERVIEW_MS);
	const [help, setHelp] = useState(false);
	const [menu, setMenu] = useState(false);
	const Current = PAGES[route.page] ?? Overview;
	// Another object is another page: nothing of the one before may stay.
	const key = [route.page, route.params.id, ['type', 'errors'].includes(route.page) && route.params.type].join(' ');

	useStream(route.page === 'task' ? taskId(route.params.id) : null, authorization);
	useLayoutEffect(() => watchKeys({ help: () => setHelp(true) }), []);
	useEffect(() => setMenu(false), [route]);
	return (
		<div class={`frame${menu ? ' menu-open' : ''}`}>
			<a class="skip" href="#main">Skip to the page</a>
			<header class="top">
				<button type="button" class="menu" aria-expanded={menu} aria-controls="side" onClick={() => setMenu(!menu)}><span aria-hidden="true">☰</span><span class="hidden">Menu</span></button>
				<Link page="overview" class="brand"><svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true"><rect width="32" height="32" rx="7" class="mark" /><path d="M7 10h18M7 16h12M7 22h6" class="mark-lines" /></svg> twtasks</Link>
				{who && <span class={`place${/prod/i.test(who.environment ?? '') ? ' production' : ''}`}><b>{who.environment ?? 'no environment'}</b><span> {who.database}</span></span>}
				<Search />
				<span class="nodes">{overview.data?.nodes && `${count(overview.data.nodes.live ?? 0, 'node')}${overview.data.nodes.leader ? `, leader ${overview.data.nodes.leader}` : ', no leader'}`}</span>
				<Live />
				<button type="button" class="plain help" aria-label="keys and help" onClick={() => setHelp(true)}>?</button>
			</header>
			<aside class="side" id="side" aria-label="navigation and settings"><Navigation page={route.page} overview={overview} who={who} /><Settings who={who} /></aside>
			<div class="content">
				<Notices />
				<Boundary key={key}><Current params={route.params} overview={overview} /></Boundary>
			</div>
			<Announcer overview={overview} />
			{help && <Help onClose={() => setHelp(false)} />}
		</div>
	);
}

function App() {
	const state = useStore(login);
	return state.needed ? <Login refused={state.refused} /> : <Frame />;
}

render(<App />, document.getElementById('app'));

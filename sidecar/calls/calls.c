/*-------------------------------------------------------------------------
 *
 * calls.c
 *		All SQL that the sidecar sends, but for lib.
 *
 * Results are in the binary formats of the types; see wire.h.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"

#define GRABBED_COLUMNS(content) \
	"g.id, g.version, g.type, g.sub_type, g.bucket, g.priority, g.tries, " \
	"g.grabbed, " content ", "
#define CONTENT "g.data, g.payload, g.context, g.key"
#define NO_CONTENT "NULL::jsonb, NULL::bytea, NULL::jsonb, NULL::text"

const PgStatement call_next_triggers = {"next_triggers",
"CALL twtasks_internal.next_triggers($1::text[], $2::int4, $3::int4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)", .answer = "1ttttttitb"};

const PgStatement call_take_types = {"take_types", "SELECT twtasks_internal.take_types($1::text[])"};

const PgStatement call_queue_kind = {"queue_kind", "SELECT twtasks.queue_kind()", .answer = "1T"};

const PgStatement call_listen = {"listen", "LISTEN twtasks"};

const PgStatement call_late_commits = {"late_commits",
"SELECT twtasks_internal.late_commits($1::text[])", .is_newer = true, .answer = "1t"};

const PgStatement call_listen_cancels = {"listen_cancels", "LISTEN twtasks_cancel"};
const PgStatement call_listen_config = {"listen_config", "LISTEN twtasks_config"};

/* SQL of 1.0 returns no column of this name, which then is the null outside. */
#define NEWER(column, type, select) \
	"SELECT n.* FROM (SELECT NULL::" type " AS " column ") o CROSS JOIN LATERAL (SELECT " select ") n"

#define FROM_GRAB \
	"g.place, runnable FROM twtasks_internal.grab_tasks($1::uuid[], $2::int8[], $3::int8, $4::int8, " \
	"$5::int8[], ($6::text[])::twtasks.stuck_rule[], $7::text[], $8::text[], false, $9::tid[]) g"
#define FROM_RESOLVE_GRAB \
	"NULL::tid, NULL::timestamptz FROM twtasks_internal.resolve_grab($1::uuid[], $2::int8[], $3::int8, $4::int8) g"

const PgStatement call_grab = {"grab",
NEWER("runnable", "timestamptz", GRABBED_COLUMNS(CONTENT) FROM_GRAB), .answer = "uiTttiiittttpi"};
const PgStatement call_grab_bare = {"grab_bare",
NEWER("runnable", "timestamptz", GRABBED_COLUMNS(NO_CONTENT) FROM_GRAB), .answer = "uiTttiiittttpi"};

const PgStatement call_resolve_grab = {"resolve_grab",
"SELECT " GRABBED_COLUMNS(CONTENT) FROM_RESOLVE_GRAB, .answer = "uiTttiiittttpi"};
const PgStatement call_resolve_grab_bare = {"resolve_grab_bare",
"SELECT " GRABBED_COLUMNS(NO_CONTENT) FROM_RESOLVE_GRAB, .answer = "uiTttiiittttpi"};

const PgStatement call_listen_slots = {"listen_slots", "LISTEN twtasks_slots"};

const PgStatement call_read_limits = {"read_limits",
	"SELECT l.pattern, l.is_shared, l.concurrency, l.stretch, l.stretch_priority, l.rate, "
"l.per_us, l.burst FROM twtasks_internal.read_limits() l", .answer = "Tbiiiiii"};

/* A crash that loses a turn costs time, but no slot. */
const PgStatement call_offer_slots = {"offer_slots",
	"SELECT o.name, o.turns, pg_catalog.set_config('synchronous_commit', 'off', true) "
	"FROM twtasks_internal.offer_slots($1::text[], $2::int8[]::int4[], "
"$3::text[]::bool[], $4::int8) o", .answer = "Tit"};

const PgStatement call_clean_slots = {"clean_slots", "SELECT twtasks_internal.clean_slots()"};

const PgStatement call_execute = {"execute",
	NEWER("wait_us", "int8",
		  "e.id, e.version, e.result, e.message, e.tries, e.type, wait_us FROM twtasks_internal.execute_tasks("
		  "$1::text, $2::name, $3::uuid[], $4::int8[], $5::int8, $6::int8, $7::int8[], "
		  "($8::text[])::twtasks.stuck_rule[], $9::text[], $10::text[], ($11::text)::jsonb, "
		  "$12::tid[], $13::bool) e"), .caller_logs = true, .answer = "uittiti"};

const PgStatement call_set_timeout = {"set_timeout",
"SELECT pg_catalog.set_config('statement_timeout', $1::text, false)"};

const PgStatement call_take_cancels = {"take_cancels",
"SELECT c.id, c.version, c.is_ours, c.why FROM twtasks_internal.take_cancels($1::int8) c", .answer = "uibt"};

const PgStatement call_cancel_backend = {"cancel_backend",
"SELECT pg_catalog.pg_cancel_backend($1::int4)"};

const PgStatement call_terminate_backend = {"terminate_backend",
"SELECT pg_catalog.pg_terminate_backend($1::int4)"};

const PgStatement call_finish = {"finish",
	"SELECT f.id, nullif(f.status, 'DONE'), f.delay_ms "
	"FROM twtasks_internal.finish_tasks($1::uuid[], $2::int8[], $3::text[], $4::int8[], "
	"$5::text[], $6::int8, $7::int8, $8::int8[], $9::tid[], ($10::text[])::jsonb[], "
"$11::bool, false, ($12::text[])::jsonb[], ($13::text[])::jsonb[]) f", .answer = "uti"};

const PgStatement call_resolve_finish = {"resolve_finish",
"SELECT f.id FROM twtasks_internal.resolve_finish($1::uuid[], $2::int8[], $3::int8, $4::int8) f", .answer = "u"};

const PgStatement call_sweep = {"sweep",
	"SELECT s.id, s.version, s.type, s.priority, s.size, s.place "
"FROM twtasks_internal.sweep_tasks($1::text, $2::int4, $3::text[], $4::int4, $5::int4, $6::int4, $7::uuid[]) s", .answer = "uiTiip"};

const PgStatement call_policies = {"policies",
	"SELECT p.kind, p.name, p.timeout_ms, p.stuck, p.asks_stuck, p.aging_ms, p.max_tries, "
"p.runs_here, p.concurrency FROM twtasks_internal.read_policies($1::text) p", .answer = "TTitbiibi"};

const PgStatement call_start_node = {"start_node",
	"SELECT twtasks_internal.start_node($1::text, $2::int8 * interval '1 millisecond', $3::text, "
"$4::text[], $5::text[]), twtasks_internal.refusal($3::text)", .answer = "1it"};

const PgStatement call_tell_addresses = {"tell_addresses",
"SELECT twtasks_internal.tell_addresses($1::text[])", .is_newer = true};

const PgStatement call_check_handlers = {"check_handlers",
"SELECT c.place, c.fault FROM twtasks_internal.check_handlers($1::text[], $2::text[]) c", .answer = "it"};

const PgStatement call_note_faults = {"note_faults",
"SELECT twtasks_internal.note_faults($1::int8, $2::text[])"};

const PgStatement call_tick = {"tick",
	"SELECT t.alive, t.is_held, t.is_leader, t.place, t.nodes, t.clock, t.ahead_us, "
"t.has_work, t.next_ms, t.look_ms FROM twtasks_internal.tick($1::int8, $2::int8, $3::bool) t", .answer = "1bbbiiiibii"};

const PgStatement call_end_node = {"end_node", "SELECT twtasks_internal.end_node($1::int8)"};

/*
 * A promotion that is lost in a crash happens again, and a durable grab makes
 * everything before it durable.  So a promotion need not wait for the disk.
 */
const PgStatement call_promote = {"promote",
	"SELECT p.promoted, p.next_ms, pg_catalog.set_config('synchronous_commit', 'off', true) "
"FROM twtasks_internal.promote_tasks() p", .answer = "1iit"};

const PgStatement call_recover = {"recover",
"SELECT r.retried, r.errors, r.failed, r.next_ms FROM twtasks_internal.recover_tasks($1::bool) r", .answer = "1iiii"};

const PgStatement call_duties = {"duties", "SELECT twtasks_internal.run_duties()", .answer = "1i"};

const PgStatement call_schedules = {"run_schedules",
"SELECT r.added, r.missed, r.failed, r.next_ms FROM twtasks_internal.run_schedules() r", .answer = "1iiii"};

/* The commit need not wait for the disk: the figures are not worth a wait of the control session. */
const PgStatement call_note_flow = {"note_flow",
	"SELECT twtasks_internal.note_flow($1::int8, timestamptz 'epoch' + $2::int8 * interval '1 microsecond', "
	"$3::int8, $4::text[], $5::text[], $6::int8[], $7::int8[], $8::int8[]), "
"pg_catalog.set_config('synchronous_commit', 'off', true)", .is_newer = true};

const PgStatement call_note_progress = {"note_progress",
	"SELECT twtasks_internal.note_progress($1::uuid[], $2::int8[], $3::int8[], $4::text[]), "
"pg_catalog.set_config('synchronous_commit', 'off', true)", .is_newer = true, .answer = "1it"};

const PgStatement call_expire = {"expire", "SELECT twtasks_internal.expire_tasks()", .answer = "1i"};

const PgStatement call_partitions = {"make_partitions", "SELECT twtasks_internal.make_partitions()", .answer = "1i"};

const PgStatement call_clean = {"clean", "SELECT twtasks_internal.clean_tasks()", .answer = "1t"};

const PgStatement call_vacuum = {"vacuum",
"CALL twtasks_internal.vacuum_tasks(NULL)", .is_newer = true, .answer = "1i"};

const PgStatement call_monitor = {"monitor",
"SELECT m.errors, m.stuck, m.is_news FROM twtasks_internal.monitor_tasks() m", .answer = "1iib"};

const PgStatement call_judge = {"judge", "SELECT twtasks_internal.judge_incidents()", .is_newer = true, .answer = "1i"};

void
calls_add_buckets(WireParams *params, const Config *config)
{
	wire_add_array(params, WIRE_TEXT, config->nbuckets);
	for (int i = 0; i < config->nbuckets; i++)
		wire_text(params, config->buckets[i]);
}

void
calls_add_types(WireParams *params, const Config *config)
{
	int			n = 0;

	for (int i = 0; i < config->nhandlers; i++)
		n += config->handlers[i]->ntypes;
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < config->nhandlers; i++)
		for (int j = 0; j < config->handlers[i]->ntypes; j++)
			wire_text(params, config->handlers[i]->types[j]);
}

char *
calls_function(const HandlerConfig *handler)
{
	if (handler->function == NULL)
		return NULL;
	return psprintf("%s%s", handler->function, handler->batch > 0 ? "(twtasks.task_input[])" : "");
}

void
calls_add_functions(WireParams *params, const Config *config)
{
	wire_add_array(params, WIRE_TEXT, config->nhandlers);
	for (int i = 0; i < config->nhandlers; i++)
	{
		char	   *function = calls_function(config->handlers[i]);

		wire_text(params, function);
		pfree(function);
	}
	wire_add_array(params, WIRE_TEXT, config->nhandlers);
	for (int i = 0; i < config->nhandlers; i++)
		wire_text(params, config->handlers[i]->role);
}

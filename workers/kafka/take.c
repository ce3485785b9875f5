/*-------------------------------------------------------------------------
 *
 * take.c
 *		The calls that store the tasks of messages and move the offset.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/kafka/take.h"

#define ERRCODE_UNTRANSLATABLE "22P05"

/* Shortly before the end of timestamptz, in milliseconds since 1970. */
#define TIME_MS_END INT64CONST(9224318000000000)

/* The messages of a run, in the parameters from $6 on. */
#define MESSAGES \
	"ARRAY(SELECT twtasks.message($2::text, $3::int4, m.at, pg_catalog.to_timestamp(m.ms / 1000.0)," \
	" m.key, m.value, m.headers::jsonb)" \
	" FROM ROWS FROM (pg_catalog.unnest($6::int8[]), pg_catalog.unnest($7::int8[])," \
	" pg_catalog.unnest($8::bytea[]), pg_catalog.unnest($9::bytea[]), pg_catalog.unnest($10::text[]))" \
	" WITH ORDINALITY m(at, ms, key, value, headers, n) ORDER BY m.n)"
#define RULE \
	" type => $11::text, function => $12::text, value => $13::text, key => $14::text," \
	" headers => $15::text[], corrupt => $16::text"

static const PgStatement call_place = {"take_place",
	"SELECT p.next_offset, p.problem FROM twtasks.place_partition($1::text, $2::text, $3::int4,"
	" partitions => $4::int4, start => $5::int8, first => $6::int8, topic_id => $7::text) p",
.caller_logs = true, .answer = "1it"};

static const PgStatement call_stop = {"take_stop",
	"SELECT twtasks.stop_partition($1::text, $2::text, $3::int4, from_offset => $4::int8,"
	" first => $5::int8, problem => $6::text)",
.caller_logs = true, .answer = "1t"};

static const PgStatement call_none = {"take_none",
	"SELECT twtasks.take_messages($1::text, $2::text, $3::int4, $4::int8, $5::int8, '{}'::twtasks.new_task[])",
.caller_logs = true, .answer = "1i"};

static const PgStatement call_run = {"take_run",
	"SELECT twtasks.take_messages(listener => $1::text, topic => $2::text, partition => $3::int4,"
	" from_offset => $4::int8, to_offset => $5::int8,"
	" messages => " MESSAGES "," RULE ")",
.caller_logs = true, .answer = "1i"};

/*
 * A rule that is not valid fails here too, so its error is not taken for one of the
 * message.
 */
static const PgStatement call_corrupted = {"take_corrupted",
	"SELECT twtasks.take_corrupted(listener => $1::text, topic => $2::text, partition => $3::int4,"
	" message => (" MESSAGES ")[1], state => $17::text, error => $18::text)"
	" WHERE twtasks.take_messages(listener => $1::text, topic => $2::text, partition => $3::int4,"
	" from_offset => $4::int8, to_offset => $4::int8, messages => '{}'::twtasks.message[]," RULE ")"
	" <= $5::int8",
.caller_logs = true, .answer = "i"};

/* The set-up of each session has let calls wait for a lock without an end. */
static const PgStatement call_set_lock_timeout = {"set_lock_timeout",
"SELECT pg_catalog.set_config('lock_timeout', '3s', false)"};

static const PgStatement call_listen = {"listen_reset", "LISTEN twtasks_listener"};

static void
on_set_up(void *arg, PgOutcome outcome, PGresult *result)
{
	if (outcome == PG_FAILED)
		pg_reset(arg, "could not set lock_timeout or listen");
}

void
take_set_up(Pg *pg)
{
	pg_send(pg, &call_set_lock_timeout, NULL, on_set_up, pg);
	pg_send(pg, &call_listen, NULL, on_set_up, pg);
}

static void
add_partition(WireParams *params, const TakeCall *call)
{
	wire_init(params);
	wire_add_text(params, call->listener->name);
	wire_add_text(params, partition_topic(call->partition));
	wire_add_int4(params, partition_number(call->partition));
}

void
take_place(const TakeCall *call, const LogEnds *ends, int64 start)
{
	WireParams	params;

	add_partition(&params, call);
	wire_add_int4(&params, ends->partitions);
	wire_add_int8(&params, start);
	wire_add_int8(&params, ends->first);
	wire_add_text(&params, ends->topic_id[0] == '\0' ? NULL : ends->topic_id);
	pg_send(call->pg, &call_place, &params, call->fn, call->arg);
	wire_clear(&params);
}

void
take_stop(const TakeCall *call, int64 offset, const LogEnds *ends, const char *problem)
{
	WireParams	params;

	add_partition(&params, call);
	wire_add_int8(&params, offset);
	wire_add_int8(&params, ends->first);
	wire_add_text(&params, problem);
	pg_send(call->pg, &call_stop, &params, call->fn, call->arg);
	wire_clear(&params);
}

static void
add_range(WireParams *params, const TakeCall *call, int64 from_offset, int64 to_offset)
{
	add_partition(params, call);
	wire_add_int8(params, from_offset);
	wire_add_int8(params, to_offset);
}

void
take_none(const TakeCall *call, int64 from_offset, int64 to_offset)
{
	WireParams	params;

	add_range(&params, call, from_offset, to_offset);
	pg_send(call->pg, &call_none, &params, call->fn, call->arg);
	wire_clear(&params);
}

/* PostgreSQL has no time as late as some senders say. */
static bool
has_time(const Message *message)
{
	return message->time_ms >= 0 && message->time_ms < TIME_MS_END;
}

static void
add_messages(WireParams *params, const Run *run, bool with_headers)
{
	wire_add_array(params, WIRE_INT8, run->n);
	for (int i = 0; i < run->n; i++)
		wire_int8(params, run->messages[i]->offset);
	wire_add_array(params, WIRE_INT8, run->n);
	for (int i = 0; i < run->n; i++)
		if (has_time(run->messages[i]))
			wire_int8(params, run->messages[i]->time_ms);
		else
			wire_null_element(params);
	wire_add_array(params, WIRE_BYTEA, run->n);
	for (int i = 0; i < run->n; i++)
		wire_bytes(params, run->messages[i]->key.bytes, run->messages[i]->key.len);
	wire_add_array(params, WIRE_BYTEA, run->n);
	for (int i = 0; i < run->n; i++)
		wire_bytes(params, run->messages[i]->value.bytes, run->messages[i]->value.len);
	wire_add_array(params, WIRE_TEXT, run->n);
	for (int i = 0; i < run->n; i++)
		wire_text(params, with_headers ? run->messages[i]->headers : NULL);
}

static void
add_rules(WireParams *params, const ListenerSettings *listener)
{
	int			n = 0;

	wire_add_text(params, listener->type);
	wire_add_text(params, listener->function);
	wire_add_text(params, listener->value);
	wire_add_text(params, listener->key);
	while (listener->headers != NULL && listener->headers[n] != NULL)
		n++;
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, listener->headers[i]);
	wire_add_text(params, listener->corrupt);
}

void
take_run(const TakeCall *call, const Run *run)
{
	WireParams	params;

	add_range(&params, call, run->from_offset, run->to_offset);
	add_messages(&params, run, true);
	add_rules(&params, call->listener);
	pg_send(call->pg, &call_run, &params, call->fn, call->arg);
	wire_clear(&params);
}

/* Only the headers are text, which the encoding of the database may lack. */
void
take_corrupted(const TakeCall *call, const Run *run, const PGresult *refusal)
{
	WireParams	params;

	add_range(&params, call, run->from_offset, run->to_offset);
	add_messages(&params, run, strcmp(pg_sqlstate(refusal), ERRCODE_UNTRANSLATABLE) != 0);
	add_rules(&params, call->listener);
	wire_add_text(&params, pg_sqlstate(refusal));
	wire_add_text(&params, PQresultErrorField(refusal, PG_DIAG_MESSAGE_PRIMARY));
	pg_send(call->pg, &call_corrupted, &params, call->fn, call->arg);
	wire_clear(&params);
}

int64
take_answer(const PGresult *result)
{
	return wire_get_int(result, 0, 0);
}

const char *
take_problem(const PGresult *result)
{
	int			last = PQnfields(result) - 1;

	return PQgetisnull(result, 0, last) ? NULL : PQgetvalue(result, 0, last);
}

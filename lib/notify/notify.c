/*-------------------------------------------------------------------------
 *
 * notify.c
 *		Incidents on their way to people: twtasks-notify.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "helper/helper.h"
#include "notify/notify.h"
#include "pg/lacking.h"

/* Messages of a target that are handed over at once. */
#define MESSAGES_MAX 100

/* A heartbeat needs a judgement that is not older. */
#define WELL_US SECONDS_TO_US(90)

/* A request of the helper takes 10 s at most. */
#define LEAVE_US SECONDS_TO_US(11)

struct Notify
{
	Loop	   *loop;
	const NotifyConfig *config;
	NotifyOwner owner;
	Helper	   *helper;
	bool		is_stopped;
	int64		judged_us;		/* loop time of the last judgement; 0: none */
	json_t	   *troubles;		/* as the helper reported them last */
	json_t	   *asked;			/* targets with a question under way: whether
								 * to ask again */
	int			life;			/* the number of helpers that have ended */
};

/* target, most, is_deputy -> messages about incidents, a JSON object each */
static const PgStatement next_incidents = {"next_incidents",
	"SELECT (pg_catalog.to_jsonb(n) OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object('database', "
	"pg_catalog.current_database()))::text "
"FROM twtasks.next_incidents(ARRAY[$1::text], $2::int4, $3::bool) n", .is_newer = true, .answer = "T"};

/* incident, target, state, repeat, status, answer */
static const PgStatement note_sent = {"note_sent",
"SELECT twtasks.note_sent($1::int8, $2::text, $3::text, $4::int4, $5::text, $6::text)", .is_newer = true};

/* -> whether no incident is open that wakes somebody */
static const PgStatement incidents_are_well = {"is_well", "SELECT twtasks_internal.is_well()", .is_newer = true, .answer = "1b"};

/* The target of a question; freed with its answer. */
typedef struct Question
{
	Notify	   *notify;
	char	   *target;
	int			life;
} Question;

/* The end of a message, on its way to the database. */
typedef struct Note
{
	Notify	   *notify;
	json_t	   *told;			/* by the helper */
	char	   *answer;			/* NULL: none */
	int			nreplaced;		/* calls of lacking_replace() */
} Note;

static void send_note(Note *note);

/* ---- what is to be sent ---- */

/* The line of the helper: {"target":NAME,"messages":[...]}. */
static void
hand_over(Notify *notify, const char *target, const PGresult *result)
{
	json_t	   *line = json_object();
	json_t	   *messages = json_array();
	char	   *text;

	for (int i = 0; i < PQntuples(result); i++)
	{
		json_t	   *message = json_loads(PQgetvalue(result, i, 0), 0, NULL);

		if (message != NULL)
			json_array_append_new(messages, message);
	}
	json_object_set_new(line, "target", json_string(target));
	json_object_set_new(line, "messages", messages);
	text = json_dumps(line, JSON_COMPACT);
	if (text != NULL)
		(void) helper_send(notify->helper, text, strlen(text));
	free(text);
	json_decref(line);
}

static void ask(Notify *notify, const char *target);

/*
 * An answer that is older than the helper may list what the helper before it has sent.
 */
static void
on_messages(void *arg, PgOutcome outcome, PGresult *result)
{
	Question   *question = arg;
	Notify	   *notify = question->notify;
	bool		is_again = json_is_true(json_object_get(notify->asked, question->target));

	json_object_del(notify->asked, question->target);
	if (outcome == PG_DONE && question->life == notify->life)
		hand_over(notify, question->target, result);
	if (is_again && outcome == PG_DONE)
		ask(notify, question->target);
	pfree(question->target);
	pfree(question);
}

static bool
can_ask(const Notify *notify)
{
	return helper_is_ready(notify->helper) && notify->owner.why_not(notify->owner.arg) == NULL &&
		pg_is_up(notify->owner.pg);
}

static void
ask(Notify *notify, const char *target)
{
	Question   *question;
	WireParams	params;

	if (!can_ask(notify))
		return;
	if (json_object_get(notify->asked, target) != NULL)
	{
		json_object_set_new(notify->asked, target, json_true());
		return;
	}
	json_object_set_new(notify->asked, target, json_false());
	question = palloc(sizeof(Question));
	question->life = notify->life;
	question->notify = notify;
	question->target = pstrdup(target);
	wire_init(&params);
	wire_add_text(&params, target);
	wire_add_int4(&params, MESSAGES_MAX);
	wire_add_bool(&params, notify->owner.is_deputy);
	pg_send(notify->owner.pg, &next_incidents, &params, on_messages, question);
}

void
notify_ask(Notify *notify)
{
	for (int i = 0; i < notify->config->ntargets; i++)
		ask(notify, notify->config->targets[i]->name);
}

/* ---- the heartbeat ---- */

/* A target that fails is told by the heartbeat, which then stops. */
static bool
is_well(const Notify *notify)
{
	return json_array_size(notify->troubles) == 0 && notify->judged_us != 0 &&
		loop_now_us(notify->loop) - notify->judged_us < WELL_US;
}

static void
on_well(void *arg, PgOutcome outcome, PGresult *result)
{
	static const char line[] = "{\"heartbeat\":1}";
	Notify	   *notify = arg;

	if (outcome == PG_DONE && PQntuples(result) == 1 && wire_get_bool(result, 0, 0) && is_well(notify))
		(void) helper_send(notify->helper, line, strlen(line));
}

static void
ask_well(Notify *notify)
{
	if (!can_ask(notify) || !is_well(notify) || (notify->config->heartbeat == NULL && notify->config->heartbeat_file == NULL))
		return;
	pg_send(notify->owner.pg, &incidents_are_well, NULL, on_well, notify);
}

void
notify_judged(void *arg)
{
	Notify	   *notify = arg;

	notify->judged_us = loop_now_us(notify->loop);
	notify_ask(notify);
	ask_well(notify);
}

/* ---- what became of it ---- */

static const char *
told_text(const Note *note, const char *member)
{
	return json_string_value(json_object_get(note->told, member));
}

static void
free_note(Note *note)
{
	json_decref(note->told);
	pfree(note->answer);
	pfree(note);
}

/* The next message of its key may go.  A note that failed is told again with the next list. */
static void
on_noted(void *arg, PgOutcome outcome, PGresult *result)
{
	Note	   *note = arg;
	const char *status = told_text(note, "status");

	if (outcome == PG_FAILED && lacking_replace(note->answer, result, &note->nreplaced))
	{
		send_note(note);
		return;
	}
	if (outcome == PG_DONE && status != NULL && strcmp(status, "retry") != 0)
		ask(note->notify, told_text(note, "target"));
	free_note(note);
}

static void
send_note(Note *note)
{
	WireParams	params;

	wire_init(&params);
	wire_add_int8(&params, json_integer_value(json_object_get(note->told, "incident")));
	wire_add_text(&params, told_text(note, "target"));
	wire_add_text(&params, told_text(note, "state"));
	wire_add_int4(&params, (int32) json_integer_value(json_object_get(note->told, "repeat")));
	wire_add_text(&params, told_text(note, "status"));
	wire_add_text(&params, note->answer);
	pg_send(note->notify->owner.pg, &note_sent, &params, on_noted, note);
}

static void
note_told(Notify *notify, json_t *told)
{
	const char *answer = json_string_value(json_object_get(told, "answer"));
	Note	   *note;

	if (!pg_is_up(notify->owner.pg) || !json_is_string(json_object_get(told, "target")))
		return;
	note = palloc0(sizeof(Note));
	note->notify = notify;
	note->told = json_incref(told);
	note->answer = answer != NULL ? pstrdup(answer) : NULL;
	send_note(note);
}

static void
set_troubles(Notify *notify, json_t *troubles)
{
	json_decref(notify->troubles);
	notify->troubles = troubles;
}

static void
on_line(void *arg, const char *line, size_t len)
{
	Notify	   *notify = arg;
	json_t	   *told = json_loadb(line, len, 0, NULL);

	if (json_is_array(told))
		set_troubles(notify, json_incref(told));
	else if (json_is_object(told))
		note_told(notify, told);
	json_decref(told);
}

/* ---- the helper ---- */

static void
on_ready(void *arg)
{
	notify_ask(arg);
	ask_well(arg);
}

static void
on_gone(void *arg)
{
	set_troubles(arg, json_array());
	((Notify *) arg)->life++;
}

static const HelperProgram program = {
	.component = "notify",
	.subject = "helper \"notify\"",
	.bundled = "notify",
	.leave_us = LEAVE_US,
	.on_ready = on_ready,
	.on_line = on_line,
	.on_gone = on_gone
};

/* Why there must be no helper; NULL: there may be one. */
static const char *
why_down(const Notify *notify)
{
	if (notify->is_stopped)
		return "its owner stops";
	if (notify->config->line == NULL)
		return "there is nobody to notify any more";
	return notify->owner.why_not(notify->owner.arg);
}

void
notify_pump(Notify *notify)
{
	const char *why = why_down(notify);

	if (why != NULL)
		helper_end(notify->helper, why);
	else
		helper_run(notify->helper, notify->config->line);
}

void
notify_add_troubles(void *arg, json_t *list)
{
	const Notify *notify = arg;

	json_array_extend(list, notify->troubles);
	helper_add_trouble(notify->helper, list);
}

/* ---- open, reload, stop, free ---- */

Notify *
notify_open(Loop *loop, const NotifyConfig *config, const NotifyOwner *owner)
{
	Notify	   *notify = palloc0(sizeof(Notify));

	notify->loop = loop;
	notify->config = config;
	notify->owner = *owner;
	notify->troubles = json_array();
	notify->asked = json_object();
	notify->helper = helper_new(loop, &program, notify);
	return notify;
}

void
notify_reload(Notify *notify, const NotifyConfig *config)
{
	notify->config = config;
	helper_renew(notify->helper);
	loop_want_turn(notify->loop);
}

void
notify_stop(Notify *notify)
{
	notify->is_stopped = true;
	loop_want_turn(notify->loop);
}

bool
notify_is_down(const Notify *notify)
{
	return helper_is_down(notify->helper);
}

void
notify_free(Notify *notify)
{
	helper_free(notify->helper);
	json_decref(notify->troubles);
	json_decref(notify->asked);
	loop_defer_free(notify->loop, notify);
}

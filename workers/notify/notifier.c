/*-------------------------------------------------------------------------
 *
 * notifier.c
 *		Lines of the sidecar, and what became of its messages.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>
#include <time.h>

#include "base/iso8601.h"
#include "base/log.h"
#include "base/text.h"
#include "workers/notify/notifier.h"
#include "workers/notify/notify_command.h"
#include "workers/notify/notify_message.h"
#include "workers/notify/notify_queue.h"
#include "workers/notify/notify_send.h"

/* Bytes of an answer in a trouble. */
#define TROUBLE_ANSWER_MAX 200
#define ANSWER_MAX 1000

#define GIVE_UP_S 86400

/* An old message has its chance too: these take some minutes at least. */
#define GIVE_UP_TRIES 10

/* A target, or the heartbeat. */
typedef struct Sending
{
	Notifier   *notifier;
	const NotifyTarget *target; /* NULL: the heartbeat */
	NotifyQueue *queue;			/* NULL: the heartbeat */
	LoopTimer  *timer;			/* the next try */
	bool		is_busy;		/* a heartbeat is under way */
	char	   *fault;			/* why the last heartbeat failed; NULL: it did
								 * not */
} Sending;

struct Notifier
{
	Loop	   *loop;
	StringInfo	out;
	NotifySettings *settings;
	NotifySender *sender;
	Sending    *targets;
	Sending		heartbeat;
	json_t	   *troubles;		/* as the sidecar knows them */
	LoopFn		left;			/* NULL: it goes on */
	void	   *left_arg;
};

/* ---- what the sidecar hears ---- */

static void
append_json(Notifier *notifier, json_t *json)
{
	char	   *text = json_dumps(json, JSON_COMPACT);

	if (text != NULL)
		appendStringInfo(notifier->out, "%s\n", text);
	free(text);
	json_decref(json);
	loop_want_turn(notifier->loop);
}

/* Whether a message that was due a day ago was tried often enough. */
static bool
is_given_up(const NotifyMessage *message)
{
	const char *at = json_string_value(json_object_get(message->fields, "at"));
	int64		due_us;

	return message->nfailures >= GIVE_UP_TRIES && at != NULL && iso8601_parse(at, &due_us) &&
		(int64) time(NULL) - due_us / 1000000 > GIVE_UP_S;
}

static void
tell_end(const Sending *sending, const NotifyMessage *message)
{
	StringInfoData answer;
	json_t	   *told = json_pack("{sssssO*sO*}", "target", sending->target->name,
								 "status", message->is_sent ? "sent" : is_given_up(message) ? "failed" : "retry",
								 "incident", json_object_get(message->fields, "incident"),
								 "repeat", json_object_get(message->fields, "repeat"));

	initStringInfo(&answer);
	if (message->answer != NULL)
		text_escape_line(&answer, message->answer, strlen(message->answer), ANSWER_MAX);
	json_object_set(told, "state", json_object_get(message->fields, "state"));
	json_object_set_new(told, "answer", json_string(answer.data));
	append_json(sending->notifier, told);
	pfree(answer.data);
}

static json_t *
trouble_of(const char *subject, const char *answer)
{
	char	   *quoted = text_quote_line(answer, strlen(answer), TROUBLE_ANSWER_MAX);
	char	   *text = psprintf("notify %s: could not send: %s", subject, quoted);
	json_t	   *trouble = json_string(text);

	pfree(quoted);
	pfree(text);
	return trouble;
}

static void
add_trouble(const Sending *sending, json_t *list)
{
	const NotifyMessage *failed = notify_queue_trouble(sending->queue);
	char	   *subject;

	if (failed == NULL)
		return;
	subject = psprintf("target \"%s\"", sending->target->name);
	json_array_append_new(list, trouble_of(subject, failed->answer));
	pfree(subject);
}

static void
tell_troubles(Notifier *notifier)
{
	json_t	   *list = json_array();

	for (int i = 0; i < notifier->settings->ntargets; i++)
		add_trouble(&notifier->targets[i], list);
	if (notifier->heartbeat.fault != NULL)
		json_array_append_new(list, trouble_of("heartbeat", notifier->heartbeat.fault));
	if (!json_equal(list, notifier->troubles))
	{
		json_decref(notifier->troubles);
		notifier->troubles = json_incref(list);
		append_json(notifier, json_incref(list));
	}
	json_decref(list);
}

/* ---- sending ---- */

static bool
is_busy(const Notifier *notifier)
{
	for (int i = 0; i < notifier->settings->ntargets; i++)
		if (notify_queue_is_busy(notifier->targets[i].queue))
			return true;
	return notifier->heartbeat.is_busy;
}

static void
leave_when_idle(Notifier *notifier)
{
	if (notifier->left != NULL && !is_busy(notifier))
		notifier->left(notifier->left_arg);
}

static bool
begin(Sending *sending, const NotifyMessage *message, const char *body)
{
	Notifier   *notifier = sending->notifier;
	const NotifyTarget *target = sending->target;
	NotifyRequest request = {
		.body = body, .scheme = target->kind->authorization, .secret = target->secret,
		.keys = target->keys, .id = message->name
	};
	char	   *url;
	bool		is_begun;

	url = notify_message_url(notifier->settings, target, message);
	request.url = url;
	is_begun = notify_send(notifier->sender, &request, sending);
	pfree(url);
	return is_begun;
}

static void pump(Sending *sending);

/* The end of the message under way. */
static void
end(Sending *sending, bool is_sent, const char *answer)
{
	Notifier   *notifier = sending->notifier;
	const NotifyMessage *message = notify_queue_under_way(sending->queue);
	char	   *redacted = notify_redact(sending->target, answer);
	bool		is_news = is_sent || message->answer == NULL || is_given_up(message) ||
		strcmp(message->answer, redacted) != 0;

	if (is_news)
		log_line(is_sent ? TWT_LOG_INFO : TWT_LOG_WARN, "notify", "target \"%s\": message %s %s: %s",
				 sending->target->name, message->name, is_sent ? "sent" : "could not be sent", redacted);
	notify_queue_end(sending->queue, is_sent, redacted, loop_now_us(notifier->loop));
	if (is_news)
		tell_end(sending, message);
	pfree(redacted);
}

static void
on_command(void *arg, bool is_sent, const char *answer)
{
	Sending    *sending = arg;

	end(sending, is_sent, answer);
	pump(sending);
}

static void
start(Sending *sending, const NotifyMessage *message)
{
	Notifier   *notifier = sending->notifier;
	const NotifyTarget *target = sending->target;
	char	   *body = notify_message_body(notifier->settings, target, message);

	if (body == NULL)
		end(sending, false, "its template did not make JSON of the message");
	else if (target->argv != NULL ? !notify_command(notifier->loop, target->argv, body, on_command, sending) :
			 !begin(sending, message, body))
		end(sending, false, "too few processes or descriptors, or too little memory");
	text_forget(body);
}

/* A message that could not be started has failed, and is due again later. */
static void
pump(Sending *sending)
{
	Notifier   *notifier = sending->notifier;
	int64		delay_us = -1;
	NotifyMessage *message;

	while (notifier->left == NULL && !notify_queue_is_busy(sending->queue) &&
		   (message = notify_queue_start(sending->queue, loop_now_us(notifier->loop), &delay_us)) != NULL)
		start(sending, message);
	if (delay_us >= 0)
		loop_timer_start(sending->timer, delay_us);
	tell_troubles(notifier);
	leave_when_idle(notifier);
}

static void
on_timer(void *sending)
{
	pump(sending);
}

static void
end_heartbeat(Sending *heartbeat, bool is_sent, const char *answer)
{
	char	   *quoted = text_quote_line(answer, strlen(answer), TROUBLE_ANSWER_MAX);

	heartbeat->is_busy = false;
	pfree(heartbeat->fault);
	/* a receiver may quote the URL, which is a secret for some */
	heartbeat->fault = is_sent ? NULL : heartbeat->notifier->settings->is_heartbeat_secret ? psprintf("%.*s", (int) strcspn(quoted, ":/"), quoted) :
		pstrdup(quoted);
	pfree(quoted);
	tell_troubles(heartbeat->notifier);
	leave_when_idle(heartbeat->notifier);
}

static void
on_sent(void *arg, const NotifyAnswer *answer)
{
	Sending    *sending = arg;

	if (sending->target == NULL)
		end_heartbeat(sending, notify_was_sent(answer), answer->text);
	else
		on_command(arg, notify_was_sent(answer), answer->text);
}

/* ---- lines of the sidecar ---- */

static void
beat(Notifier *notifier)
{
	NotifyRequest request = {.url = notifier->settings->heartbeat};

	if (request.url == NULL || notifier->heartbeat.is_busy)
		return;
	notifier->heartbeat.is_busy = notify_send(notifier->sender, &request, &notifier->heartbeat);
	if (!notifier->heartbeat.is_busy)
		end_heartbeat(&notifier->heartbeat, false, "too little memory");
}

static Sending *
find_target(Notifier *notifier, const char *name)
{
	for (int i = 0; name != NULL && i < notifier->settings->ntargets; i++)
		if (strcmp(notifier->settings->targets[i].name, name) == 0)
			return &notifier->targets[i];
	return NULL;
}

static void
tell_again(Sending *sending)
{
	for (NotifyMessage *message = notify_queue_next(sending->queue, NULL); message != NULL;
		 message = notify_queue_next(sending->queue, message))
		if (message->is_sent)
			tell_end(sending, message);
}

void
notifier_take(Notifier *notifier, const char *line, size_t len)
{
	json_t	   *told = json_loadb(line, len, 0, NULL);
	Sending    *sending = find_target(notifier, json_string_value(json_object_get(told, "target")));

	if (json_object_get(told, "heartbeat") != NULL)
		beat(notifier);
	if (sending != NULL)
	{
		if (notify_queue_set(sending->queue, json_object_get(told, "messages"), loop_now_us(notifier->loop)) > 0)
			tell_again(sending);
		pump(sending);
	}
	json_decref(told);
}

/* ---- new, leave ---- */

Notifier *
notifier_new(Loop *loop, StringInfo out, NotifySettings *settings)
{
	Notifier   *notifier = palloc0(sizeof(Notifier));

	notifier->loop = loop;
	notifier->out = out;
	notifier->settings = settings;
	notifier->sender = notify_sender_new(loop, on_sent);
	notifier->troubles = json_array();
	notifier->heartbeat.notifier = notifier;
	notifier->targets = palloc0(Max(settings->ntargets, 1) * sizeof(Sending));
	for (int i = 0; i < settings->ntargets; i++)
	{
		Sending    *sending = &notifier->targets[i];

		sending->notifier = notifier;
		sending->target = &settings->targets[i];
		sending->queue = notify_queue_new();
		sending->timer = loop_timer_new(loop, on_timer, sending);
	}
	log_init(settings->log.format, settings->log.level, "");
	return notifier;
}

void
notifier_leave(Notifier *notifier, LoopFn done, void *arg)
{
	notifier->left = done;
	notifier->left_arg = arg;
	leave_when_idle(notifier);
}

/*-------------------------------------------------------------------------
 *
 * notify_message.c
 *		One message as its target wants it: a request, or the input of a command.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <curl/curl.h>
#include <time.h>

#include "base/text.h"
#include "workers/notify/notify_message.h"
#include "workers/notify/notify_template.h"

/* An alert of Alertmanager that is not resolved ends by then. */
#define ENDS_S (30 * 86400)

static const char *
member(const json_t *fields, const char *name)
{
	const char *text = json_string_value(json_object_get(fields, name));

	return text == NULL ? "" : text;
}

static NotifyState
state_of(const json_t *fields)
{
	NotifyState state;

	return notify_state_read(member(fields, "state"), &state) ? state : NOTIFY_OPEN;
}

/* The database knows its own environment best. */
static const char *
environment_of(const NotifySettings *settings, const json_t *fields)
{
	const char *environment = member(fields, "environment");

	return environment[0] != '\0' ? environment : settings->environment;
}

/* ---- keys ---- */

static uint64
digest(const char *text)
{
	uint64		sum = UINT64CONST(0xcbf29ce484222325);

	for (; *text != '\0'; text++)
		sum = (sum ^ (unsigned char) *text) * UINT64CONST(0x100000001b3);
	return sum;
}

/* The length of the longest beginning with whole characters. */
static int
whole_characters(const char *text, int max)
{
	while (max > 0 && ((unsigned char) text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

char *
notify_dedup_key(const NotifySettings *settings, const json_t *fields)
{
	const char *environment = environment_of(settings, fields);
	const char *place = environment[0] != '\0' ? environment : member(fields, "database");
	char	   *key = psprintf("%s/%s", place, member(fields, "key"));
	char	   *cut;

	if (strlen(key) <= NOTIFY_DEDUP_MAX)
		return key;
	cut = psprintf("%.*s~%016llx", whole_characters(key, NOTIFY_DEDUP_MAX - 17), key,
				   (unsigned long long) digest(key));
	pfree(key);
	return cut;
}

/* The link, with the key in place of {key}. */
static char *
make_link(const NotifySettings *settings, const json_t *fields)
{
	const char *place = settings->link == NULL ? NULL : strstr(settings->link, "{key}");
	char	   *key;
	char	   *link;

	if (place == NULL)
		return pstrdup(settings->link == NULL ? "" : settings->link);
	key = curl_easy_escape(NULL, member(fields, "key"), 0);
	link = psprintf("%.*s%s%s", (int) (place - settings->link), settings->link, key != NULL ? key : "",
					place + strlen("{key}"));
	curl_free(key);
	return link;
}

/* ---- the content ---- */

static const char *
action_of(const NotifyKind *kind, const json_t *fields)
{
	NotifyState state = state_of(fields);
	bool		is_ticket = strcmp(member(fields, "severity"), "ticket") == 0;

	if (is_ticket && kind->ticket != NULL && (state == NOTIFY_OPEN || state == NOTIFY_REFRESH))
		return kind->ticket;
	return kind->actions[state];
}

static char *
make_end(const json_t *fields)
{
	time_t		end = time(NULL) + (state_of(fields) == NOTIFY_RESOLVE ? 0 : ENDS_S);
	struct tm	parts;
	char		text[32];

	gmtime_r(&end, &parts);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
	return pstrdup(text);
}

static char *
make_number(const json_t *fields, const char *name)
{
	return psprintf(INT64_FORMAT, (int64) json_integer_value(json_object_get(fields, name)));
}


static void
take_texts(NotifyValues *values, const json_t *fields)
{
	values->of[NAME_SUMMARY] = member(fields, "summary");
	values->of[NAME_SEVERITY] = member(fields, "severity");
	values->of[NAME_KEY] = member(fields, "key");
	values->of[NAME_STATE] = member(fields, "state");
	values->of[NAME_SINCE] = member(fields, "since");
	values->of[NAME_DETAIL] = member(fields, "detail");
	values->of[NAME_HINT] = member(fields, "hint");
	values->of[NAME_DATABASE] = member(fields, "database");
}

/* Removes members with empty texts; in a list, the objects that had one. */
static bool
prune(json_t *json)
{
	bool		had_empty = false;
	const char *name;
	json_t	   *value;
	void	   *next;

	for (size_t i = json_array_size(json); i-- > 0;)
		if (prune(json_array_get(json, i)) && json_is_object(json_array_get(json, i)) && json_array_size(json) > 0 &&
			json_object_get(json_array_get(json, i), "labels") == NULL)
			json_array_remove(json, i);
	json_object_foreach_safe(json, next, name, value)
	{
		if (json_is_string(value) && json_string_length(value) == 0)
		{
			json_object_del(json, name);
			had_empty = true;
		}
		else
			(void) prune(value);
	}
	return had_empty;
}

/* Only JSON leaves this program, whatever the template is. */
static char *
checked(const char *text, bool omits_empty)
{
	json_t	   *json = json_loads(text, 0, NULL);
	char	   *dumped;
	char	   *copy;

	if (json == NULL)
		return NULL;
	if (omits_empty)
		(void) prune(json);
	dumped = json_dumps(json, JSON_COMPACT);
	copy = dumped == NULL ? NULL : pstrdup(dumped);
	free(dumped);
	json_decref(json);
	return copy;
}

char *
notify_message_body(const NotifySettings *settings, const NotifyTarget *target, const NotifyMessage *message)
{
	const json_t *fields = message->fields;
	NotifyState state = state_of(fields);
	bool		is_later = state == NOTIFY_ACKNOWLEDGE || state == NOTIFY_RESOLVE;
	char	   *own[] = {make_number(fields, "count"), make_link(settings, fields),
	notify_dedup_key(settings, fields), make_end(fields)};
	NotifyValues values = {.has_markup = target->kind->has_markup};
	StringInfoData out;
	char	   *body;

	take_texts(&values, fields);
	values.of[NAME_COUNT] = own[0];
	values.of[NAME_URL] = own[1];
	values.of[NAME_DEDUP_KEY] = own[2];
	values.of[NAME_ENDS] = own[3];
	values.of[NAME_ID] = message->name;
	values.of[NAME_ENVIRONMENT] = environment_of(settings, fields);
	values.of[NAME_SECRET] = target->secret;
	values.of[NAME_ACTION] = action_of(target->kind, fields);
	values.of[NAME_LEVEL] = target->kind->levels[strcmp(values.of[NAME_SEVERITY], "ticket") == 0];
	initStringInfo(&out);
	notify_template_render(is_later ? target->later : target->template, &values, &out);
	body = checked(out.data, target->kind->omits_empty);
	text_forget(out.data);
	for (size_t i = 0; i < lengthof(own); i++)
		pfree(own[i]);
	return body;
}

char *
notify_message_url(const NotifySettings *settings, const NotifyTarget *target, const NotifyMessage *message)
{
	const json_t *fields = message->fields;
	const char *path = target->kind->paths[state_of(fields)];
	char	   *key;
	char	   *escaped;
	char	   *url;

	if (path == NULL)
		return pstrdup(target->url);
	key = notify_dedup_key(settings, fields);
	escaped = curl_easy_escape(NULL, key, 0);
	url = psprintf("%s/%s/%s", target->url, escaped != NULL ? escaped : "", path);
	curl_free(escaped);
	pfree(key);
	return url;
}

/* ---- answers ---- */

char *
notify_redact(const NotifyTarget *target, const char *answer)
{
	const char *path = target->is_url_secret ? strstr(target->url, "://") : NULL;
	char	   *text = text_without(pstrdup(answer), target->secret);

	path = path == NULL ? NULL : strchr(path + 3, '/');
	return path == NULL || path[1] == '\0' ? text : text_without(text, path);
}

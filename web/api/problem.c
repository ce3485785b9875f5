#include "base/port.h"

#include <microhttpd.h>

#include "base/json_member.h"
#include "base/text.h"
#include "pg/statement.h"
#include "web/api/problem.h"

static const Problem problems[] = {
	{"bad_request", "bad-request", MHD_HTTP_BAD_REQUEST, "The request is not as this route takes it"},
	{"unauthorized", "unauthorized", MHD_HTTP_UNAUTHORIZED, "This route is for known persons"},
	{"forbidden", "forbidden", MHD_HTTP_FORBIDDEN, "This person may not do that"},
	{"not_allowed", "forbidden", MHD_HTTP_FORBIDDEN, "The database does not allow that", .is_logged = true},
	{"not_found", "not-found", MHD_HTTP_NOT_FOUND, "There is no such object"},
	{"wrong_version", "wrong-version", MHD_HTTP_CONFLICT, "The object has changed meanwhile",
	"Look at the object again; nothing has changed now."},
	{"wrong_status", "wrong-status", MHD_HTTP_CONFLICT, "The object is in a state that does not allow that",
	"Look at the object again; nothing has changed now."},
	{"busy", "busy", MHD_HTTP_CONFLICT, "Another transaction holds the object", "Try again; nothing has changed now."},
	{"changed", "changed", MHD_HTTP_CONFLICT, "The preview is not true any more",
	"Other tasks match by now; nothing has changed.  Ask for a preview again."},
	{"conflict", "conflict", MHD_HTTP_CONFLICT, "Other objects do not allow that", .is_logged = true},
	{"unprocessable", "unprocessable", MHD_HTTP_UNPROCESSABLE_CONTENT, "The database cannot work with these values",
	"The log of twtasks-web has the message of the database.", .is_logged = true},
	{"no_version", "no-version", MHD_HTTP_PRECONDITION_REQUIRED, "A change must name the version that it changes",
	"Send the member version, or the header If-Match."},
	{"too_many", "too-many", MHD_HTTP_TOO_MANY_REQUESTS, "There were too many wrong tokens from this address"},
	{"failed", "failed", MHD_HTTP_INTERNAL_SERVER_ERROR, "The database refused the request",
	"The log of twtasks-web has the message of the database.", .is_logged = true},
	{"not_installed", "not-installed", MHD_HTTP_NOT_IMPLEMENTED, "The database lacks an extension that this route needs",
	"Or the extension has an older version."},
	{"too_many_streams", "too-many-streams", MHD_HTTP_SERVICE_UNAVAILABLE, "Too many streams are open",
	"Ask for answers again and again in place of the stream."},
	{"too_much", "too-much", MHD_HTTP_SERVICE_UNAVAILABLE, "The answer takes too long",
	"Ask for less; nothing has changed.", .is_logged = true},
	{"unavailable", "unavailable", MHD_HTTP_SERVICE_UNAVAILABLE, "The database gives no answer now", .is_logged = true},
	{"no_role", "unavailable", MHD_HTTP_SERVICE_UNAVAILABLE, "twtasks-web may not take on the role of this person",
	"The log of twtasks-web has the message of the database."},
};

/* The first row counts whose state begins the SQLSTATE. */
typedef struct Meaning
{
	const char *state;
	const char *word;
	bool		is_ours;		/* only of an error in our own statement */
} Meaning;

static const Meaning meanings[] = {
	{"40001", "changed"},
	{"42501", "not_allowed"},
	{"42704", "not_found"},
	{"3F000", "not_installed", true},
	{"42883", "not_installed", true},
	{"42P01", "not_installed", true},
	{"22", "unprocessable"},
	{"23", "conflict"},
	{"55P03", "busy"},
	{"55000", "wrong_status"},
	{"57014", "too_much"},
	{"", "failed"},
};

const Problem *
problem_at(int n)
{
	return n < (int) lengthof(problems) ? &problems[n] : NULL;
}

const Problem *
problem_by_word(const char *word)
{
	for (size_t i = 0; i < lengthof(problems); i++)
		if (strcmp(problems[i].word, word) == 0)
			return &problems[i];
	return NULL;
}

const Problem *
problem_of(const char *word)
{
	const Problem *problem = problem_by_word(word);

	Assert(problem != NULL);
	return problem;
}

static const Problem *
problem_of_state(const PGresult *result)
{
	const Meaning *meaning = meanings;
	const char *state = pg_sqlstate(result);

	while (strncmp(meaning->state, state, strlen(meaning->state)) != 0 ||
		   (meaning->is_ours && PQresultErrorField(result, PG_DIAG_CONTEXT) != NULL))
		meaning++;
	return problem_of(meaning->word);
}

/*
 * A reader finds no conflict with others.  A standby cancels it with the SQLSTATE that
 * change_tasks() has for a count that is not met.
 */
const Problem *
problem_of_result(const PGresult *result, bool is_read)
{
	const Problem *problem = result == NULL ? problem_of("no_role") : problem_of_state(result);

	return is_read && problem->status == MHD_HTTP_CONFLICT ? problem_of("unavailable") : problem;
}

/* Appends the members of an object, without its braces. */
static void
append_members(StringInfo out, const char *object)
{
	const char *begin = strchr(object, '{');
	const char *end = strrchr(object, '}');

	if (begin == NULL || end == NULL)
		return;
	begin += 1 + strspn(begin + 1, " \t\r\n");
	if (begin < end)
	{
		appendStringInfoChar(out, ',');
		appendBinaryStringInfo(out, begin, end - begin);
	}
}

char *
problem_text(const Problem *problem, const char *detail, const char *members)
{
	StringInfoData out;
	size_t		len;

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"type\":\"/problems/");
	for (const char *c = problem->type; *c != '\0'; c++)
		appendStringInfoChar(&out, *c == '_' ? '-' : *c);
	appendStringInfo(&out, "\",\"title\":\"%s\",\"status\":%d", problem->title, problem->status);
	detail = detail != NULL ? detail : problem->detail;
	if (detail != NULL && (members == NULL || json_member(members, "detail", &len) == NULL))
	{
		appendStringInfoString(&out, ",\"detail\":\"");
		text_escape_json(&out, detail, strlen(detail), SIZE_MAX);
		appendStringInfoChar(&out, '"');
	}
	if (members != NULL)
		append_members(&out, members);
	appendStringInfoString(&out, "}\n");
	return out.data;
}

#include "base/port.h"

#include <microhttpd.h>

#include "common/hashfn.h"
#include "web/api/api_answer.h"

/* A column of the only row; NULL: it is null, or there is none. */
static const char *
column(const PGresult *result, const char *name)
{
	int			i = PQfnumber(result, name);

	return i < 0 || PQgetisnull(result, 0, i) ? NULL : PQgetvalue(result, 0, i);
}

static ApiAnswer *
new_answer(int status, const char *type, const char *body, size_t len)
{
	ApiAnswer  *answer = palloc0(sizeof(ApiAnswer));

	answer->status = status;
	answer->type = type;
	answer->body = http_share(body, len);
	return answer;
}

ApiAnswer *
api_answer_problem(const Problem *problem, const char *detail, const char *members)
{
	char	   *text = problem_text(problem, detail, members);
	ApiAnswer  *answer = new_answer(problem->status, PROBLEM_CONTENT_TYPE, text, strlen(text));

	answer->problem = problem->type;
	pfree(text);
	return answer;
}

ApiAnswer *
api_answer_late(void)
{
	return api_answer_problem(problem_of("unavailable"), "The database is silent.", NULL);
}

/* A browser asks again each time, and sends the ETag. */
static const char *
cache_control(const ApiRoute *route)
{
	return strcmp(route->method, "GET") == 0 ? "private, no-cache" : NULL;
}

static ApiAnswer *
answer_row(const ApiRoute *route, const PGresult *result)
{
	const char *body = column(result, "body");
	const char *etag = column(result, "etag");
	const char *location = column(result, "location");
	ApiAnswer  *answer = new_answer(route->creates ? MHD_HTTP_CREATED : MHD_HTTP_OK, NULL,
									body != NULL ? body : "null", body != NULL ? strlen(body) : 4);

	answer->cache_control = cache_control(route);
	if (etag != NULL)
		answer->etag = psprintf("\"%s\"", etag);
	else if (route->cache_us > 0 && body != NULL && PQfnumber(result, "etag") < 0)
		api_answer_hash(answer, body, strlen(body));
	answer->location = location == NULL ? NULL : pstrdup(location);
	return answer;
}

ApiAnswer *
api_answer_of_result(const ApiRoute *route, const PGresult *result)
{
	const char *word;
	const Problem *problem;

	if (PQntuples(result) == 0)
		return api_answer_problem(problem_of("not_found"), NULL, NULL);
	word = column(result, "problem");
	if (word == NULL)
		return answer_row(route, result);
	problem = problem_by_word(word);
	return api_answer_problem(problem != NULL ? problem : problem_of("failed"), NULL,
							  column(result, "body"));
}

void
api_answer_hash(ApiAnswer *answer, const char *body, size_t len)
{
	answer->etag = psprintf("\"%016" INT64_MODIFIER "x\"",
							hash_bytes_extended((const unsigned char *) body, (int) len, 0));
}

void
api_answer_send(const ApiAnswer *answer, HttpRequest *request)
{
	HttpAnswer	head = {
		.status = answer->status, .type = answer->type, .etag = answer->etag,
		.cache_control = answer->cache_control, .location = answer->location
	};

	http_answer_shared(request, &head, answer->body);
}

void
api_answer_free(ApiAnswer *answer)
{
	if (answer == NULL)
		return;
	http_unshare(answer->body);
	pfree(answer->etag);
	pfree(answer->location);
	pfree(answer);
}

/* A word that is none of problem.c comes from the server itself. */
void
api_refuse(HttpRequest *request, int status, const char *word, const char *detail)
{
	Problem		problem;
	ApiAnswer  *answer;

	if (problem_by_word(word) != NULL)
		problem = *problem_by_word(word);
	else
		problem = (Problem)
	{
		word, .type = word, .title = "The server refuses the request"
	};
	problem.status = status;
	answer = api_answer_problem(&problem, detail, NULL);
	api_answer_send(answer, request);
	api_answer_free(answer);
}

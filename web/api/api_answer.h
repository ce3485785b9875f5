/*-------------------------------------------------------------------------
 *
 * api_answer.h
 *		The answer of a route, for one request or for many.
 *
 *		from: api.c			to: http.h, problem.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_ANSWER_H
#define TWT_API_ANSWER_H

#include "libpq-fe.h"

#include "web/api/api_route.h"
#include "web/api/problem.h"

typedef struct ApiAnswer
{
	int			status;
	const char *type;			/* NULL: JSON */
	const char *problem;		/* the type of the problem; NULL: it is none */
	const char *cache_control;
	char	   *etag;			/* with its quotes; NULL: none */
	char	   *location;		/* NULL: none */
	HttpShared *body;
} ApiAnswer;

/* The answer that the result of the route's statement makes. */
extern ApiAnswer *api_answer_of_result(const ApiRoute *route, const PGresult *result);

/* See problem_text(). */
extern ApiAnswer *api_answer_problem(const Problem *problem, const char *detail,
									 const char *members);

/* The problem of a statement that is under way for longer than API_LATE_US. */
extern ApiAnswer *api_answer_late(void);

/* An ETag of the bytes of the body. */
extern void api_answer_hash(ApiAnswer *answer, const char *body, size_t len);

extern void api_answer_send(const ApiAnswer *answer, HttpRequest *request);
extern void api_answer_free(ApiAnswer *answer);

/* Sends a problem to one request: see HttpRefusal.  detail may be NULL. */
extern void api_refuse(HttpRequest *request, int status, const char *word, const char *detail);

#endif							/* TWT_API_ANSWER_H */

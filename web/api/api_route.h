/*-------------------------------------------------------------------------
 *
 * api_route.h
 *		A route of the management API: one row of a table, and one statement.
 *
 *		from: api_tables.c		to: api.c, openapi.c, api/sql
 *
 * A row of the table says all about a route: who may ask, its parameters, its
 * statement, its answer.  The row serves requests, and makes their description
 * (openapi.h), the docs page and the tests of roles.
 *
 * A request runs web/api/sql/NAME.sql in a transaction of its own, as the person's
 * role of the database, in the name of the person (twtasks.on_behalf_of), in UTC,
 * within a time limit, and read only if its method is GET.  The parameters of the
 * statement are those of the row, in order, all of type text, and null where the
 * request lacks them: $1::uuid is right, and $2::text[] for API_WORDS.
 *
 * The statement returns no row, so there is no such object, or one row with some of
 * these columns, all of type text:
 *
 *	 body		JSON, which the answer has as it is
 *	 etag		the version of the object; a client may send it back in If-Match
 *	 location	the path of a new object, relative to the one of the request
 *	 problem	a word of problem.c: then the answer is this problem, and has the
 *				members of the object body too
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_ROUTE_H
#define TWT_API_ROUTE_H

#include "web/person.h"

#define API_ROOT "/api/v1"

/* The most parameters of a route. */
#define API_PARAMS_MAX 16

/*
 * A look at the database that takes longer is a sign that it hangs.  Statements of
 * routes that read are cancelled after 2 s.  Streams look every 2 s, and so their
 * clients learn it within 5 s.  Clients that ask for the first page every 2 s may get one
 * more answer from memory before.
 */
#define API_LATE_US MS_TO_US(2500)

typedef enum ApiFrom
{
	API_PATH,					/* the parts {name} of the path, in order */
	API_QUERY,
	API_BODY,					/* a member of the object in the body */
	API_VERSION,				/* the same, or the header If-Match */
	API_SELF					/* nothing of the request: see api_self.c */
} ApiFrom;

typedef enum ApiType
{
	API_TEXT,					/* max: bytes; 0: 1000 */
	API_UUID,
	API_INTEGER,				/* min and max; both 0: any */
	API_NUMBER,					/* its digits stay as they are */
	API_BOOLEAN,
	API_TIME,					/* RFC 3339 */
	API_INTERVAL,				/* as PostgreSQL takes it */
	API_WORDS,					/* a,b in a query, ["a", "b"] in a body; max:
								 * their number; 0: 100 */
	API_UUIDS,					/* the same, of UUIDs */
	API_JSON					/* any value, with its digits as they are */
} ApiType;

typedef struct ApiParam
{
	const char *name;
	ApiFrom		from;
	ApiType		type;
	bool		is_required;	/* also not empty */
	const char *help;
	const char *const *words;	/* the allowed values, NULL-terminated; NULL:
								 * any */
	int64		min;
	int64		max;
} ApiParam;

typedef struct ApiRoute
{
	const char *method;
	const char *path;			/* below API_ROOT, as in /tasks/{id}/why */
	ApiRole		role;
	const char *name;			/* the statement, and the operationId */
	const char *help;
	const ApiParam *params;
	int			nparams;
	const char *schema;			/* its answer, in web/api/schemas*.json; NULL:
								 * a stream */
	int64		cache_us;		/* one answer serves so long all who may ask */
	int64		late_us;		/* an answer for memory that takes longer is a
								 * problem; 0: no limit */

	/*
	 * Runs before the statement, in a transaction of its own, with the same
	 * parameters.  Its column "first" is one more, last parameter of the
	 * statement.  NULL: none.
	 */
	const char *first;

	/*
	 * The statement for persons who are no viewers, if role is API_ANY; NULL:
	 * the same.
	 */
	const char *alone;

	/*
	 * The answer is a stream, and its statement serves all streams: see
	 * api_stream.h.
	 */
	bool		is_stream;

	/* The statement of a new object: the answer has status 201. */
	bool		creates;

	const char *extension;		/* the statement needs more than twtasks;
								 * NULL: no */
} ApiRoute;

typedef struct ApiTable
{
	const ApiRoute *routes;
	int			n;
} ApiTable;

/* All tables, NULL-terminated. */
extern const ApiTable *const api_tables[];

/* The pattern of a route for http.h, palloc'd. */
extern char *api_route_pattern(const ApiRoute *route);

#endif							/* TWT_API_ROUTE_H */

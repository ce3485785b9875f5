#include "base/port.h"

#include <microhttpd.h>

#include "web/person.h"
#include "web/person_failures.h"
#include "web/person_origin.h"

#define NAME_MAX_BYTES 200

struct Persons
{
	Loop	   *loop;
	const ManageConfig *config;
	PersonFailures *failures;
	Person	   *person;			/* the last one */
	char	   *name;			/* the person's, where the configuration has
								 * none */
	PersonRefusal *refusal;		/* the last one with words of its own */
};

static const PersonRefusal nobody = {
	MHD_HTTP_UNAUTHORIZED, "unauthorized", "Nobody is logged in; the header Authorization may be \"Bearer\" and a token."
};

static const PersonRefusal wrong_token = {
	MHD_HTTP_UNAUTHORIZED, "unauthorized", "Nobody has this token."
};

static const PersonRefusal too_many = {
	MHD_HTTP_TOO_MANY_REQUESTS, "too_many", "Nobody has this token, and there were too many wrong ones from this address; wait a minute."
};

static const PersonRefusal foreign_page = {
	MHD_HTTP_FORBIDDEN, "forbidden", "Requests of other web pages are not taken."
};

static const PersonRefusal foreign_header = {
	MHD_HTTP_BAD_REQUEST, "bad_request", "A header that names the user may come from the proxy alone."
};

static const PersonRefusal unknown_user = {
	MHD_HTTP_UNAUTHORIZED, "unauthorized", "The list socket_users does not have the system user of this connection."
};

static const PersonRefusal no_role = {
	MHD_HTTP_FORBIDDEN, "forbidden", "This person has no role here."
};

static const PersonRefusal *
refuse(const Persons *persons, int status, const char *word, const char *detail)
{
	persons->refusal->status = status;
	persons->refusal->word = word;
	persons->refusal->detail = detail;
	return persons->refusal;
}

/* ---- ways to log in: each fills the person, or returns why not ---- */

static const PersonRefusal *
judge_token(const Persons *persons, const HttpRequest *request, const char *token)
{
	const PersonTokens *tokens = persons->config->tokens;
	const PersonToken *found = tokens == NULL ? NULL : person_tokens_find(tokens, token);

	if (found == NULL)
		return person_failures_note(persons->failures, http_peer(request)) ? &too_many : &wrong_token;
	persons->person->name = found->name;
	person_add_roles(persons->person, found->roles);
	return NULL;
}

static const PersonRefusal *
judge_proxy(const Persons *persons, const HttpRequest *request)
{
	const char *fault;

	if (http_header(request, persons->config->proxy.user_header) == NULL)
		return &nobody;
	fault = person_proxy_read(&persons->config->proxy, request, persons->person);
	if (fault != NULL)
		return refuse(persons, MHD_HTTP_BAD_REQUEST, "bad_request", fault);
	persons->person->is_ambient = true;
	return NULL;
}

static const PersonRefusal *
judge_client(const Persons *persons, const HttpPeer *peer)
{
	if (person_name_fault(peer->common_name) != NULL)
		return &no_role;
	persons->person->name = peer->common_name;
	persons->person->is_ambient = true;
	person_entries_user(persons->config->tls.clients, peer->common_name, persons->person);
	return NULL;
}

static const PersonRefusal *
judge_socket(const Persons *persons, const HttpPeer *peer)
{
	Person	   *person = persons->person;

	person->name = person_entries_peer(persons->config->socket_users, peer, person);
	person->is_ambient = true;
	if (person->role[API_ANY] == NULL)
	{
		person_failures_note_user(persons->failures, peer);
		return &unknown_user;
	}
	if (person->name == NULL)
	{
		snprintf(persons->name, NAME_MAX_BYTES + 1, "uid %u", (unsigned) peer->user);
		person->name = persons->name;
	}
	return NULL;
}

/* ---- requests ---- */

static bool
is_from_stranger(const Persons *persons, const HttpRequest *request)
{
	const ProxyConfig *proxy = &persons->config->proxy;

	if (!person_proxy_is_used(proxy, request) || person_proxy_is_trusted(proxy, http_peer(request)))
		return false;
	person_failures_note_header(persons->failures, http_peer(request), proxy->user_header);
	return true;
}

static const PersonRefusal *
log_in(const Persons *persons, const HttpRequest *request)
{
	const char *authorization = http_header(request, "Authorization");
	const HttpPeer *peer = http_peer(request);

	if (authorization != NULL && pg_strncasecmp(authorization, "Bearer ", 7) == 0)
		return judge_token(persons, request, authorization + 7);
	if (person_proxy_is_used(&persons->config->proxy, request))
		return judge_proxy(persons, request);
	if (peer->common_name != NULL)
		return judge_client(persons, peer);
	if (peer->is_unix && persons->config->nsocket_users > 0 &&
		!person_proxy_is_trusted(&persons->config->proxy, peer))
		return judge_socket(persons, peer);
	return &nobody;
}

static const PersonRefusal *
judge(const Persons *persons, const HttpRequest *request)
{
	const PersonRefusal *refusal;
	const char *fault;

	if (person_origin_is_foreign(request, persons->config->hosts))
		return &foreign_page;
	if (is_from_stranger(persons, request))
		return &foreign_header;
	refusal = log_in(persons, request);
	if (refusal != NULL)
		return refusal;
	if (persons->person->role[API_ANY] == NULL)
		return &no_role;
	fault = !persons->person->is_ambient ? NULL :
		person_forgery_fault(request, person_proxy_is_used(&persons->config->proxy, request));
	return fault == NULL ? NULL : refuse(persons, MHD_HTTP_FORBIDDEN, "forbidden", fault);
}

const Person *
persons_judge(const Persons *persons, const HttpRequest *request, const PersonRefusal **refusal)
{
	memset(persons->person, 0, sizeof(Person));
	*refusal = judge(persons, request);
	return *refusal == NULL ? persons->person : NULL;
}

void
persons_lack_role(const Persons *persons, const char *role, const char *login)
{
	person_failures_note_role(persons->failures, role, login);
}

const char *
persons_trouble(const Persons *persons)
{
	return person_failures_lack_role(persons->failures) ?
		"the database does not allow a role; the log names the GRANT" : NULL;
}

/* ---- the whole ---- */

Persons *
persons_open(Loop *loop, const ManageConfig *config)
{
	Persons    *persons = palloc0(sizeof(Persons));

	persons->loop = loop;
	persons->config = config;
	persons->failures = person_failures_new(loop);
	persons->person = palloc0(sizeof(Person));
	persons->name = palloc0(NAME_MAX_BYTES + 1);
	persons->refusal = palloc0(sizeof(PersonRefusal));
	return persons;
}

void
persons_set_config(Persons *persons, const ManageConfig *config)
{
	persons->config = config;
}

void
persons_close(Persons *persons)
{
	person_failures_free(persons->failures);
	pfree(persons->person);
	pfree(persons->name);
	pfree(persons->refusal);
	pfree(persons);
}

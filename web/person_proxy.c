#include "base/port.h"

#include "base/words.h"
#include "web/person_proxy.h"

/* ---- configuration ---- */

static const char *
check_header(const char *name)
{
	const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	if (strspn(name, letters) != strlen(name))
		return "the name of a header has letters, digits, - and _";
	if (pg_strcasecmp(name, "Authorization") == 0 || pg_strcasecmp(name, "Host") == 0 ||
		pg_strcasecmp(name, "Origin") == 0)
		return "this header has another meaning";
	return NULL;
}

static const Option options[] = {
	{
		"user_header", OPTION_TEXT, .min = 1, .max = 100, .check = check_header,
		.offset = offsetof(ProxyConfig, user_header),
		.help = "header in which the proxy names the user"
	},
	{
		"groups_header", OPTION_TEXT, .min = 1, .max = 100, .check = check_header,
		.offset = offsetof(ProxyConfig, groups_header),
		.help = "header in which the proxy names the user's groups, with commas"
	},
	{
		"from", OPTION_WORDS, .min = 1, .max = 100, .check = peer_check,
		.offset = offsetof(ProxyConfig, from),
		.help = "addresses or networks from which alone these headers may come"
	},
	{
		"from_users", OPTION_WORDS, .min = 1, .max = 100, .check = person_name_fault,
		.offset = offsetof(ProxyConfig, from_users),
		.help = "system users from which they may come by the Unix socket"
	},
	{
		"users", OPTION_SECTIONS, .section = &user_entry_section, .min = 1, .max = 1000,
		.offset = offsetof(ProxyConfig, users),
		.help = "roles of users"
	},
	{
		"groups", OPTION_SECTIONS, .section = &group_entry_section, .min = 1, .max = 1000,
		.offset = offsetof(ProxyConfig, groups),
		.help = "roles of groups; a user has the roles of all entries that fit"
	},
};

static void
find_users(ProxyConfig *proxy, const Place *place)
{
	int			n = words_count(proxy->from_users);

	proxy->ids = palloc0((n + 1) * sizeof(uid_t));
	for (int i = 0; i < n; i++)
		if (system_user_find(proxy->from_users[i], &proxy->ids[proxy->nids]))
			proxy->nids++;
		else
			options_note(place, "from_users", "the system does not know one of them");
}

static bool
is_empty(PersonEntry *const *entries)
{
	return entries == NULL || entries[0] == NULL;
}

static bool
settle(void *target, const Place *place)
{
	ProxyConfig *proxy = target;
	bool		has_sources = proxy->from != NULL || proxy->from_users != NULL;

	if (proxy->user_header == NULL)
		return (!has_sources && proxy->groups_header == NULL && is_empty(proxy->users) && is_empty(proxy->groups)) ||
			options_fail(place, "user_header", "the key is missing");
	if (!has_sources)
		return options_fail(place, "from", "name the addresses from which the header may come, or from_users");
	if (is_empty(proxy->users) && is_empty(proxy->groups))
		return options_fail(place, "groups", "nobody would have a role; give it groups or users");
	if ((proxy->groups_header == NULL) != is_empty(proxy->groups))
		return options_fail(place, "groups_header", "groups and groups_header need each other");
	proxy->networks = peer_networks(proxy->from);
	find_users(proxy, place);
	return true;
}

static void
release(void *target)
{
	ProxyConfig *proxy = target;

	peer_networks_free(&proxy->networks);
	pfree(proxy->ids);
}

const Section proxy_section = {
	options, lengthof(options), sizeof(ProxyConfig), settle, release
};

/* ---- requests ---- */

bool
person_proxy_is_used(const ProxyConfig *proxy, const HttpRequest *request)
{
	return (proxy->user_header != NULL && http_header(request, proxy->user_header) != NULL) ||
		(proxy->groups_header != NULL && http_header(request, proxy->groups_header) != NULL);
}

bool
person_proxy_is_trusted(const ProxyConfig *proxy, const HttpPeer *peer)
{
	if (peer->is_unix)
	{
		for (int i = 0; i < proxy->nids; i++)
			if (proxy->ids[i] == peer->user)
				return true;
		return false;
	}
	return peer_is_in_any(&peer->address, &proxy->networks);
}

static void
add_groups(const ProxyConfig *proxy, const char *groups, Person *person)
{
	while (*groups != '\0')
	{
		size_t		len;
		size_t		end;

		groups += strspn(groups, " \t,");
		end = strcspn(groups, ",");
		for (len = end; len > 0 && strchr(" \t", groups[len - 1]) != NULL; len--)
			;
		person_entries_group(proxy->groups, groups, len, person);
		groups += end;
	}
}

static bool
is_twice(const HttpRequest *request, const char *header)
{
	return header != NULL && http_header_count(request, header) > 1;
}

const char *
person_proxy_read(const ProxyConfig *proxy, const HttpRequest *request, Person *person)
{
	const char *user = http_header(request, proxy->user_header);
	const char *groups = proxy->groups_header == NULL ? NULL : http_header(request, proxy->groups_header);

	if (is_twice(request, proxy->user_header) || is_twice(request, proxy->groups_header))
		return "A header of the proxy is there twice.";
	if (user == NULL || user[0] == '\0')
		return "The proxy names no user.";
	if (person_name_fault(user) != NULL)
		return "The proxy names a user of more than 200 bytes, or with characters that are not text.";
	person->name = user;
	person_entries_user(proxy->users, user, person);
	if (groups != NULL)
		add_groups(proxy, groups, person);
	return NULL;
}

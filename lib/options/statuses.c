#include "base/port.h"

#include "options/statuses.h"

/* One word of the option, parsed. */
typedef struct StatusRule
{
	int			status;			/* the lowest, for a class */
	bool		is_class;
	TaskResult	result;
} StatusRule;

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Steps over a status: one to three digits, or one and "xx". */
static bool
parse_status(const char **text, StatusRule *rule)
{
	const char *s = *text;
	int			len = 0;

	rule->status = 0;
	while (len < 3 && is_digit(s[len]))
		rule->status = rule->status * 10 + (s[len++] - '0');
	rule->is_class = len == 1 && s[1] == 'x' && s[2] == 'x';
	if (rule->is_class)
	{
		rule->status *= 100;
		len = 3;
	}
	*text = s + len;
	return len > 0 && !(len > 1 && s[0] == '0');
}

/* "failure" is not a word of the worker protocol; it lets retry decide. */
static bool
parse_result(const char *text, TaskResult *result)
{
	if (strcmp(text, "failure") == 0)
	{
		*result = TASK_FAILURE;
		return true;
	}
	return task_result_parse(text, result) && *result != TASK_CANCELLED;
}

static bool
parse_rule(const char *word, StatusRule *rule)
{
	return parse_status(&word, rule) && *word == '=' &&
		parse_result(word + 1, &rule->result);
}

const char *
statuses_check(const char *word)
{
	StatusRule	rule;

	if (parse_rule(word, &rule))
		return NULL;
	return "it must be STATUS=RESULT, with a result of done, delete, retry, repeat, error, accepted and failure";
}

const char *
statuses_check_all(char *const *words, int min, int max)
{
	for (int i = 0; words != NULL && words[i] != NULL; i++)
	{
		StatusRule	rule;
		StatusRule	other;

		if (!parse_rule(words[i], &rule) || rule.status < min || rule.status > max)
			return "status out of range";
		if (rule.is_class && max < 256)
			return "exit statuses have no classes";
		for (int j = 0; j < i; j++)
			if (parse_rule(words[j], &other) && other.status == rule.status &&
				other.is_class == rule.is_class)
				return "a status is there twice";
	}
	return NULL;
}

bool
statuses_find(char *const *words, int status, TaskResult *result)
{
	bool		is_found = false;

	for (int i = 0; words != NULL && words[i] != NULL; i++)
	{
		StatusRule	rule;

		if (!parse_rule(words[i], &rule))
			continue;
		if (!rule.is_class && rule.status == status)
		{
			*result = rule.result;
			return true;
		}
		if (rule.is_class && rule.status == status / 100 * 100)
		{
			*result = rule.result;
			is_found = true;
		}
	}
	return is_found;
}

/*-------------------------------------------------------------------------
 *
 * notify_template.h
 *		The text of a message: a file of JSON with ${names}.
 *
 *		from: notify_settings.c (check), notify_message.c
 *
 * A value inside a JSON string is escaped.  Outside of strings a value is a number if it
 * has digits only, else a string with its quotes.  So no value ends a string or adds a
 * member, whatever the template looks like.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_TEMPLATE_H
#define TWT_NOTIFY_TEMPLATE_H

/* The names that a template may use, in this order. */
typedef enum NotifyName
{
	NAME_SUMMARY, NAME_SEVERITY, NAME_KEY, NAME_STATE, NAME_COUNT, NAME_SINCE, NAME_DETAIL, NAME_HINT,
	NAME_URL, NAME_ENVIRONMENT, NAME_DATABASE, NAME_ID, NAME_ACTION, NAME_LEVEL, NAME_DEDUP_KEY,
	NAME_ENDS, NAME_SECRET, NAME_END
} NotifyName;

typedef struct NotifyValues
{
	const char *of[NAME_END];	/* NULL stands for "" */
	bool		has_markup;		/* & < > are written as &amp; &lt; &gt; */
} NotifyValues;

/* Returns what is wrong with the template, palloc'd; NULL: nothing. */
extern char *notify_template_check(const char *text) MUSTCHECK;

/* Appends the message.  The template has passed the check. */
extern void notify_template_render(const char *text, const NotifyValues *values, StringInfo out);

#endif							/* TWT_NOTIFY_TEMPLATE_H */

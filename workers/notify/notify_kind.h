/*-------------------------------------------------------------------------
 *
 * notify_kind.h
 *		What each kind of target expects of a message.
 *
 *		from: notify_settings.c, notify_message.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_KIND_H
#define TWT_NOTIFY_KIND_H

typedef enum NotifyState
{
	NOTIFY_OPEN,
	NOTIFY_REFRESH,
	NOTIFY_ACKNOWLEDGE,
	NOTIFY_RESOLVE,
	NOTIFY_STATES
} NotifyState;

typedef struct NotifyKind
{
	const char *name;
	const char *url;			/* NULL: the target must name one */
	const char *template;		/* the file of open and refresh, without .tmpl */
	const char *later;			/* ... of acknowledge and resolve */
	bool		needs_secret;	/* a key that its messages carry */
	bool		is_signed;		/* its secrets sign */
	bool		is_command;		/* a program, not a URL */
	bool		has_markup;		/* < > & mean something in its texts */
	bool		omits_empty;	/* its receiver refuses empty members */
	const char *authorization;	/* the scheme before the secret; NULL: none */
	const char *paths[NOTIFY_STATES];	/* behind URL/ALIAS; NULL: the URL
										 * alone */
	const char *actions[NOTIFY_STATES]; /* ${action}, when severity is page */
	const char *ticket;			/* in place of open and refresh, when it is
								 * ticket; NULL: the same */
	const char *levels[2];		/* ${level} for page, ticket */
} NotifyKind;

/* NULL: there is no such kind. */
extern const NotifyKind *notify_kind_find(const char *name);

/* The names of all kinds, separated by commas; palloc'd. */
extern char *notify_kind_names(void);

/* False: not the name of a state. */
extern bool notify_state_read(const char *name, NotifyState *state) MUSTCHECK;

#endif							/* TWT_NOTIFY_KIND_H */

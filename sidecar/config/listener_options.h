/*-------------------------------------------------------------------------
 *
 * listener_options.h
 *		Topics whose messages become tasks: the list "listeners" of the file.
 *
 *		from: config.c			to: listeners.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LISTENER_OPTIONS_H
#define TWT_LISTENER_OPTIONS_H

#include "config/kafka_options.h"
#include "options/log_options.h"

typedef struct ListenerConfig
{
	char	   *name;
	char	  **topics;
	int			ntopics;
	char	   *type;			/* either type or function is set */
	char	   *function;
	int			value;			/* 0: JSON */
	char	   *key;			/* NULL: tasks have no key */
	char	  **headers;		/* copied to the context; NULL: none */
	int			nheaders;
	int			corrupt;		/* a value of its choices */
	char	   *start;
} ListenerConfig;

/* Describes the options of a ListenerConfig. */
extern const Section listener_section;

/* The rest of what the process of the listeners is told. */
typedef struct ListenersOrigin
{
	const char *node;
	const char *postgres;
	const LogConfig *log;
	const KafkaOptions *kafka;
} ListenersOrigin;

/*
 * Returns false, after options_fail(), if two of the listeners have one name, or
 * if the section kafka lacks what they need.  A settle function calls it.
 */
extern bool listeners_complete(ListenerConfig *const *listeners, const KafkaOptions *kafka,
							   const Place *place);

/*
 * Returns the one line that the process gets, palloc'd, without its end.
 * workers/kafka/listen_settings.h describes it.  NULL, after options_fail(): the program
 * refuses it.
 */
extern char *listeners_line(const ListenersOrigin *origin, ListenerConfig *const *listeners,
							const Place *place);

#endif							/* TWT_LISTENER_OPTIONS_H */

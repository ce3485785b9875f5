/*-------------------------------------------------------------------------
 *
 * listen.h
 *		twtasks-kafka listen: tasks from the messages of topics.
 *
 *		from: the sidecar			to: listener.h
 *
 * The process is a helper (lib/helper/helper.h): its first line has its settings,
 * which it accepts or refuses.  It runs until its input ends.  It writes its log to
 * stderr, and on stdout a line of JSON whenever its troubles change: a list of texts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LISTEN_H
#define TWT_LISTEN_H

/* The arguments begin with "listen".  Returns the exit status. */
extern int	listen_main(int argc, char **argv);

#endif							/* TWT_LISTEN_H */

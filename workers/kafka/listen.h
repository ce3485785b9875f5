/*-------------------------------------------------------------------------
 *
 * listen.h
 *		twtasks-kafka listen: tasks from the messages of topics.
 *
 *		from: the sidecar			to: listener.h
 *
 * The process gets its settings as the first line of its input, and runs until
 * the input ends.  It writes its log, and on stdout a line of JSON whenever its troubles
 * change: a list of texts.  The sidecar starts it again when it ends otherwise.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LISTEN_H
#define TWT_LISTEN_H

/* The arguments begin with "listen".  Returns the exit status. */
extern int	listen_main(int argc, char **argv);

#endif							/* TWT_LISTEN_H */

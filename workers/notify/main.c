/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-notify: sends incidents to people.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/program.h"
#include "workers/curl/http_client.h"
#include "workers/lib/helper_main.h"
#include "workers/notify/notifier.h"
#include "workers/notify/traces.h"

#define USAGE \
	"twtasks-notify sends the incidents of a twtasks database to pagers, chats and webhooks.\n" \
	"It is started by twtasksd, for \"notify\" in its configuration.\n\n" \
	"Usage: twtasks-notify [--check | --help | --version]\n" \
	"       twtasks-notify traces [--check]\n"

typedef struct Notify
{
	HelperMain *frame;
	Notifier   *notifier;
} Notify;

HELLO_SETTINGS(notify_settings);

static void *
begin(HelperMain *frame, void *settings)
{
	Notify	   *notify = palloc(sizeof(Notify));

	notify->frame = frame;
	notify->notifier = notifier_new(helper_main_loop(frame), helper_main_out(frame), settings);
	helper_main_take_term(frame);
	return notify;
}

static void
on_line(void *notify, const char *line, size_t len)
{
	notifier_take(((Notify *) notify)->notifier, line, len);
}

static void
on_left(void *frame)
{
	helper_main_stop(frame);
}

/* Requests under way are answered before the end, so that they are not sent again. */
static void
leave(void *arg)
{
	Notify	   *notify = arg;

	notifier_leave(notify->notifier, on_left, notify->frame);
}

int
main(int argc, char **argv)
{
	static const HelperUse use = {
		.hello = {"twtasks-notify", USAGE, settings_new, settings_free},
		.component = "notify",
		.begin = begin,
		.on_line = on_line,
		.leave = leave
	};

	http_client_begin();
	if (argc > 1 && strcmp(argv[1], "traces") == 0)
		return traces_main(argc - 1, argv + 1);
	return helper_main(&use, argc, argv);
}

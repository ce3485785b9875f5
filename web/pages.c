#include "base/port.h"

#include <microhttpd.h>

#include "web/embedded.h"
#include "web/pages.h"
#include "web/ui_files.inc"

/*
 * Nothing comes from elsewhere, no script stands in the document, no text becomes
 * HTML, and no other page may frame this one.
 */
static const char policy[] =
"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
"require-trusted-types-for 'script'; trusted-types 'none'";

/* The first pair is for compressed bodies. */
static const char *const gzip_headers[] = {
	"Content-Encoding", "gzip",
	"Vary", "Accept-Encoding",
	"Content-Security-Policy", policy,
	"Cross-Origin-Opener-Policy", "same-origin",
	"Cross-Origin-Resource-Policy", "same-origin",
	"Permissions-Policy", "camera=(), geolocation=(), microphone=()",
	"Referrer-Policy", "no-referrer",
	NULL
};

#define PLAIN_HEADERS (gzip_headers + 2)

/* A file as it is, or compressed. */
typedef struct Form
{
	HttpShared *body;			/* NULL: not in this form */
	char	   *etag;
} Form;

typedef struct Page
{
	HttpRoute	route;
	const char *file;
	const char *type;
	Form		plain;
	Form		gzip;
} Page;

struct Pages
{
	Page		pages[4];
};

/* A browser asks again whether its copy is the newest, since the names stay the same. */
static void
send_form(HttpRequest *request, const Page *page, const Form *form, const char *const *headers)
{
	HttpAnswer	answer = {MHD_HTTP_OK, page->type, form->etag, "no-cache"};

	answer.headers = headers;
	http_answer_shared(request, &answer, form->body);
}

/* A browser that names gzip takes it, unless it gives it no weight. */
static bool
takes_gzip(const HttpRequest *request)
{
	const char *coding = http_header(request, "Accept-Encoding");

	coding = coding == NULL ? NULL : strstr(coding, "gzip");
	if (coding == NULL)
		return false;
	coding += strlen("gzip");
	coding += strspn(coding, " \t");
	if (*coding != ';')
		return true;
	coding += 1 + strspn(coding + 1, " \t");
	return pg_strncasecmp(coding, "q=", 2) != 0 || strtod(coding + 2, NULL) > 0;
}

static void
serve_page(void *arg, HttpRequest *request)
{
	const Page *page = arg;

	if (page->gzip.body != NULL && takes_gzip(request))
		send_form(request, page, &page->gzip, gzip_headers);
	else
		send_form(request, page, &page->plain, PLAIN_HEADERS);
}

static Form
open_form(const char *name)
{
	Form		form = {0};

	for (int i = 0; i < (int) lengthof(ui_files); i++)
		if (strcmp(ui_files[i].name, name) == 0)
		{
			form.body = http_share_static(ui_files[i].data, ui_files[i].len);
			form.etag = psprintf("\"%s\"", ui_files[i].hash);
		}
	return form;
}

static void
close_form(Form *form)
{
	http_unshare(form->body);
	pfree(form->etag);
}

Pages *
pages_open(Http *http)
{
	static const Page kinds[] = {
		{{"GET", "/"}, "index.html", "text/html; charset=utf-8"},
		{{"GET", "/app.js"}, "app.js", "text/javascript; charset=utf-8"},
		{{"GET", "/app.css"}, "app.css", "text/css; charset=utf-8"},
		{{"GET", "/icon.svg"}, "icon.svg", "image/svg+xml"},
	};
	Pages	   *pages = palloc(sizeof(Pages));

	StaticAssertStmt(sizeof(kinds) == sizeof(pages->pages), "each file has its page");
	memcpy(pages->pages, kinds, sizeof(kinds));
	for (int i = 0; i < (int) lengthof(kinds); i++)
	{
		Page	   *page = &pages->pages[i];
		char	   *compressed = psprintf("%s.gz", page->file);

		page->plain = open_form(page->file);
		page->gzip = open_form(compressed);
		pfree(compressed);
		page->route.is_open = true;
		page->route.serve = serve_page;
		http_add_routes(http, &page->route, 1, page);
	}
	return pages;
}

void
pages_close(Pages *pages)
{
	if (pages == NULL)
		return;
	for (int i = 0; i < (int) lengthof(pages->pages); i++)
	{
		close_form(&pages->pages[i].plain);
		close_form(&pages->pages[i].gzip);
	}
	pfree(pages);
}

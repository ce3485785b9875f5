/*-------------------------------------------------------------------------
 *
 * embedded.h
 *		Files that twtasks-web carries in itself.
 *
 * The script web/embed makes tables of them when the program is built.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_EMBEDDED_H
#define TWT_EMBEDDED_H

typedef struct EmbeddedFile
{
	const char *name;			/* without its directory */
	const char *hash;			/* a hash of its bytes */
	const char *data;			/* with a NUL behind it */
	size_t		len;
} EmbeddedFile;

#endif							/* TWT_EMBEDDED_H */

/*-------------------------------------------------------------------------
 *
 * secret_file.h
 *		Files that hold secrets: keys of signatures, tokens.
 *
 * The configuration names the file of a secret, and never holds the secret.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SECRET_FILE_H
#define TWT_SECRET_FILE_H

/*
 * Returns the lines of the file without surrounding white space, a palloc'd
 * array that ends in NULL.  Empty lines and lines that begin with # are left
 * out.  The file must be a regular file of root's or of the daemon's own user
 * that nobody else can read or write; the group may read a file of root's.  If
 * the file is unsafe, unreadable or empty, returns NULL with a palloc'd
 * reason, which quotes nothing of the file.
 */
extern char **secret_file_read(const char *path, char **reason) MUSTCHECK;

/* The same with all lines, so that a reason can name the number of one. */
extern char **secret_file_read_all(const char *path, char **reason) MUSTCHECK;

/* Whether such a line is empty or begins with #. */
extern bool secret_file_is_comment(const char *line);

/*
 * Text that changes when one of the files does, without a word of them; palloc'd.
 * paths: a JSON object whose values are their paths; NULL: there are none.
 */
extern char *secret_file_stamp(const char *paths);

/* Overwrites and frees the lines; NULL is allowed. */
extern void secret_file_forget(char **lines);

/* Whether a and b are equal; the time taken does not tell where they differ. */
extern bool secret_is_same(const char *a, const char *b);

#endif							/* TWT_SECRET_FILE_H */

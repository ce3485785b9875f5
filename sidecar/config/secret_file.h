/*-------------------------------------------------------------------------
 *
 * secret_file.h
 *		Files that hold secrets: keys of signatures, tokens.
 *
 * A secret is named in the configuration by its file, never given there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SECRET_FILE_H
#define TWT_SECRET_FILE_H

/*
 * The lines of the file without white space around them, a palloc'd array
 * that ends in NULL; empty lines and those that begin with # are left out.
 * The file must be a regular one of root's or of the daemon's own user, which
 * others can neither read nor write; the group may read one of root's.  NULL,
 * with a palloc'd reason that quotes nothing of it, if it is not so, cannot be
 * read or holds nothing.
 */
extern char **secret_file_read(const char *path, char **reason) MUSTCHECK;

/* Overwrites and frees what it holds; NULL is allowed. */
extern void secret_file_forget(char **lines);

/* Whether they are the same, in a time that does not tell where they differ. */
extern bool secret_is_same(const char *a, const char *b);

#endif							/* TWT_SECRET_FILE_H */

-- instead:
/* There is no library that could be of another version. */

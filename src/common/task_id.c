/*-------------------------------------------------------------------------
 *
 * task_id.c
 *		Ids of tasks, in order of time.
 *
 *-------------------------------------------------------------------------
 */
#include "task_id.h"

void
task_id_make(int64_t unix_us, uint64_t random, uint8_t *id)
{
	uint64_t	ms = (uint64_t) unix_us / 1000;
	uint32_t	fraction = (uint32_t) ((uint64_t) unix_us % 1000 * 4096 / 1000);

	for (int i = 0; i < 6; i++)
		id[i] = (uint8_t) (ms >> (40 - 8 * i));
	id[6] = (uint8_t) (0x70 | fraction >> 8);
	id[7] = (uint8_t) fraction;
	for (int i = 0; i < 8; i++)
		id[8 + i] = (uint8_t) (random >> (56 - 8 * i));
	id[8] = (uint8_t) (0x80 | (id[8] & 0x3f));
}

int64_t
task_id_ms(const uint8_t *id)
{
	int64_t		ms = 0;

	if ((id[6] & 0xf0) != 0x70)
		return -1;
	for (int i = 0; i < 6; i++)
		ms = ms << 8 | id[i];
	return ms;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What packets and responses that come again show: lateness, copies, endings, timers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

#define MS UINT64_C(1000000)

/* A request without an IP identification. */
static void plain(struct scene *s, uint32_t psn)
{
	s->ip_id = UINT16_MAX;
	request(s, SEND_ONLY, psn);
}

/* --- responses ------------------------------------------------------------------------------- */

/* What duplicates the packets of one QP does so with all: a copy of a READ looks repeated. */
static void copies_on_the_same_path(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) { /* 1: copies of another QP; 2: but there are IP ids */
		struct scene s = begin();
		uint32_t psn = 0;

		for (; psn < 24; psn++) {
			read_request(&s, psn, 1024);
			s.ip_id = how == 2 ? s.ip_id : UINT16_MAX;
			respond(&s, RESP_ONLY, psn, OK);
			s.ip_id = how == 2 ? s.ip_id : UINT16_MAX;
			if (psn % 8)
				continue;
			s.ns += 2 * MS;
			read_request(&s, psn, 1024);
			s.ip_id = how == 2 ? s.ip_id : UINT16_MAX;
			respond(&s, RESP_ONLY, psn, OK);
			s.ip_id = how == 2 ? s.ip_id : UINT16_MAX;
		}
		s.qp = 0x300;
		for (psn = 70; psn < 90; psn++) {
			plain(&s, psn);
			s.ns -= how ? 9500 : 0;
			if (how)
				plain(&s, psn);
		}
		assert_certainty(
			&s, "responses-lost-downstream", how == 1 ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* --- timers ------------------------------------------------------------------------------------
 */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_on_the_same_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

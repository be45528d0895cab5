/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares firmware versions, and knows the oldest ones that can sniff (as ibdump requires). */
#include <ctype.h>
#include <rdmadump/array.h>
#include <rdmadump/info.h>
#include <string.h>

/* Skips leading zeros and returns how many digits a number has. */
static size_t digits(const char **at)
{
	while (**at == '0')
		++*at;
	return strspn(*at, "0123456789");
}

static int compare_number(const char **a, const char **b)
{
	size_t n = digits(a), m = digits(b);
	int order = n != m ? (n < m ? -1 : 1) : strncmp(*a, *b, n);

	*a += n;
	*b += m;
	return order < 0 ? -1 : order > 0;
}

/* "-rc1", "beta": before the release. */
static bool is_before(const char *suffix)
{
	static const char *const words[] = {"rc", "alpha", "beta", "pre", "dev"};

	if (*suffix == '~')
		return true;
	suffix += strspn(suffix, "-_. ");
	return RD_ANY(w, words, RD_COUNT(words), !strncasecmp(suffix, *w, strlen(*w)));
}

static int rank(const char *suffix)
{
	return !*suffix ? 0 : is_before(suffix) ? -1 : 1;
}

int rd_version_compare(const char *a, const char *b)
{
	for (;;) {
		/* A part that is missing is zero: 1.68 is 1.68.0. */
		bool more_a = isdigit((unsigned char)*a), more_b = isdigit((unsigned char)*b);
		const char *none_a = "", *none_b = "";
		int order;

		if (!more_a && !more_b)
			break;
		order = compare_number(more_a ? &a : &none_a, more_b ? &b : &none_b);
		if (order)
			return order;
		if (a[0] == '.' && isdigit((unsigned char)a[1]))
			a++;
		if (b[0] == '.' && isdigit((unsigned char)b[1]))
			b++;
	}
	if (rank(a) != rank(b))
		return rank(a) < rank(b) ? -1 : 1;
	return strverscmp(a, b) < 0 ? -1 : strverscmp(a, b) > 0;
}

static const struct minimum {
	const char *driver;
	enum rd_link link;
	const char *version;
} minimums[] = {
	{"mlx4_core", RD_LINK_ETHERNET, "2.11.1140"},
	{"mlx4_core", RD_LINK_INFINIBAND, "2.33.1330"},
};

const char *rd_firmware_minimum(const struct rd_device *device, const struct rd_port *port)
{
	for (size_t i = 0; i < RD_COUNT(minimums); i++)
		if (!strcmp(minimums[i].driver, device->driver) && minimums[i].link == port->link)
			return minimums[i].version;
	return "";
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any text for terminals and for JSON. */
#include "test.h"
#include <rdmadump/json.h>
#include <rdmadump/printable.h>

static const struct {
	const char *text, *shown, *json;
} cases[] = {
	{"plain ~", "plain ~", "plain ~"},
	{"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
	{"\033[2J\r\n\t\x7f", "\\x1b[2J\\x0d\\x0a\\x09\\u007f", "\033[2J\r\n\t\x7f"},
	{"\xc2\x9b"
	 "1m",
		"\\u009b1m",
		"\xc2\x9b"
		"1m"},
	{"a\xe2\x80\xaez", "a\\u202ez", "a\xe2\x80\xaez"},
	{"\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8", "\\u2066\\u061c\\u2028",
		"\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8"},
	{"\x9b\xff", "\\x9b\\xff", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xc0\x9b", "\\xc0\\x9b", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
	{"\xe0\x82\x9b", "\\xe0\\x82\\x9b", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80",
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xe2\x82", "\\xe2\\x82", "\xef\xbf\xbd\xef\xbf\xbd"}, /* cut */
	{"\xe2\033", "\\xe2\\x1b", "\xef\xbf\xbd\033"},
	{"", "", ""},
};

TEST(terminal)
{
	char out[256], *stream = NULL;
	size_t length;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = strlen(cases[i].text);
		FILE *f = open_memstream(&stream, &length);

		out[rd_printable(out, cases[i].text, n, "")] = '\0';
		assert_string_equal(out, cases[i].shown);
		rd_printable_put(f, cases[i].text, SIZE_MAX);
		fclose(f);
		assert_string_equal(stream, cases[i].shown);
		free(stream);
	}
	out[rd_printable(out, "a\nb\tc\r", 6, "\n\t")] = '\0';
	expect("a\nb\tc\\x0d 4", out, rd_printable(out, "\0", 1, "\n"));
	assert_memory_equal(out, "\\x00", 4);
}

TEST(json)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *json = rd_json_string(cases[i].text);

		assert_string_equal(json_string_value(json), cases[i].json);
		json_decref(json);
	}
	assert_true(json_is_null(rd_json_string(NULL)));
}

/* A character may lie across the pieces in which long text is printed. */
TEST(pieces)
{
	for (size_t n = 200; n < 300; n++) {
		char text[512], *stream = NULL;
		size_t length;
		FILE *f = open_memstream(&stream, &length);

		memset(text, 'x', n);
		strcpy(text + n, "\xf0\x9f\x98\x80\xe2\x82\xac\xe2\x82");
		rd_printable_put(f, text, SIZE_MAX);
		fclose(f);
		strcpy(text + n, "\xf0\x9f\x98\x80\xe2\x82\xac\\xe2\\x82");
		assert_string_equal(stream, text);
		free(stream);
	}
	expect("3 0 0", rd_utf8_unfinished("a\xf0\x9f\x98", 4),
		rd_utf8_unfinished("a\xf0\x9f\x98\x80", 5),
		rd_utf8_unfinished("\x98\x98\x98\x98", 4));
	expect("0 1", rd_utf8_unfinished("", 0), rd_utf8_unfinished("\xc3", 1));
	/* Rows of a terminal have characters */
	expect("3 4 4 0", rd_utf8_fit("a\xc3\xbc\xe2\x82\xac", 2), rd_utf8_fit("a\xc3\xbcz", 3),
		rd_utf8_fit("a\xc3\xbcz", SIZE_MAX), rd_utf8_fit("az", 0));
}

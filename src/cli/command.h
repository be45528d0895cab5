/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How every command reads its command line. */
#pragma once

#include <argp.h>
#include <rdmadump/error.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the program: the message, and that the help of `command` ("rdmadump list") says more. */
__attribute__((format(printf, 2, 3), noreturn)) void rd_cli_usage_error(
	const char *command, const char *fmt, ...);

/* Flags of a row. */
#define OPT_ALIAS    0x01 /* another name for the previous row; has nothing but names */
#define OPT_HIDDEN   0x02 /* not in the help */
#define OPT_OPTIONAL 0x04 /* its argument may be absent */

/* One option with its value, for a setter. */
struct option_use {
	const struct cli_option *row;
	void *settings;	 /* of the command; begin with what the row's field belongs to */
	char as[40];	 /* as the user typed it, for messages: "-b", "--buffers" */
	const char *arg; /* NULL: none */
	uint64_t min, max, unit;
};

/* Returns 0, or -1 with a message that begins with use->as. Strings are kept, not copied. */
typedef int option_setter(const struct option_use *use, struct rd_error *err);

struct cli_option {
	const char *name; /* long, without "--"; NULL: a letter only */
	int letter;	  /* 0: none */
	const char *arg, *help;
	const char *brief;  /* line of the short help; NULL: not in the short help */
	unsigned int group; /* of a capture's help */
	unsigned int flags;
	option_setter *set;
	size_t at, size; /* field of the settings */
	uint64_t min, max,
		unit; /* range of a number; `unit` of a size: bytes per unit of a plain number */
	/* The field gets the index in this list, plus min; with set_choice_text, the word. */
	const char *const *choices;
	const struct ibdump_spelling *ibdump; /* NULL: not offered, or ibdump.c has its own */
	const struct extcap_field *extcap;    /* NULL: not offered */
};

/* A field of the type OPTIONS_OF, and how a row sets it. */
#define FIELD(name)	  .at = offsetof(OPTIONS_OF, name), .size = SIZE(name)
#define SIZE(name)	  sizeof(((OPTIONS_OF *)0)->name)
#define FLAG(name)	  .set = set_flag, FIELD(name)
#define MORE(name)	  .set = set_more, FIELD(name)
#define STRING(name)	  .set = set_text, FIELD(name)
#define RANGE(low, high)  .min = low, .max = high
#define NUMBER(name, ...) .set = set_number, FIELD(name), RANGE(__VA_ARGS__)
#define BYTES(name, ...)  .set = set_size, FIELD(name), .unit = 1, RANGE(__VA_ARGS__)
#define CHOICE(name, ...)                                                                          \
	.set = set_choice, FIELD(name), .choices = (const char *const[])                           \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}
#define WORD(name, ...)                                                                            \
	.set = set_choice_text, FIELD(name), .choices = (const char *const[])                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

/* The last row: which words that are no options the command takes, for messages. */
#define NO_WORD(text)                                                                              \
	{                                                                                          \
		.help = (text)                                                                     \
	}
#define ONE_WORD(name, text)                                                                       \
	{                                                                                          \
		.help = (text), FIELD(name)                                                        \
	}

/* For any row, by its fields (option_values.c). */
option_setter set_flag, set_text, set_number, set_size, set_choice, set_choice_text, set_more,
	set_nothing, set_refused;
/* Of -a: "duration:SECONDS" alone. */
option_setter set_stop_after;

/* Calls the setter. `as`: how the option was written. Zeros of `range` are the row's; NULL: all. */
int option_set(void *settings, const struct cli_option *row, const char *as, const char *arg,
	const struct option_use *range, struct rd_error *err);
/* Sets a field: uint64_t, or four bytes (unsigned int, uint32_t, an enumeration). */
void option_put(void *field, size_t size, uint64_t n);
/* What the row sets. */
void *option_field(const struct option_use *use);
/*
 * Reads the command line of a command with these rows, the last of which has no name and no letter;
 * argp->options is not used, and argp->parser gets what is no option, with the settings as input.
 * As argp_parse(), but an unknown option or a missing argument ends the program, with a suggestion;
 * -h is --help; --option-list prints the options for programs.
 */
error_t rd_cli_read(const struct cli_option *rows, const struct argp *argp, int argc, char **argv,
	void *settings);
/*
 * The same with a heading for each group, and rows for --help and --usage; messages name options by
 * their letters. argp->parser is also called after each option.
 */
#define KEY_TAKEN 0x7fffffff
error_t rd_cli_read_groups(const struct cli_option *rows, const char *const *headings,
	const struct argp *argp, int argc, char **argv, void *settings);

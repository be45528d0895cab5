#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# In place of the unit tests, where configure found no cmocka.
. "${srcdir:-.}/tests/tap.sh"
skip_all "cmocka is not installed, so no unit test was built: install libcmocka-dev and configure again"

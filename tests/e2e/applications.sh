#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Applications in `rdmadump analyze`: times of NVMe commands as tshark has them (tests/data/apps), what
# is shown as text and JSON, and captures that lack a part.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd jq python3
an() { said analyze "$@" 2>"$tmp/err"; }
nvme=$TEST_DATA/apps/nvme.pcap.zst
small=$TEST_DATA/roce/56_nvme/a.pcap.zst
tables=$tmp/tshark
bash "$srcdir/tests/pack" unpack "$TEST_DATA/apps/tshark.tar.gz" "$tables"

# same_as_tshark TABLE JSON: counts, extremes, percentiles and sums of each operation, and the frames of
# the slowest commands
same_as_tshark() { python3 "$srcdir/tests/e2e/applications.py" "$@"; }
an --json "$nvme" >"$tmp/nvme.json"
is "425 commands: as tshark times them" "$(same_as_tshark "$tables/nvme.tsv" "$tmp/nvme.json" 2>&1)" "$(wc -l <"$tables/nvme.tsv")"
# The comparison can fail.
awk -F '\t' -v OFS='\t' 'NR == 200 { $4 += 2000 } { print }' "$tables/nvme.tsv" >"$tmp/wrong.tsv"
has "... one of them wrong by 2 us is noticed" <(same_as_tshark "$tmp/wrong.tsv" "$tmp/nvme.json" 2>&1) 'AssertionError: Write'
sed 200d "$tables/nvme.tsv" >"$tmp/wrong.tsv"
has "... one that is missing, too" <(same_as_tshark "$tmp/wrong.tsv" "$tmp/nvme.json" 2>&1) "AssertionError: \('Write', 401, 400\)"
an --json "$small" >"$tmp/small.json"
is "another capture" "$(same_as_tshark "$tables/56_nvme.tsv" "$tmp/small.json" 2>&1)" "$(wc -l <"$tables/56_nvme.tsv")"
is "both queues are certain, by all signs" "$(jq -r '.conversations[].application // empty | "\(.name) \(.certainty) \(.signs | join("+")) \(.queue.id) \(.queue.send_size) \(.client)"' "$tmp/small.json" |
	sort | tr '\n' ';')" 'NVMe-oF certain port+private_data+messages 0 32 b;NVMe-oF certain port+private_data+messages 1 16 b;'
is "data by RDMA and in the capsule" "$(jq -c '.applications[0].operations | map({(.group + " " + .name): [.keyed.bytes, .inline.bytes]}) | add | [."I/O Write", ."I/O Connect"]' "$tmp/small.json")" \
	'[[65536,null],[null,1024]]'
is "an event request waits, and is no command without a reply of the others" \
	"$(jq -c '[.applications[0].operations[] | select(.open > 0) | [.name, .waits, .open]]' "$tmp/small.json")" '[["Async Event Request",true,1]]'

an "$small" >"$tmp/text"
sed -n '/^APPLICATIONS/,/more rows/p' "$tmp/text" | awk 'length > 80' >"$tmp/long"
is "... in 80 columns" "$(<"$tmp/long")" ""
an -v "$small" >"$tmp/text"

# --- what is missing ----------------------------------------------------------------------------

cut() { "$RDMADUMP" -r "$small" -w "$tmp/cut.pcap" -q "$@" 2>"$tmp/err"; }
cut --snaplen 60
an --json "$tmp/cut.pcap" >"$tmp/one.json"
is "only headers: no numbers" "$(jq -c '[.applications[] | .operations]' "$tmp/one.json")" '[]'
cut --snaplen 96
an --json "$tmp/cut.pcap" >"$tmp/one.json"
is "96 bytes: messages are enough, but only likely" "$(jq -r '.applications[0] | .certainty, (.signs | join(" ")), (.operations | map(select(.name | startswith("Read"))) | .[0].latency.max_ns)' "$tmp/one.json" | tr '\n' ' ')" \
	'likely messages 4238248 '
fits "JSON by docs/schema/analyze.json" analyze "$tmp/small.json" "$tmp/one.json"
# shellcheck disable=SC2016 # variables of jq
is "... which knows each key" "$(jq -c --slurpfile schema "$srcdir/docs/schema/analyze.json" '
	def known($name): keys == ($schema[0]."$defs"[$name].properties | keys);
	[(.applications[] | known("application_sum"), (.operations[] | known("app_operation"))),
	 (.conversations[].application // empty | known("application"))] | unique' "$tmp/small.json" "$tmp/one.json" | paste -sd' ')" "[true] [true]"
as_said applications
tap_done

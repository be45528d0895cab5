#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The alert rules for Prometheus: promtool accepts them, each fires when it should and only then, and what they read is written.
. "${srcdir:-.}/tests/tap.sh"
need_tool promtool
rules=$(cd "$srcdir" && pwd)/packaging/prometheus/rdmadump.rules.yml
holds "promtool accepts them" promtool check rules "$rules"

sed -n 's/^  - alert: //p' "$rules" >"$tmp/alerts"

# alert NAME SERIES VALUES SEVERITY: with these values, each minute one, it fires at the sixth minute; "-": none does
alert() {
	printf -- '- interval: 1m\n  input_series:\n  - series: %s\n    values: %s\n  alert_rule_test:\n' "'$2'" "'$3'"
	while read -r name; do
		printf -- '  - eval_time: 6m\n    alertname: %s\n    exp_alerts: ' "$name"
		if [ "$name" = "$1" ]; then
			printf '\n    - exp_labels: {%s, severity: %s}\n' "$(sed 's/^[^{]*{//; s/}$//; s/="/: "/g' <<<"$2")" "$4"
			annotations "$1" "$2"
		else
			echo '[]'
		fi
	done <"$tmp/alerts"
}
# annotations NAME SERIES: those of the rule, with the labels of the series
annotations() {
	local text label
	text=$(sed -n "/^  - alert: $1\$/,/^  - alert: /{/^      [a-z]*: /p}" "$rules")
	for label in instance device port trigger file rule certainty; do
		text=${text//"{{ \$labels.$label }}"/$(sed -nE "s/.*[{,]$label=\"([^\"]*)\".*/\1/p" <<<"$2")}
	done
	printf '      exp_annotations:\n%s\n' "    ${text//$'\n'/$'\n'    }"
}
at='device="mlx5_0",port="1",instance="node0"'
{
	printf 'rule_files: [%s]\ntests:\n' "$rules"
	while read -r name metric labels values severity; do
		alert "$name" "$metric{$labels}" "${values//,/ }" "$severity"
	done <<END
RdmaConnectionsGiveUp rdmadump_hw_req_transport_retries_exceeded_total $at 7,7,7,8,8,8,8 critical
RdmaPacketsLost rdmadump_hw_packet_seq_err_total $at 0,0,0,5,5,5,5 warning
RdmaPacketsLost rdmadump_hw_out_of_sequence_total $at 0,0,0,5,5,5,5 warning
RdmaTimeouts rdmadump_hw_local_ack_timeout_err_total $at 0,0,0,5,5,5,5 warning
RdmaReceiveQueuesEmpty rdmadump_hw_out_of_buffer_total $at 0,0,0,5,5,5,5 warning
RdmaPortErrors rdmadump_port_link_downed_total $at 0,0,0,1,1,1,1 warning
RdmaPortErrors rdmadump_port_rcv_errors_total $at 0,0,0,1,1,1,1 warning
RdmaPortErrors rdmadump_port_xmit_discards_total $at 0,0,0,1,1,1,1 warning
RdmaPortErrors rdmadump_netdev_rx_crc_errors_total $at 0,0,0,1,1,1,1 warning
RdmaRecorderLosesFrames rdmadump_record_lost_frames_total instance="node0" 0,0,0,1,1,1,1 warning
RdmaRecorderCannotWrite rdmadump_record_files_failed_total instance="node0" 0,0,0,1,1,1,1 warning
RdmaRecorderCannotWrite rdmadump_record_analyses_failed_total instance="node0" 0,0,0,1,1,1,1 warning
RdmaRecorderTriggered rdmadump_record_triggers_total trigger="nak",instance="node0" 0,0,0,1,1,1,1 info
RdmaFinding rdmadump_findings rule="silence",level="problem",certainty="likely",$at 0,0,0,1,1,1,1 warning
- rdmadump_findings rule="silence",level="problem",certainty="possible",$at 0,0,0,1,1,1,1 -
RdmaRecorderEnded rdmadump_record_running instance="node0" 1,1,1,1,0,0,0 warning
RdmaMetricsOld node_textfile_mtime_seconds file="/var/lib/rdmadump.prom",instance="node0" 0,0,0,0,0,0,0 warning
- rdmadump_hw_out_of_buffer_total $at 4294967290,4294967290,4294967290,4294967290,4294967290,4294967290,4294967290 -
- rdmadump_hw_packet_seq_err_total $at 9,9,9,9,0,0,0 -
- rdmadump_record_running instance="node0" 0,1,1,0,1,1,1 -
- node_textfile_mtime_seconds file="/var/lib/rdmadump.prom",instance="node0" 0,60,120,180,240,300,360 -
- node_textfile_mtime_seconds file="/var/lib/other.prom",instance="node0" 0,0,0,0,0,0,0 -
END
} >"$tmp/tests.yml"
holds "each fires for its series, and no other one; none for old values, counters that were reset, and what still runs" promtool test rules "$tmp/tests.yml"
grep -B 2 exp_labels "$tmp/tests.yml" | sed -n 's/.*alertname: //p' | sort -u | comm -3 - <(sort "$tmp/alerts") >"$tmp/log"
empty "each is tried" "$tmp/log"

# What they read exists under these names
mkdir "$tmp/tree"
for archive in "$TEST_DATA"/sysfs/mlx5-eth.tar.gz "$TEST_DATA"/sysfs/counters/mlx5-eth.tar.gz; do tar -xzf "$archive" -C "$tmp/tree"; done
"$RDMADUMP" counters --sysroot "$tmp/tree" --prometheus >"$tmp/written" 2>"$tmp/log"
model --gen count=100 --at-end sigint -- "$RDMADUMP" record mlx5_0 -w "$tmp/r.pcapng" --textfile "$tmp/state" 2>"$tmp/log"
"$RDMADUMP" export -f prometheus -o "$tmp" "$TEST_DATA/roce/10_rc_write_loss/a.pcap.zst" 2>"$tmp/log"
sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$tmp/written" "$tmp/state" "$tmp/rdmadump.prom" | sort -u >"$tmp/names"
grep -v '^#' "$rules" | grep -oE 'rdmadump_[a-z_]+[a-z]' | sort -u >"$tmp/read"
holds "they read more than a dozen metrics" [ "$(wc -l <"$tmp/read")" -ge 13 ]
is "... which are all written" "$(comm -13 "$tmp/names" "$tmp/read")" ""
tap_done

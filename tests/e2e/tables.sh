#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmadump export: the tables have what the reports have, and each question of queries.sql has the answer that a report gives.
# With TEST_FULL, DuckDB over Parquet and two servers of ClickHouse, each by the lines of docs/tables.md, have the same answers.
srcdir=$(realpath "${srcdir:-.}")
duckdb=$srcdir/build/cache/duckdb
if [ -n "${TEST_FULL-}" ] && [ "${TABLES_INSIDE-}" != yes ] && unshare -npf true 2>/dev/null; then
	# What cannot be fetched is skipped below. The servers end with the namespace of processes, and reach nothing but its loopback.
	[ -d "$duckdb/node_modules" ] || { mkdir -p "$duckdb" && npm install --prefix "$duckdb" --ignore-scripts --fetch-retries=0 @duckdb/node-api@1.5.6-r.1; } >/dev/null 2>&1
	TABLES_INSIDE=yes exec unshare -npf --kill-child --mount-proc bash "$0"
fi
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
need_tool jq zstd python3
tables=$srcdir/docs
mkdir "$tmp/stories" "$tmp/world"
tar -C "$tmp/stories" -xf "$TEST_DATA/explain/stories.tar.zst" ./path_mtu ./qp_destroyed

report() { "$RDMADUMP" analyze --json "${@:2}" >"$tmp/$1.json" 2>>"$tmp/log"; }
report many "$TEST_DATA"/roce/{57_router_loss,10_rc_write_loss}/[ab].pcap.zst
report ends "$tmp"/stories/path_mtu/[ab].pcapng
report dead "$tmp/stories/qp_destroyed/a.pcapng"
report spent "$TEST_DATA"/roce/48_retry_exhausted/[ab].pcap.zst
report other "$TEST_DATA/roce/32_no_rdma/a.pcap.zst"
for seed in 10000 10004; do
	RDMADUMP=$RDMADUMP python3 "$srcdir/tests/world/run" --seed $seed --keep "$tmp/world" >"$tmp/log" 2>&1
	report $seed "$tmp/world/$seed.a.pcapng"
done
reports=("$tmp"/{many,ends,dead,spent,other,10000,10004}.json)

holds "the tables are made" "$RDMADUMP" export -o "$tmp/tables" "${reports[@]}"
"$RDMADUMP" export -f tsv -o "$tmp/tsv" "${reports[@]}" 2>"$tmp/log"
names=
# shellcheck disable=SC2016 # backquotes of Markdown
while read -r name columns; do
	is "$name: each row has the columns of the document" "$(jq -r 'keys_unsorted | join(" ")' "$tmp/tables/$name.ndjson" | sort -u)" "$columns"
	is "$name: the same with tabs" "$(awk -F '\t' 'NR == 1 {n = NF} NF != n {print}' "$tmp/tsv/$name.tsv" | sort -u | wc -l) $(head -n 1 "$tmp/tsv/$name.tsv" | tr '\t' ' ')" "0 $columns"
	# shellcheck disable=SC1003 # a backslash
	is "$name: ... a line for each row, \\N for null" "$(awk -F '\t' '{for (i = 1; i <= NF; i++) n += $i == "\\N"} END {print NR - 1, n + 0}' "$tmp/tsv/$name.tsv")" \
		"$(jq -rs '"\(length) \(map(.[] | select(. == null)) | length)"' "$tmp/tables/$name.ndjson")"
	names+=" $name"
done < <(sed -nE 's/^\| `([a-z]+)` \| [^|]* \| ([a-z_0-9 ]+) \|$/\1 \2/p' "$srcdir/docs/tables.md")
is "the document has all tables" "$names" " captures hosts qps flows paths findings counters pauses"

is "true and false with tabs" "$(cut -f7 "$tmp/tsv/counters.tsv" | sort -u | paste -sd' ')" "0 1 agrees"

is "the clock of each capture, if it can be compared" "$(jq -c 'select(.clock_error_ns != null) | [.clock_offset_ns, .clock_error_ns]' "$tmp/tables/captures.ndjson")" \
	"$(jq -c '.clocks // [] | .[] | [.offset_ns, .error_ns]' "${reports[@]}")"

is "the hosts that a report has, captured or not" "$(jq -c '[.host, .captured]' "$tmp/tables/hosts.ndjson")" \
	"$(jq -c 'select(.captures) | (.hosts // [])[] | [.addresses[0], .captured]' "${reports[@]}")"
"$RDMADUMP" export -f prometheus -o "$tmp/prom" "${reports[@]}" 2>"$tmp/log"
is "metrics: the findings of all reports, by device, rule and certainty" "$(awk -F '[" ]' '/^[^#]/ {n += $NF} END {print n}' "$tmp/prom/rdmadump.prom")" \
	"$(jq -s '[.[].times] | add' "$tmp/tables/findings.ndjson")"
is "... which node_exporter can read" "$(stat -c %a "$tmp/prom/rdmadump.prom")" 644
if has_tool promtool "promtool reads them"; then
	promtool check metrics <"$tmp/prom/rdmadump.prom" >"$tmp/promtool" 2>&1 && [ ! -s "$tmp/promtool" ]
	ok "promtool reads them" "$tmp/promtool"
fi

# Of captures at once, and only some tables
"$RDMADUMP" export --tables=paths,qps -o "$tmp/some" "$tmp"/stories/path_mtu/[ab].pcapng >"$tmp/out" 2>"$tmp/log"
is "captures instead of reports: status, tables, output" "$? $(cd "$tmp/some" && echo .[!.]* *) $(<"$tmp/out")" "0 .[!.]* paths.ndjson qps.ndjson "
"$RDMADUMP" export -o "$tmp/one" "$tmp/ends.json" 2>>"$tmp/log"
is "they have the same rows" "$(cat "$tmp/some"/*)" "$(cat "$tmp/one"/{paths,qps}.ndjson)"
head -c 20000 "$tmp/stories/path_mtu/a.pcapng" >"$tmp/cut.pcapng"
"$RDMADUMP" export -o "$tmp/cut" "$tmp/cut.pcapng" 2>"$tmp/err"
exits "a file that is cut" 4 "$tmp/err" "the tables lack what could not be read; 'rdmadump analyze' says what"
is "... tables of what comes before" "$(jq .frames "$tmp/cut/captures.ndjson")" "$("$RDMADUMP" analyze --json "$tmp/cut.pcapng" 2>>"$tmp/log" | jq .totals.frames)"

# wrong STATUS TEXT ARGUMENT...
wrong() {
	"$RDMADUMP" export "${@:3}" >"$tmp/out" 2>"$tmp/err"
	exits "$2" "$1" "$tmp/err" "rdmadump: .*$2"
}
wrong 1 "--tables names none; there are captures hosts qps" -o "$tmp/no" -t , "$tmp/ends.json"
wrong 1 "there is no table '\*';" -o "$tmp/no" -t '*' "$tmp/ends.json"
wrong 1 "there is no table 'nothing'; there are captures hosts qps" -o "$tmp/no" -t nothing "$tmp/ends.json"
wrong 1 "'parquet' is no format" -o "$tmp/no" -f parquet "$tmp/ends.json"
wrong 1 "--format=prometheus writes no tables" -o "$tmp/no" -f prometheus -t qps "$tmp/ends.json"
wrong 1 "where to write is not known" "$tmp/ends.json"
wrong 1 "no capture is named" -o "$tmp/no"
wrong 1 "see 'rdmadump export --help'" --what
wrong 3 "no tables can be written to '/proc/no'" -o /proc/no "$tmp/ends.json"
wrong 2 "cannot open .*missing.pcapng.: No such file" -o "$tmp/no" "$tmp/missing.pcapng"
wrong 2 "missing.json' is no report; make one" -o "$tmp/no" "$tmp/missing.json"
wrong 2 "list.json' is no report; make one" -o "$tmp/no" "$srcdir/docs/schema/list.json"
is "after a fault there is no table, and nothing else" "$(find "$tmp/no" -type f)" ""
# A full disk: nothing has the name of a table that is not whole
mkdir "$tmp/full"
(ulimit -f 1; "$RDMADUMP" export -o "$tmp/full" -t flows "$tmp/10004.json" 2>"$tmp/err")
is "no room: the status, and what is there" "$? $(find "$tmp/full" -mindepth 1)" "3 "

ask() { python3 "$srcdir/tests/e2e/tables.py" "$tables/queries.sql" "$tmp"/tables/*.ndjson "$1"; }
# Sums of what a report has, whatever kind it is
captures='(if .captures then .captures[] else . end)'
pairs='(if .pairs then .pairs[] elif .ends then . else empty end)'
sides=".conversations[] | [.sides.a, .sides.b][] | select(.frames > 0)"
sum() { jq -s "[.[] | $1] | add // 0" "${reports[@]}"; }
many() { jq -s "[.[] | $1] | length" "${reports[@]}"; }
column() { ask "$1" | cut -d'|' -f"$2" | awk '{n += $1} END {printf "%d\n", n}'; }
lines() { ask "$1" | wc -l; }
# answer NAME OURS REPORTS
answer() {
	is "$1" "$2" "$3"
	tried+=" $1"
}
answer paths_by_loss "$(column paths_by_loss 3)" "$(sum "$pairs.ends.paths[].qps[].lost.count")"
answer hosts_by_loss "$(column hosts_by_loss 3)" "$(sum "$pairs.ends.paths[].qps[].lost.count * 2")"
answer retransmissions_by_second "$(column retransmissions_by_second 3)" "$(sum "$captures.conversations[].series.retransmitted[]")"
answer worst_minutes "$(ask worst_minutes | head -n 1 | cut -d'|' -f4)" "$(jq -s "[.[] | $captures"' |
	([.conversations[] | [.a.address, .b.address, (.series.retransmitted | add)]] | group_by(.[:2])[] | map(.[2]) | add)] | max' "${reports[@]}")"
answer naks_by_pair "$(column naks_by_pair 6)" "$(sum "$captures.conversations[].series.nak[]")"
answer goodput_by_host "$(ask goodput_by_host | grep '^10.77.2.2|')" "10.77.2.2|$(jq -s '[.[] | '"$captures"'.conversations[] |
	[.a, .b, .sides.a], [.b, .a, .sides.b] | select(.[0].address == "10.77.2.2") | [.[0].qp, .[1].address, .[1].qp, .[2].goodput_bytes]] |
	group_by(.[:3]) | map(max_by(.[3])[3]) | add' "${reports[@]}")"
answer slow_qps "$(ask slow_qps | head -n 1 | cut -d'|' -f6)" "$(jq -s "[.[] | $captures | $sides.latency.ack.p99_ns | numbers] | max" "${reports[@]}")"
answer latency_by_rank "$(ask latency_by_rank | head -n 1 | cut -d'|' -f7)" "$(jq -s "[.[] | $captures"'.conversations[] | [.a, .sides.a], [.b, .sides.b] |
	select(.[0].owner) | .[1].latency.ack.p99_ns | numbers] | max' "${reports[@]}")"
answer stragglers "$(ask stragglers | head -n 1 | cut -d'|' -f4)" "$(jq -s "[.[] | $captures | $sides.latency.ack.p50_ns | numbers] | max" "${reports[@]}")"
answer dead_qps "$(lines dead_qps)" "$(jq -s "[.[] | $captures"'.conversations[] | [.a, .sides.a], [.b, .sides.b] | select(.[1].ending | . == "retry_exceeded") | .[0]] | unique | length' "${reports[@]}")"
sed -n 's/^-- \([a-z_]*\): .*/\1/p' "$tables/queries.sql" | while read -r name; do [ -n "$(ask "$name")" ] || echo "$name"; done >"$tmp/log"
is "each question has an answer" "$(<"$tmp/log")" ""
answer programs "$(column programs 4)" "$(jq -s "[.[] | $captures"'.conversations[] | [.a, .b, .sides.a], [.b, .a, .sides.b] | select(.[0].owner) |
	[.[0].address, .[0].qp, .[1].address, .[1].qp, .[2].events.messages_delayed.count // 0]] | group_by(.[:4]) | map(max_by(.[4])[4]) | add' "${reports[@]}")"
answer missing_hosts "$(ask missing_hosts | paste -sd' ')" "$(jq -rs "([.[] | $captures.conversations[] | (select(.sides.b.frames > 0) | .a.address), (select(.sides.a.frames > 0) | .b.address)] -
	[.[] | $captures.capture.ports // [] | .[].addresses[]]) | unique | join(\" \")" "${reports[@]}")"
answer silent "$(ask silent | cut -d'|' -f1)" "$(jq -r '.capture.files[0].name' "$tmp/other.json")"
answer rules "$(column rules 4)" "$(sum "($captures, ($pairs | .ends)).findings[] | select(.severity != \"note\") | .count")"
answer next "$(lines next)" "$(jq -s "[.[] | ($captures, ($pairs | .ends)).findings[] |
	select(.severity == \"problem\" and .certainty != \"possible\" and .next) | [.rule, .next]] | unique | length" "${reports[@]}")"
answer not_captured "$(lines not_captured)" "$(many "$captures.counters // [] | .[] | select(.agrees | not)")"
answer congestion "$(column congestion 4)" "$(sum "$captures.conversations[].series.cnp[]")"
answer incast "$(ask incast | cut -d'|' -f4-)" "$(jq -rs "[.[] | $captures | .start_ns as \$from"' | [.conversations[] | . as $v | .series | . as $s |
	range(.points) | select($s.ecn_ce[.] + $s.retransmitted[.] > 0) as $i | [$v.a.address, $v.b.address] | (., reverse) |
	. + [($from + $s.start_ns + $i * $s.width_ns) / 1000000000 | floor, $s.ecn_ce[$i], $s.retransmitted[$i]]] | group_by([.[0], .[2]])[] |
	[(map(.[1]) | unique | length), (map(.[3]) | add), (map(.[4]) | add)] | select(.[0] > 1)] | sort_by(-.[0], -.[2])[] | join("|")' "${reports[@]}")"
answer pauses "$(column pauses 5)" "$(sum "$captures.pauses[].classes[].pauses")"
answer paused_and_retransmitted "$(column paused_and_retransmitted 3)" "$(sum "$captures.pauses[].classes[].paused_ns")"
answer unproven "$(lines unproven)" "$(many "$captures.capture.losses | select(contains(\"does not say\"))")"
is "each question was tried" "$tried" "$(python3 "$srcdir/tests/e2e/tables.py" "$tables/queries.sql" | sed 's/^/ /' | tr -d '\n')"
[ -n "${TEST_FULL-}" ] || tap_done

# code FIRST: the lines of docs/tables.md from the one that begins so, to the end of its block
code() { sed -n "/^$1/,/^\`\`\`/{/^\`\`\`/d; p}" "$tables/tables.md"; }
# answers ENGINE FILE...: each question, in the words of the first file that has it
answers() {
	local name text
	for name in $names; do
		text=$(sed -n "/^-- $name: /,/;\$/p" "${@:2}" | sed '/;$/q')
		is "$1: $name" "$("$1" "$text" 2>&1 | sed 's/\.0\(|\|$\)/\1/g')" "$(ask "$name" | sed 's/\.0\(|\|$\)/\1/g')"
	done
}
all=$names names=$tried
for format in ndjson tsv; do
	"$RDMADUMP" export -f $format -o "$tmp/site/tables/node=1" "${reports[@]:0:2}" && "$RDMADUMP" export -f $format -o "$tmp/site/tables/node=2" "${reports[@]:2}"
done 2>"$tmp/log"
cd "$tmp/site" || exit 1

if [ ! -d "$duckdb/node_modules" ]; then
	skip "DuckDB over Parquet" "$(lack npm "no @duckdb/node-api: the registry of npm cannot be reached")"
else
	duckdb() { node -e 'const { DuckDBInstance } = require(process.argv[1] + "/node_modules/@duckdb/node-api");
		(async () => {
			const db = await (await DuckDBInstance.create("site.db")).connect();
			for (const row of (await db.runAndReadAll(process.argv[2])).getRowsJson()) console.log(row.map((v) => v ?? "None").join("|"));
		})()' "$duckdb" "$1"; }
	for table in $all; do
		code COPY | sed "s/flows/$table/g" >"$tmp/parquet.sql"
		duckdb "$(<"$tmp/parquet.sql")"
	done >"$tmp/log" 2>&1
	ok "Parquet is made" "$tmp/log"
	answers duckdb "$tables/queries.sql"
fi

if [ "${TABLES_INSIDE-}" != yes ]; then
	skip "two servers of ClickHouse" "no right to make namespaces"
elif has_tool clickhouse-server "two servers of ClickHouse"; then
	ip link set lo up
	cleanup() { jobs -p | xargs kill -KILL && wait; } 2>/dev/null # they write where all is removed
	mkdir "$tmp/site"/{1,2}
	up() { command clickhouse-client --host 127.0.0.1 --port "900$n" -q 'SELECT 1' >/dev/null; }
	for n in 1 2; do
		cat >"$tmp/site/$n.xml" <<-END
			<yandex>
			<logger><level>warning</level><log>$tmp/site/$n/log</log><errorlog>$tmp/site/$n/err</errorlog></logger>
			<tcp_port>900$n</tcp_port><interserver_http_port>910$n</interserver_http_port><listen_host>127.0.0.1</listen_host>
			<path>$tmp/site/$n/</path><tmp_path>$tmp/site/$n/tmp/</tmp_path><mark_cache_size>100000000</mark_cache_size>
			<users_config>/etc/clickhouse-server/users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
			<remote_servers><site>
			<shard><replica><host>127.0.0.1</host><port>9001</port></replica></shard><shard><replica><host>127.0.0.1</host><port>9002</port></replica></shard>
			</site></remote_servers>
			</yandex>
		END
		clickhouse-server --config-file="$tmp/site/$n.xml" >"$tmp/site/$n.out" 2>&1 &
		wait_for up
	done
	clickhouse-client() { command clickhouse-client --host 127.0.0.1 --port "900$n" --database "$database" "$@"; }
	clickhouse() { clickhouse-client --distributed_product_mode=global --join_default_strictness=ALL -q "$1" | sed "s/\t/|/g; s/\\\\N/None/g; s/\\\\'/'/g"; }
	for n in 1 2; do
		database=default clickhouse-client -q 'CREATE DATABASE part'
		(cd "$n" && mkdir tables && cp -r ../tables/node=$n tables && cp "$tables/clickhouse.sql" . && database=part && eval "$(code clickhouse-client)")
	done >"$tmp/log" 2>&1
	n=1 database=default
	for table in $all; do clickhouse-client -q "$(code 'CREATE TABLE' | sed "s/flows/$table/g")"; done >>"$tmp/log" 2>&1
	empty "two servers of ClickHouse have the tables" "$tmp/log"
	answers clickhouse "$tables/clickhouse.sql" "$tables/queries.sql"
fi
tap_done

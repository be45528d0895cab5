#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""json_as_text.py list|info|counters ROOT [EXPLAINED] <JSON: the text that the command prints for the same tree
(-v, --all), made again from the JSON, with one blank between words. Counters: unsorted, without titles; EXPLAINED is a file with
what `explain --list` prints.

What the JSON has and the text has not is compared with the files below ROOT. Values that neither is made of, or
that differ from the files, are printed, too: they make the text differ from the right one."""
import ipaddress
import json
import os
import sys

ROOT = sys.argv[2]
EXPLAINED = ""
if len(sys.argv) > 3:
    with open(sys.argv[3], encoding="utf-8") as explained:
        EXPLAINED = explained.read()
VERDICTS = {"yes": "yes, by the device's sniffer", "netdev": "netdev only", "no": "no"}
CHECKS = {"sniffer": "driver with a sniffer", "flow_tables": "NIC flow tables", "shared_tir": "shared receive target",
          "sniffer_rx": "sniffer table, receive", "sniffer_tx": "sniffer table, transmit", "steering": "flow steering",
          "ib_port_sniffer": "port sniffer of InfiniBand", "icmd": "port sniffer by command",
          "lockdown": "kernel lockdown"}
TYPES = {"IB": {"IB": "IB/RoCE v1"}, "RoCE": {"RoCE v1": "IB/RoCE v1"}, "iWARP": {"iWARP": "IB/RoCE v1"}}
ROCE = {"traffic_class": "traffic class", "ttl": "TTL", "rdma_cm.default_roce_mode": "rdma_cm's RoCE mode",
        "rdma_cm.default_roce_tos": "rdma_cm's TOS", "ecn.roce_np.enable": "ECN marks answered, priority 0-7",
        "ecn.roce_rp.enable": "CNPs obeyed, priority 0-7"}


def say(*words):
    line = " ".join(str(w) for w in words if w is not None)
    if line.strip():
        print(" ".join(line.split()))


def row(label, value):
    if value is not None:
        say(label, value)


def is_file(what, value, *path):
    """Compares VALUE with a file of the tree; without the file it must be null."""
    try:
        with open(os.path.join(os.path.abspath(ROOT), "sys", *path), encoding="utf-8", errors="replace") as f:
            want = f.read().strip()
    except OSError:
        want = ""
    if str("" if value is None else value) != want:
        say(f"{what} is {value}, the tree has {want}")


def left(value, path):
    """What nobody took from the JSON"""
    if isinstance(value, dict):
        for key, inner in value.items():
            left(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            left(inner, f"{path}[]")
    elif value is not None:
        say("beside the text:", path, json.dumps(value))


def take(values, **wanted):
    """Values that are the same in every tree"""
    for key, want in wanted.items():
        got = values.pop(key)
        if got != want:
            say(f"{key} is {got}, not {want}")


def head(document, version):
    """What every document begins with, and no text"""
    if list(document)[:3] != ["version", "program", "start_ns"]:
        say("the head is", list(document)[:3])
    take(document, version=version)
    del document["program"], document["start_ns"]


def dashed(value):
    return "-" if value is None else value


def plural(n, word):
    return f"{n} {word}{'s' if n != 1 else ''}"


def adapter(model, kind, driver):
    if model is None:
        return "software RoCE" if driver == "rdma_rxe" else "-"
    return f"{model} ({kind})" if kind else model


def function(of, ib, with_vfs, with_parent):
    """... of a device, and its number of VFs as sysfs has it"""
    f = of.pop("function")
    if f is None:
        return None
    number, parent, vfs = f.pop("number"), f.pop("parent"), f.pop("vfs")
    most = f.pop("vfs_max")
    is_file("vfs_max", None if most == 0 else most, ib, "device/sriov_totalvfs")
    words = f.pop("kind") if number is None else f"{f.pop('kind')} {number}"
    if (parent is None) != (number is None) or vfs is None or most is None:
        say(f"function {words} has parent {parent}, {vfs} of {most} VFs")
    if with_parent and parent:
        words += f" of {parent}"
    left(f, "function")
    return f"{words}{with_vfs}{plural(vfs, 'VF')}" if vfs else words


def representors(of, controllers):
    for r in of.pop("representors"):
        netdev, kind, controller, pf, number = (r.pop(k) for k in ("netdev", "kind", "controller", "pf", "number"))
        far = "" if controller is None else f"c{controller}"
        is_file("representor", f"{far}pf{pf}{kind.lower()}{number}", "class/net", netdev, "phys_port_name")
        yield f"{netdev} ({kind} {number}" + (f" of controller {controller})" if far and controllers else ")")
        left(r, "representors")


def netdevs(port):
    found = port.pop("netdevs")
    for n in found:
        if port["link"] == "IB":  # 20 bytes, which are no MAC address
            take(n, mac=None)
        else:
            is_file("mac", n.pop("mac"), "class/net", n["name"], "address")
        is_file("ifindex", n.pop("ifindex"), "class/net", n["name"], "ifindex")
        is_file("operstate", n["operstate"], "class/net", n["name"], "operstate")
        is_file("mtu", n["mtu"], "class/net", n["name"], "mtu")
        take(n, slaves=None)
    return found


def gids(port, ib):
    """Rows of the table; each as the tree has it"""
    for g in port.pop("gids"):
        at = os.path.join(ROOT, "sys", ib, "ports", str(port["port"]))
        with open(f"{at}/gids/{g['index']}", encoding="ascii") as f:
            if ipaddress.ip_address(f.read().strip()) != ipaddress.ip_address(g["gid"]):
                say("gid", g["gid"], "is not the tree's")
        mapped = ipaddress.ip_address(g["gid"]).ipv4_mapped
        if (str(mapped) if mapped else None) != g["ip"]:
            say("ip", g["ip"], "is not that of", g["gid"])
        is_file("netdev of a GID", g["netdev"], f"{ib}/ports/{port['port']}/gid_attrs/ndevs/{g['index']}")
        in_tree = TYPES[port["link"]].get(g["type"], g["type"])
        is_file("type of a GID", in_tree, f"{ib}/ports/{port['port']}/gid_attrs/types/{g['index']}")
        yield g.pop("index"), g.pop("type"), g.pop("gid"), dashed(g.pop("ip")), dashed(g.pop("netdev"))
        left(g, "gids")


def rate(bits):
    return f"{bits / 1e9:g} Gb/s"


def notes(first, *more):
    """WHY; TODO"""
    return "; ".join(w for w in (first, *more) if w) or None


# --- list -------------------------------------------------------------------------------------


def listed_port(device, port, ib, same):
    capture, devs = port.pop("capture"), netdevs(port)
    is_file("link_layer", port.pop("link_layer"), ib, "ports", str(port["port"]), "link_layer")
    for key in ("lid", "sm_lid"):
        number = port.pop(key)
        if number is not None:
            is_file(key, hex(number), ib, "ports", str(port["port"]), key)
    list(gids(port, ib))
    verdict, why, scope = capture.pop("verdict"), capture.pop("why"), capture.pop("scope")
    said = "netdev only" if verdict == "netdev" else verdict
    if scope == "function":
        why = why if why.startswith("if ") else "this function's traffic"
    elif verdict == "yes" and why == "the adapter's own sniffer, kernel bypass included":
        why = None
    because = notes(why, capture.pop("todo"))
    speed = port.pop("rate")
    if speed != rate(port.pop("bits_per_second")):
        say("rate is", speed)
    link, state, physical, lanes = (port.pop(k) for k in ("link", "state", "phys_state", "lanes"))
    say(device["name"], port.pop("port"), *same, dashed(devs[0].pop("name") if devs else None), link, state,
        physical, speed, lanes, devs[0].pop("mtu") if devs else "-", dashed(device["firmware"]),
        f"{said}: {because}" if because else said)
    for d in devs:
        d.pop("operstate")
    left([port, capture, devs], "port")


def list_text(report):
    head(report, 1)
    take(report, source="sysfs")
    say("DEVICE PORT PCI FUNCTION ADAPTER DRIVER NETDEV LINK STATE PHYSICAL RATE LANES MTU FIRMWARE CAPTURE")
    after = []
    for d in report.pop("devices"):
        ib = f"class/infiniband/{d['name']}"
        name, missed = d["name"], d.pop("not_captured")
        for key in ("board_id", "node_desc", "node_guid"):
            is_file(key, d.pop(key), ib, key)
        above, pci, _ = os.path.realpath(os.path.join(ROOT, "sys", ib)).partition(d["pci"] or "absent")
        for file, key in (("vendor", "vendor_id"), ("device", "part_id")):
            is_file(key, d.pop(key), above + pci, file)
        is_file("node_type", {"CA": "1: CA", "RNIC": "4: RNIC"}.get(d.pop("node_type")), ib, "node_type")
        kind, model = d["hca_type"], d.pop("model")
        is_file("hca_type", d.pop("hca_type"), ib, "hca_type")
        shown = adapter(model, kind if kind and kind.startswith("MT") else None, d["driver"])
        same = (dashed(d.pop("pci")), dashed(function(d, ib, ", ", False)), shown, d.pop("driver"))
        for port in d.pop("ports"):
            listed_port(d, port, ib, same)
        vfs, sfs = missed.pop("vfs"), missed.pop("sfs")
        hidden = " and ".join([plural(vfs, "VF")] * bool(vfs) + [plural(sfs, "SF")] * bool(sfs))
        if hidden:
            after.append(f"! a capture on {name} has the traffic of this function only, not of its {hidden}")
        represented = list(representors(d, True))
        if represented:
            after.append(f"{name} represents: {', '.join(represented)}")
        del d["name"], d["firmware"]
        left([d, missed], "device")
    for line in after:
        say(line)
    left(report, "list")


# --- info -------------------------------------------------------------------------------------


def finding(f, device):
    take(f, certainty="certain", count=0, frames=[], severity="warning")
    if f.pop("where") != device:
        say("a finding is about another device")
    rule, title, todo = f.pop("rule"), f.pop("title"), f.pop("next")
    if {"pci-speed": "link runs at", "pci-width": "lanes", "port-inactive": "port"}[rule] not in title:
        say("rule", rule)
    say("!", f"{title}: {todo}" if todo else title)
    left(f, "finding")


def identity(d, driver, ib):
    i = d.pop("identity")
    say("Identity")
    row("name", i.pop("name"))
    is_file("hca_type", i["hca_type"], ib, "hca_type")
    row("adapter", adapter(i.pop("model"), i.pop("hca_type"), driver))
    for key, label in (("board_id", "board id (PSID)"), ("hw_rev", "hardware revision"), ("node_type", "node type"),
                       ("node_desc", "node description"), ("node_guid", "node GUID"),
                       ("sys_image_guid", "system image GUID")):
        row(label, i.pop(key))
    row("function", function(i, ib, " with ", True))
    for n, line in enumerate(representors(i, False)):
        say(line if n else f"represents {line}")
    left(i, "identity")


def driver_text(d):
    row("driver", d.pop("name"))
    row("libibverbs provider", d.pop("provider"))
    row("kernel lockdown", d.pop("lockdown"))
    for m in d.pop("modules"):
        take(m, loaded=True)
        version, source = m.pop("version"), m.pop("srcversion")
        say("module", " ".join(filter(None, (m.pop("name"), version))) + f", {m.pop('origin')}" +
            (f", srcversion {source}" if source else ""))
        left(m, "modules")
    left(d, "driver")


def pci_text(p):
    if not p:
        return
    say("PCI")
    address, ids, subsystem, link = (p.pop(k) for k in ("address", "id", "subsystem", "link"))
    row("address", address)
    row("ids", f"{ids}, subsystem {subsystem}" if subsystem else ids)
    if link and link["speed"] and link["speed"] != "Unknown":
        say("link, of its best", link["speed"], f"x{link['width']}", "of", link["max_speed"], f"x{link['max_width']}")
    row("NUMA node", p.pop("numa_node"))
    row("CPUs near it", p.pop("local_cpus"))
    left(p, "pci")


def port_text(p, ib):
    number = p["port"]
    say("Port", number)
    row("link", p["link"])
    say("state", f"{p.pop('state')}, physically {p.pop('phys_state')}")
    say("rate", rate(p.pop("bits_per_second")), f"({p.pop('lanes')})")
    devs = netdevs(p)
    for n in devs:
        say("netdev", f"{n.pop('name')}, {n.pop('operstate')}, MTU {n.pop('mtu')}")
    for n in p.pop("dcb"):
        take(n, status="not_queried")
        say("DCB", f"{n.pop('netdev')}: {n.pop('why')}")
        left(n, "dcb")
    lid, manager, lmc, sl = (p.pop(k) for k in ("lid", "sm_lid", "lmc", "sm_sl"))
    row("LID", None if lid is None else f"{lid}, LMC {lmc}")
    row("subnet manager LID", None if manager is None else f"{manager}, SL {sl}")
    mask, names = p.pop("cap_mask"), p.pop("capabilities")
    row("capability mask", mask and (f"{mask}: {names}" if names else mask))
    keys = p.pop("pkeys")
    if [k["index"] for k in keys] != list(range(len(keys))):
        say("P_Keys are not in order")
    row("P_Keys", ", ".join(k["pkey"] for k in keys) or None)
    table = list(gids(p, ib))
    if table:
        say("GID TYPE ADDRESS IPV4 NETDEV")
    for line in table:
        say(*line)
    settings = p.pop("roce")
    if settings:
        say("RoCE settings")
    for key, value in settings.items():
        say(ROCE.get(key, key), value)
    capture = p.pop("capture")
    say("Capture on port", number)
    say("possible", VERDICTS[capture.pop("verdict")])
    for c in capture.pop("checks"):
        key = c.pop("key")
        say(CHECKS.get(key, key), c.pop("answer"), notes(c.pop("why"), c.pop("todo")))
        left(c, "checks")
    del p["port"], p["link"]
    left([p, capture, devs], "port")


def info_text(d):
    head(d, 2)
    name = d.pop("device")
    ib = f"class/infiniband/{name}"
    if name != d["identity"]["name"]:
        say("device", name)
    driver, firmware = d.pop("driver"), d.pop("firmware")
    version = firmware.pop("sysfs")
    model = adapter(d["identity"]["model"], None, driver["name"])
    say(f"{name}: {model}" + (f", firmware {version}" if version else ""))
    for p in d["ports"]:
        say(f"capture on port {p['port']}:", VERDICTS[p["capture"]["verdict"]])
    for f in d.pop("findings"):
        finding(f, name)
    identity(d, driver["name"], ib)
    if version:
        say("Firmware")
        say("by sysfs", version)
    say("Driver")
    driver_text(driver)
    pci_text(d.pop("pci") or {})
    for p in d.pop("ports"):
        port_text(p, ib)
    say("Open now")
    resources = d.pop("resources")
    row("not known", resources.pop("unknown"))
    say("Not queried")
    for key, value in d.pop("not_queried").items():
        say(key, value)
    left([d, firmware, resources], "info")


# --- counters ---------------------------------------------------------------------------------

MARKS = {"problem": "!!", "warning": "!", "note": ""}
SHORT_UNITS = {"bytes": "", "4-byte words": "", "microseconds": "us"}
CERTAINTY = {"counter": "certain", "marked-not-notified": "likely", "counter-saturated": "certain"}


def amount(counter):
    """As the text has it: bytes with a unit, other numbers in groups of three digits"""
    unit, size = counter.get("unit"), counter["value"]
    if unit == "4-byte words":
        size = counter.pop("bytes")
        if size != counter["value"] * 4 % 2**64:
            say(counter["name"], "has", size, "bytes")
    elif unit != "bytes":
        return f"{size:,}".replace(",", " ")
    for prefix in ("", "k", "M", "G", "T", "P", "E"):
        if size < 1000 or prefix == "E":
            break
        size /= 1000
    return f"{size:.1f} {prefix}B" if prefix and size < 100 else f"{size:.0f} {prefix}B"


def counter_row(c, port, ib):
    """A row; its value is that of the file, its meaning is the one that `explain --list` has, except of patterns"""
    name, value = c["name"], c.pop("value")
    group, _, short = name.partition("/")
    if group == "device":
        group, _, short = short.partition("/")
        is_file(name, value, ib, group, short)
    elif group == "netdev":
        is_file(name, value, "class/net", port["netdev"], "statistics", short)
    else:
        is_file(name, value, ib, "ports", str(port["port"]), group, short)
    c["value"] = value
    shown, unit = amount(c), c.pop("unit", None)
    meaning = c.pop("meaning", None)
    if f"\t{short}\t" in EXPLAINED and f"\t{short}\t{meaning}\n" not in EXPLAINED:
        say(name, "is explained as", meaning)
    say(short, shown, SHORT_UNITS.get(unit, unit))
    del c["name"], c["value"]
    return value, c.pop("severity", "none")


def counter_finding(f, where, values):
    """Returns what it says is bad, and how bad"""
    take(f, certainty=CERTAINTY[f.pop("rule")], frames=[], where=where)
    name, severity, todo = f.pop("counter"), f.pop("severity"), f.pop("next")
    if f.pop("count") != values[name][0]:
        say("a finding miscounts", name)
    meaning = f.pop("meaning")
    say(MARKS[severity], f"{f.pop('title')}: {f.pop('detail')}" + (f"; usually {meaning}" if meaning else ""))
    if todo:
        say("next:", todo)
    left(f, "finding")
    return name, severity


def counters_text(report):
    head(report, 3)
    for p in report.pop("ports"):
        take(p, duration_s=None, firmware_not_asked=None, refused=[])
        device, driver, netdev, layer = (p.pop(k) for k in ("device", "driver", "netdev", "link_layer"))
        if None in (driver, netdev, layer):
            say("null is not known")
        p["netdev"] = netdev
        ib, number = f"class/infiniband/{device}", p["port"]
        is_file("link_layer", layer, ib, "ports", str(number), "link_layer")
        counters, findings, unreadable = (p.pop(k) for k in ("counters", "findings", "unreadable"))
        what = ", ".join(filter(None, (netdev, layer, driver)))
        say(f"{device} port {number} ({what}): {plural(len(counters), 'counter')}, {plural(len(findings), 'finding')}" +
            (f"; {unreadable} could not be read" if unreadable else ""))
        names = [c["name"] for c in counters]
        values = {n: counter_row(c, p, ib) for n, c in zip(names, counters)}
        bad = {counter_finding(f, f"{device} port {number}", values) for f in findings}
        for name, (value, severity) in values.items():
            # One that counts what may be wanted is found only where it grew.
            bad.add(("counters/link_downed", severity))
            if value and severity in ("problem", "warning") and (name, severity) not in bad:
                say(name, "has no finding")
        is_file("lifespan", p.pop("lifespan_ms"), ib, "ports", str(number), "hw_counters/lifespan")
        del p["time_ns"], p["netdev"], p["port"]
        left([p, counters], "port")
    left(report, "counters")


TEXT = {"list": list_text, "info": info_text, "counters": counters_text}
text, decoder = sys.stdin.read().lstrip(), json.JSONDecoder()
while text:
    value, end = decoder.raw_decode(text)
    TEXT[sys.argv[1]](value)
    text = text[end:].lstrip()
